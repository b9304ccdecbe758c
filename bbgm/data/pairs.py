"""Pairs of images: sampling and keypoint filters (paper Sec. 4, 'Keypoint filtering')."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bbgm.config import ProtocolConfig
from bbgm.data.keypoints import Dataset, KeypointImage
from bbgm.data.split import class_key

MAX_DRAWS = 1000
_TRAIN, _TEST = 1, 2  # keep the random streams of the two samplers apart


@dataclass(frozen=True, eq=False)
class KeypointPair:
    """Two images of a class, and the keypoints of each that are to be matched.

    Attributes:
        source, target: the images.
        kept1: (n1,) int64, indices into ``source.names``, in a random order of their own.
        kept2: (n2,) int64, indices into ``target.names``, likewise.
    """

    source: KeypointImage
    target: KeypointImage
    kept1: np.ndarray
    kept2: np.ndarray

    @property
    def truth(self) -> np.ndarray:
        """(n1,) int64: for each source keypoint the index in ``kept2`` of the same keypoint, or -1."""
        place = {self.target.names[k]: j for j, k in enumerate(self.kept2)}
        return np.array([place.get(self.source.names[k], -1) for k in self.kept1], dtype=np.int64)

    @property
    def truth_matrix(self) -> np.ndarray:
        """(n1, n2) bool: the paper's v*."""
        matrix = np.zeros((len(self.kept1), len(self.kept2)), dtype=bool)
        truth = self.truth
        rows = np.flatnonzero(truth >= 0)
        matrix[rows, truth[rows]] = True
        return matrix


Filter = Callable[[KeypointImage, KeypointImage], tuple[list[int], list[int]]]


def intersection(source: KeypointImage, target: KeypointImage) -> tuple[list[int], list[int]]:
    """Keep the keypoints that both images have."""
    common = set(source.names) & set(target.names)
    kept1, kept2 = ([k for k, name in enumerate(image.names) if name in common] for image in (source, target))
    return kept1, kept2


def all_keypoints(source: KeypointImage, target: KeypointImage) -> tuple[list[int], list[int]]:
    """Keep every keypoint of both images, with or without a partner (the paper's unfiltered setting)."""
    return list(range(len(source.names))), list(range(len(target.names)))


FILTERS: dict[str, Filter] = {"intersection": intersection, "all": all_keypoints}


def make_pair(
    source: KeypointImage, target: KeypointImage, generator: np.random.Generator, keypoint_filter: str = "intersection"
) -> KeypointPair:
    """Filter the keypoints of two images and shuffle them independently, so that no order gives the matching away.

    Raises:
        ValueError: no such filter.
    """
    if keypoint_filter not in FILTERS:
        raise ValueError(
            f"keypoint filter {keypoint_filter!r} is not one of {sorted(FILTERS)} (paper Sec. 4, 'Keypoint filtering')"
        )
    kept1, kept2 = FILTERS[keypoint_filter](source, target)
    shuffled1, shuffled2 = (generator.permutation(np.array(kept, dtype=np.int64)) for kept in (kept1, kept2))
    return KeypointPair(source, target, shuffled1, shuffled2)


def sample_training_batch(
    dataset: Dataset, protocol: ProtocolConfig, seed: int, epoch: int, iteration: int, batch_size: int
) -> list[KeypointPair]:
    """Draw one batch: for each pair the class uniformly, then two distinct training images uniformly.

    The batch depends on its arguments alone, so a resumed run sees what an uninterrupted one would.

    Raises:
        ValueError: no pair with enough keypoints turns up.
    """
    generator = np.random.default_rng([_TRAIN, seed, epoch, iteration])
    classes = dataset.classes
    batch = []
    for _ in range(batch_size):
        cls = classes[generator.integers(len(classes))]
        batch.append(_draw_pair(dataset.images(cls, "train"), protocol, generator))
    return batch


def test_pairs(dataset: Dataset, protocol: ProtocolConfig, cls: str) -> list[KeypointPair]:
    """The test pairs of a class: fixed by ``protocol.test_seed``, so that all runs are measured on the same ones.

    The authors re-seed their workers at each evaluation to the same effect; their very pairs depend on the number of
    workers. Here they depend on the class and its test images only.

    Raises:
        ValueError: no such class, or no pair with enough keypoints turns up.
    """
    generator = np.random.default_rng([_TEST, protocol.test_seed, class_key(cls)])
    images = dataset.images(cls, "test")
    return [_draw_pair(images, protocol, generator) for _ in range(protocol.test_pairs_per_class)]


test_pairs.__test__ = False  # type: ignore[attr-defined]  # not a test of pytest's


def least_keypoints(protocol: ProtocolConfig) -> int:
    """Number of kept keypoints with which an image of a pair may stay; without a filter one is enough (authors' code).

    Pairs without a common keypoint then stay as well: all that is matched in them is wrong.
    """
    return 1 if protocol.filter == "all" else protocol.min_keypoints


def _draw_pair(
    images: tuple[KeypointImage, ...], protocol: ProtocolConfig, generator: np.random.Generator
) -> KeypointPair:
    least = least_keypoints(protocol)
    for _ in range(MAX_DRAWS):
        first, second = generator.choice(len(images), size=2, replace=False)
        pair = make_pair(images[first], images[second], generator, protocol.filter)
        if min(len(pair.kept1), len(pair.kept2)) >= least:
            return pair
    raise ValueError(
        f"{MAX_DRAWS} draws gave no pair of class {images[0].cls} with {least} keypoints or more after the filter "
        f"{protocol.filter!r}: lower {'data.hidden_keypoints' if least == 1 else 'protocol.min_keypoints'}"
    )
