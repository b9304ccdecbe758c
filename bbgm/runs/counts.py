"""What is counted in each test pair of a run, as arrays, and the scores of pooled counts.

Every number of a table, and every resampling of it, comes from these counts, and they from ``predictions.npz``.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bbgm.runs.results import RunRecord
from bbgm.scoring.metrics import EPSILON
from bbgm.scoring.predictions import read_arrays

Which = Literal["test", "first", "all"]
"""Test pairs; the first pair of each test set of images (which the authors score); all pairs of the sets."""

TRUE, MATCHED, CORRECT, N1, N2 = range(5)
"""Columns of the counts: true matches, predicted ones, predicted ones that are true; keypoints of source and target."""
OF_SCORES = slice(0, 3)
"""The columns that `accuracy` and `f1` need."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of U units: of a pair each, or of all pairs of a set, which share images and so belong together.

    Attributes:
        cls: (U,) str, class. difficulty: (U,) str, label of the pair, empty where the data set has none.
        counts: (U, 5) int64, see `TRUE` ... `N2`.
        n_pairs: number of pairs.
        identity: equal if and only if the pairs, and the keypoints that were to be matched, are.
    """

    cls: np.ndarray
    difficulty: np.ndarray
    counts: np.ndarray
    n_pairs: int
    identity: str


def read_counts(run: RunRecord, which: Which = "test", joint: bool = False) -> PairCounts:
    """Counts of a run.

    Args:
        which: test pairs, or pairs of the test sets.
        joint: of sets, what was matched jointly (BB-GM-Multi) rather than pair by pair.

    Raises:
        ValueError: the run has no such pairs, its predictions cannot be read, or do not give the scores of its
            metrics.json.
    """
    path = run.folder / "predictions.npz"
    arrays = read_arrays(path)[which != "test"]
    if which == "first":
        arrays = _select(arrays, (arrays["p"] == 0) & (arrays["q"] == 1))
    if not len(arrays["cls"]):
        what = "test pairs" if which == "test" else "test sets (protocol.test_sets_per_class)"
        raise ValueError(f"{path} has no {what}: delete the folder and run 'bbgm train' again")
    found, truth = arrays["joint" if joint else "assignment"], arrays["truth"]
    per_keypoint = np.stack([truth >= 0, found >= 0, (found >= 0) & (found == truth)], axis=1)
    counts = np.column_stack([_sum_parts(per_keypoint, arrays["n1"]), arrays["n1"], arrays["n2"]]).astype(np.int64)
    digest = hashlib.sha256()
    for part in (arrays["cls"], arrays["source"], arrays["target"], counts[:, [TRUE, N1, N2]]):
        digest.update("\n".join(map(str, part.ravel().tolist())).encode())
    cls, difficulty = arrays["cls"], arrays["difficulty"]
    n_pairs = len(cls)
    if which == "test":
        _check(run, cls, counts)
    if which == "all":
        _, first, unit = np.unique(
            np.char.add(np.char.add(cls, " "), arrays["number"].astype(str)), return_index=True, return_inverse=True
        )
        order = np.argsort(first)  # sets in the order of the file
        total = np.zeros((len(first), counts.shape[1]), dtype=np.int64)
        np.add.at(total, unit, counts)
        cls, difficulty, counts = cls[first][order], difficulty[first][order], total[order]
    return PairCounts(cls, difficulty, counts, n_pairs, digest.hexdigest())


def _sum_parts(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(sum of lengths, K) -> (len(lengths), K): sums of consecutive parts, which may be empty."""
    sums = np.concatenate([np.zeros((1, values.shape[1]), np.int64), np.cumsum(values, axis=0)])
    ends = np.cumsum(lengths)
    return np.asarray(sums[ends] - sums[ends - lengths])


def _select(arrays: Mapping[str, Any], chosen: np.ndarray) -> dict[str, Any]:
    """Some of the pairs; ``chosen``: (P,) bool."""
    keypoints = {"n1": np.repeat(chosen, arrays["n1"]), "n2": np.repeat(chosen, arrays["n2"])}
    ragged = {"kept1": "n1", "kept2": "n2", "assignment": "n1", "truth": "n1", "joint": "n1"}
    return {name: array[keypoints[ragged[name]] if name in ragged else chosen] for name, array in arrays.items()}


def _check(run: RunRecord, cls: np.ndarray, counts: np.ndarray) -> None:
    """Check that predictions and metrics.json come from the same run."""
    for name in ("accuracy", "f1"):
        of_classes = [MEASURES[name](counts[cls == one].sum(axis=0)) / 100 for one in np.unique(cls)]
        stated = run.metrics["mean"].get(name)
        if not isinstance(stated, float | int) or not abs(float(np.mean(of_classes)) - stated) <= 1e-6:
            raise ValueError(
                f"{run.folder}: predictions.npz gives a mean {name} of {np.mean(of_classes):.6f}, metrics.json says "
                f"{stated}: delete the folder and run 'bbgm train' again"
            )


Measure = Callable[[np.ndarray], np.ndarray]


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.asarray(part / np.maximum(whole, 1))


def accuracy(counts: np.ndarray) -> np.ndarray:
    """(..., 3) or (..., 5) pooled counts -> (...), %: correct matches of the true ones."""
    return 100 * _ratio(counts[..., CORRECT], counts[..., TRUE])


def f1(counts: np.ndarray) -> np.ndarray:
    """(..., 3) or (..., 5) pooled counts -> (...), %: harmonic mean of precision and recall."""
    precision = counts[..., CORRECT] / (counts[..., MATCHED] + EPSILON)
    recall = counts[..., CORRECT] / (counts[..., TRUE] + EPSILON)
    return np.asarray(100 * 2 * precision * recall / (precision + recall + EPSILON))


def unmatched(counts: np.ndarray) -> np.ndarray:
    """(..., 5) pooled counts -> (...), %: keypoints of both images that have no partner."""
    both = counts[..., N1] + counts[..., N2]
    return 100 * _ratio(both - 2 * counts[..., TRUE], both)


def unmatched_source(counts: np.ndarray) -> np.ndarray:
    """(..., 5) pooled counts -> (...), %: keypoints of the source that have no partner."""
    return 100 * _ratio(counts[..., N1] - counts[..., TRUE], counts[..., N1])


MEASURES: dict[str, Measure] = {
    "accuracy": accuracy,
    "f1": f1,
    "unmatched": unmatched,
    "unmatched_source": unmatched_source,
}
