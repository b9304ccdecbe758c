"""Pairs of images: what is matched, and how training and test pairs are sampled (paper Sec. 4)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bbgm.config import ProtocolConfig
from bbgm.config.models import ViewsConfig
from bbgm.data.images.keypoints import SUBSETS, Dataset, ImagePair, ImagePairs, KeypointImage, Subset
from bbgm.data.images.split import class_key
from bbgm.data.images.views import is_mirrored, mirrored_name, view_of
from bbgm.data.sampling.filters import find_filter

MAX_DRAWS = 1000
_TRAIN, _TEST, _LABELS, _VIEWS = 1, 2, 3, 4  # keep the random streams of the samplers apart


@dataclass(frozen=True, eq=False)
class KeypointPair:
    """Two images of a class, and the keypoints of each that are to be matched.

    Attributes:
        source, target: the images.
        kept1: (n1,) int64, indices into ``source.names``, in a random order of their own.
        kept2: (n2,) int64, indices into ``target.names``, likewise.
        difficulty: label of the pair, empty where the data set has none.
        labels2: names given to the keypoints of ``kept2`` where some are wrong (`protocol.wrong_labels`); empty: those
            of the image.
    """

    source: KeypointImage
    target: KeypointImage
    kept1: np.ndarray
    kept2: np.ndarray
    difficulty: str = ""
    labels2: tuple[str, ...] = ()

    @property
    def truth(self) -> np.ndarray:
        """(n1,) int64: for each source keypoint the index in ``kept2`` of the same keypoint, or -1."""
        names2 = self.labels2 or [self.target.names[k] for k in self.kept2]
        place = {name: j for j, name in enumerate(names2)}
        return np.array([place.get(self.source.names[k], -1) for k in self.kept1], dtype=np.int64)

    @property
    def truth_matrix(self) -> np.ndarray:
        """(n1, n2) bool: the paper's v*."""
        matrix = np.zeros((len(self.kept1), len(self.kept2)), dtype=bool)
        truth = self.truth
        rows = np.flatnonzero(truth >= 0)
        matrix[rows, truth[rows]] = True
        return matrix


def make_pair(
    source: KeypointImage,
    target: KeypointImage,
    generator: np.random.Generator,
    keypoint_filter: str = "intersection",
    names: Collection[str] | None = None,
) -> KeypointPair:
    """Filter the keypoints of two images and shuffle them independently, so that their order does not reveal the
    matching.

    Args:
        names: the keypoints that the data set lists for the pair; None: all that the images have.

    Raises:
        ValueError: no such filter.
    """
    kept1, kept2 = find_filter(keypoint_filter).keep(source, target)
    if names is not None:
        kept1 = [k for k in kept1 if source.names[k] in names]
        kept2 = [k for k in kept2 if target.names[k] in names]
    shuffled1, shuffled2 = (generator.permutation(np.array(kept, dtype=np.int64)) for kept in (kept1, kept2))
    return KeypointPair(source, target, shuffled1, shuffled2)


def stream(*key: int) -> np.random.Generator:
    """The random stream of a key: PCG64, from which only integers are drawn, so that every platform draws the same."""
    return np.random.Generator(np.random.PCG64(key))


def sample_training_batch(
    dataset: Dataset, protocol: ProtocolConfig, seed: int, epoch: int, iteration: int, batch_size: int
) -> list[KeypointPair]:
    """Draw one batch: for each pair the class uniformly, then two distinct training images uniformly.

    The batch depends on its arguments alone, so a resumed run sees what an uninterrupted one would.

    Raises:
        ValueError: no pair with enough keypoints turns up.
    """
    generator = stream(_TRAIN, seed, epoch, iteration)
    classes = dataset.classes
    batch = []
    for _ in range(batch_size):
        cls = classes[generator.integers(len(classes))]
        batch.append(_draw_pair(dataset, cls, "train", protocol, generator))
    if protocol.wrong_labels:
        generator = stream(_LABELS, seed, epoch, iteration)
        batch = [mislabel(pair, protocol.wrong_labels, generator) for pair in batch]
    if protocol.views.count:
        generator = stream(_VIEWS, seed, epoch, iteration)
        batch = [seen_in_views(pair, protocol.views, generator) for pair in batch]
    return batch


def seen_in_views(pair: KeypointPair, views: ViewsConfig, generator: np.random.Generator) -> KeypointPair:
    """The same pair with each image replaced by one of its views, or left as it is, all equally likely.

    With ``mirror`` both images are mirrored or none is, because a left eye matches a left eye.
    """
    one, other = generator.integers(views.count + 1, size=2).tolist()
    labels = pair.labels2
    if views.mirror:
        alike = [k for k in range(views.count + 1) if is_mirrored(k, views) == is_mirrored(one, views)]
        other = alike[int(generator.integers(len(alike)))]
        if is_mirrored(one, views):
            labels = tuple(map(mirrored_name, labels))
    source, target = view_of(pair.source, one, views), view_of(pair.target, other, views)
    return replace(pair, source=source, target=target, labels2=labels)


