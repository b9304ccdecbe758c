"""What a keypoint filter does to a data set: sizes of test pairs, and which pairs it lets through (paper Sec. 4)."""

from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from bbgm.config import FILTER_NAMES, ProtocolConfig
from bbgm.data.images.keypoints import Dataset, KeypointImage
from bbgm.data.sampling.pairs import KeypointPair, test_pairs
from bbgm.scoring.metrics import score_class

if TYPE_CHECKING:
    import pandas as pd


def filter_counts(dataset: Dataset, protocol: ProtocolConfig, names: Sequence[str] = FILTER_NAMES) -> "pd.DataFrame":
    """One row for each class and filter, of the test pairs that the protocol would draw with it.

    Columns: ``source``, ``target`` and ``matches``, the mean number of keypoints in each image of a pair and of its
    true matches; ``unmatched`` and ``unmatched source``, keypoints without a partner in % of those of both images and
    of the source; ``same image``, pairs whose target is the source itself, in %.
    """
    import pandas as pd

    rows = {}
    for cls in dataset.classes:
        for name in names:
            settings = protocol.model_copy(update={"filter": name, "test_sets_per_class": 0})
            rows[cls, name] = _summary(test_pairs(dataset, settings, cls))
    return pd.DataFrame(rows).T.rename_axis(["class", "filter"])


def _summary(pairs: Sequence[KeypointPair]) -> dict[str, float]:
    truths = [(pair.truth, len(pair.kept2)) for pair in pairs]
    scores = score_class((truth, truth, n2) for truth, n2 in truths)
    return {
        "source": float(np.mean([len(truth) for truth, _ in truths])),
        "target": float(np.mean([n2 for _, n2 in truths])),
        "matches": float(np.mean([np.sum(truth >= 0) for truth, _ in truths])),
        "unmatched": float(scores["unmatched_percent"]),
        "unmatched source": float(scores["unmatched_source_percent"]),
        "same image": 100 * float(np.mean([pair.source is pair.target for pair in pairs])),
    }


def percent_included(images: Sequence[KeypointImage]) -> float:
    """Of all ordered pairs of distinct images, those whose target has all keypoints of the source, in %.

    Raises:
        ValueError: fewer than two images.
    """
    if len(images) < 2:
        raise ValueError(f"{len(images)} images do not make a pair: give two or more")
    names = [frozenset(image.names) for image in images]
    return 100 * float(np.mean([source <= target for source, target in permutations(names, 2)]))


def differing_pair(images: Sequence[KeypointImage], included: bool) -> tuple[KeypointImage, KeypointImage]:
    """Two images that show what a filter does.

    Args:
        included: True: the target has all keypoints of the source and the most besides. False: each image has keypoints
            that the other lacks, and the smaller number of these is as large as can be. The first such pair of all.

    Raises:
        ValueError: there is no such pair.
    """
    pairs = list(permutations(images, 2))
    names = [(frozenset(source.names), frozenset(target.names)) for source, target in pairs]
    if included:
        sizes = [len(target - source) if source <= target else 0 for source, target in names]
    else:
        sizes = [min(len(source - target), len(target - source)) for source, target in names]
    if not any(sizes):
        kind = "with more keypoints than, and all of," if included else "with and without keypoints of"
        raise ValueError(f"none of {len(images)} images is one {kind} another: take another class")
    return pairs[int(np.argmax(sizes))]
