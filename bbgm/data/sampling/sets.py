"""Sets of images of a class that are matched jointly (paper Sec. 4, BB-GM-Multi: sets of 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bbgm.config import ProtocolConfig
from bbgm.data.images.keypoints import Dataset, KeypointImage
from bbgm.data.images.split import class_key
from bbgm.data.sampling.pairs import MAX_DRAWS, KeypointPair, least_keypoints, remedies, stream

_SETS = 3  # keeps the random stream apart from those of the pairs


@dataclass(frozen=True, eq=False)
class KeypointSet:
    """Images of one class with all their keypoints.

    Attributes:
        images: k distinct images.
        kept: for each (n,) int64, indices into its ``names``, in a random order of their own.
    """

    images: Sequence[KeypointImage]
    kept: Sequence[np.ndarray]

    def pairs(self) -> dict[tuple[int, int], KeypointPair]:
        """The k (k - 1) / 2 pairs by the numbers p < q of their images; the authors score the first one,
        (0, 1)."""
        return {
            (p, q): KeypointPair(self.images[p], self.images[q], self.kept[p], self.kept[q])
            for p, q in combinations(range(len(self.images)), 2)
        }


def test_sets(dataset: Dataset, protocol: ProtocolConfig, cls: str) -> list[KeypointSet]:
    """The test sets of a class, fixed by ``protocol.test_seed``: ``set_size`` distinct images, each with a keypoint.

    The two images of a set's first pair are distributed as those of a test pair are.

    Raises:
        ValueError: no such class, a data set that lists its pairs (SPair), fewer test images than ``set_size``, or no
            set in which each image has a keypoint.
    """
    generator = stream(_SETS, protocol.test_seed, class_key(cls))
    pairs = dataset.pairs(cls, "test")
    if pairs.listed is not None:
        raise ValueError(
            f"{dataset.name} lists the pairs that may be matched and has no sets: set protocol.test_sets_per_class to 0"
        )
    if len(pairs.images) < protocol.set_size:
        raise ValueError(
            f"class {cls} has {len(pairs.images)} test images, protocol.set_size is {protocol.set_size}: lower it"
        )
    return [_draw_set(dataset, cls, protocol, generator) for _ in range(protocol.test_sets_per_class)]


test_sets.__test__ = False  # type: ignore[attr-defined]  # not a test of pytest's


def check_sets(dataset: Dataset, protocol: ProtocolConfig) -> None:
    """Check before training that every class has the requested test sets.

    Raises:
        ValueError: as for `test_sets`.
    """
    if protocol.test_sets_per_class:
        one = protocol.model_copy(update={"test_sets_per_class": 1})
        for cls in dataset.classes:
            test_sets(dataset, one, cls)


def _draw_set(dataset: Dataset, cls: str, protocol: ProtocolConfig, generator: np.random.Generator) -> KeypointSet:
    images = dataset.images(cls, "test")
    for _ in range(MAX_DRAWS):
        chosen = [images[i] for i in generator.choice(len(images), size=protocol.set_size, replace=False)]
        kept = [generator.permutation(len(image.names)).astype(np.int64) for image in chosen]
        if min(len(one) for one in kept) >= least_keypoints(protocol):
            return KeypointSet(chosen, kept)
    raise ValueError(
        f"{MAX_DRAWS} draws gave no {protocol.set_size} test images of class {cls} with a keypoint each: "
        f"{remedies(dataset, protocol)}"
    )