def mislabel(pair: KeypointPair, share: float, generator: np.random.Generator) -> KeypointPair:
    """A pair some of whose true matches are wrong: its common keypoints are paired at random, and each two of them
    swap their names in the target with probability ``share``.

    With an odd number of common keypoints one stays as it is, so a little less than that share is wrong.
    """
    names = [pair.target.names[k] for k in pair.kept2]
    common = generator.permutation(np.flatnonzero(pair.truth_matrix.any(axis=0)))
    for one, other in zip(common[::2], common[1::2], strict=False):
        if generator.integers(1_000_000) < 1_000_000 * share:
            names[one], names[other] = names[other], names[one]
    return replace(pair, labels2=tuple(names))


def test_pairs(dataset: Dataset, protocol: ProtocolConfig, cls: str) -> list[KeypointPair]:
    """The test pairs of a class: fixed by ``protocol.test_seed``, so that all runs are measured on the same ones.

    Where the data set lists its pairs, all of them or a sample without repetition. The authors re-seed their workers at
    each evaluation to the same effect; their exact pairs depend on the number of workers. Here they depend on the class
    and its test images only.

    Raises:
        ValueError: no such class, or no pair with enough keypoints turns up.
    """
    generator = stream(_TEST, protocol.test_seed, class_key(cls))
    pairs, n = dataset.pairs(cls, "test"), protocol.test_pairs_per_class
    if pairs.listed is None:
        return [_draw_pair(dataset, cls, "test", protocol, generator) for _ in range(n)]
    chosen: Sequence[int] = range(len(pairs))
    if 0 < n < len(pairs):
        chosen = sorted(generator.choice(len(pairs), size=n, replace=False).tolist())
    return [_shuffle(pairs.listed[k], protocol, generator) for k in chosen]


test_pairs.__test__ = False  # type: ignore[attr-defined]  # not a pytest test


def least_keypoints(protocol: ProtocolConfig) -> int:
    """Smallest number of kept keypoints that each image of a pair must have.

    ``min_keypoints`` under intersection; one under the other two filters (authors' code, which redraws only pairs
    that give an empty matrix). Without a filter, pairs without a common keypoint are kept: any match in them is wrong.
    """
    return protocol.min_keypoints if protocol.filter == "intersection" else 1


def check_pairs(dataset: Dataset, protocol: ProtocolConfig) -> None:
    """Check before training that every class has pairs for training and for testing.

    Raises:
        ValueError: a class has too few images, or none of its pairs has enough keypoints.
    """
    if not protocol.test_pairs_per_class and not dataset.listed:
        raise ValueError(
            f"protocol.test_pairs_per_class is 0, which means all that the data set lists, and {dataset.name} lists "
            "none: set the number of pairs to draw"
        )
    generator = np.random.default_rng(0)
    for cls in dataset.classes:
        for subset in SUBSETS:
            pairs = dataset.pairs(cls, subset)
            if not len(pairs):
                raise ValueError(
                    f"class {cls} of {dataset.name} has no pair in its {subset} part, whose usable images are "
                    f"{len(pairs.images)} (left out: {dataset.dropped.summary(subset, cls)}): "
                    "add images, or leave the class out with data.classes"
                )
            _draw_pair(dataset, cls, subset, protocol, generator)


def remedies(dataset: Dataset, protocol: ProtocolConfig) -> str:
    """What the user can change when too few keypoints are found."""
    possible = {
        "lower protocol.min_keypoints": least_keypoints(protocol) > 1,
        "lower data.hidden_keypoints": dataset.hidden > 0,
        "leave the class out with data.classes": True,
    }
    return ", or ".join(text for text, applies in possible.items() if applies)


def _draw_pair(
    dataset: Dataset, cls: str, subset: Subset, protocol: ProtocolConfig, generator: np.random.Generator
) -> KeypointPair:
    pairs, least = dataset.pairs(cls, subset), least_keypoints(protocol)
    for _ in range(MAX_DRAWS):
        pair = _shuffle(_draw_images(pairs, protocol, generator), protocol, generator)
        if min(len(pair.kept1), len(pair.kept2)) >= least:
            return pair
    raise ValueError(
        f"{MAX_DRAWS} draws from the {subset} part gave no pair of class {cls} with {least} keypoints or more after "
        f"the filter {protocol.filter!r}: {remedies(dataset, protocol)}"
    )


def _draw_images(pairs: ImagePairs, protocol: ProtocolConfig, generator: np.random.Generator) -> ImagePair:
    """One of the pairs that the data set lists, all with the same probability, or two images as the filter draws."""
    if pairs.listed is not None:
        return pairs.listed[generator.integers(len(pairs.listed))]
    return ImagePair(*find_filter(protocol.filter).draw(pairs.images, generator))


def _shuffle(two: ImagePair, protocol: ProtocolConfig, generator: np.random.Generator) -> KeypointPair:
    pair = make_pair(two.source, two.target, generator, protocol.filter, two.names)
    return replace(pair, difficulty=two.difficulty)
