"""Scores of matchings: pooled within a class, then averaged over the classes (paper Sec. 4).

The counts of all pairs of a class are added up before a ratio is taken, so a pair with many keypoints weighs more than
one with few. Other benchmarks (ThinkMatch, pygmtools) average per-pair scores, which can differ by points in F1.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

EPSILON = 1e-7  # in every denominator, as in the authors' F1

TRUE, MATCHED, CORRECT, N1, N2 = range(5)
"""Columns of counts (..., 5): true matches, predicted ones, predicted ones that are true; keypoints of the source, of
the target."""
OF_SCORES = slice(0, 3)
"""The columns that `accuracy`, `precision`, `recall` and `f1` need."""

Matching = tuple[np.ndarray, np.ndarray, int]
"""For each source keypoint the index of the target keypoint that it is matched with, (n1,), -1 = unmatched; the true
index, (n1,), -1 = there is none; and the number n2 of target keypoints."""


def count_pairs(assignment: np.ndarray, truth: np.ndarray, n1: np.ndarray, n2: np.ndarray) -> np.ndarray:
    """Counts of P pairs, whose source keypoints follow one pair after another.

    Args:
        assignment, truth: (sum of n1,), see `Matching`. With a method that is not one-to-one the assignment may use
            a target several times.
        n1, n2: (P,), keypoints of each source and target.

    Returns:
        (P, 5) int64.
    """
    matched = assignment >= 0
    flags = np.stack([truth >= 0, matched, matched & (assignment == truth)], axis=1)
    sums = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(flags, axis=0)])
    ends = np.cumsum(n1, dtype=np.int64)
    return np.column_stack([sums[ends] - sums[ends - n1], n1, n2]).astype(np.int64)


def count_matchings(matchings: Iterable[Matching]) -> np.ndarray:
    """Counts (P, 5) of P pairs, as `count_pairs`; each is checked.

    Raises:
        ValueError: the shapes of a pair differ, an index is outside -1 ... n2 - 1, or a truth uses a target twice.
    """
    assignments, truths, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], []
    for assignment, truth, n2 in matchings:
        assignment, truth = np.asarray(assignment), np.asarray(truth)
        if assignment.shape != truth.shape or assignment.ndim != 1:
            raise ValueError(f"assignment {assignment.shape} and truth {truth.shape} must both have the shape (n1,)")
        check_matching(assignment, n2, "assignment", one_to_one=False)
        check_matching(truth, n2, "truth")
        assignments.append(assignment)
        truths.append(truth)
        sizes.append((len(truth), n2))
    n1, n2s = np.array(sizes, dtype=np.int64).reshape(-1, 2).T
    return count_pairs(np.concatenate(assignments), np.concatenate(truths), n1, n2s)


def check_matching(matches: np.ndarray, n2: int, name: str = "assignment", one_to_one: bool = True) -> None:
    """Check that matches (n1,) into n2 target keypoints, -1 = unmatched, are a matching.

    Args:
        name: what they are called in the error.
        one_to_one: False: a target may be used several times.

    Raises:
        ValueError: an index is outside -1 ... n2 - 1, or a target is used twice.
    """
    used = matches[matches != -1]
    outside = used.size and (used.min() < 0 or used.max() >= n2)
    if outside or (one_to_one and np.unique(used).size < used.size):
        raise ValueError(f"{name} {matches.tolist()} is not a matching into {n2} target keypoints (-1 = unmatched)")


def accuracy(counts: np.ndarray) -> np.ndarray:
    """Correct matches / true matches, in [0, 1]; false positives are ignored. 0 where there are no true ones.

    Args:
        counts: (..., 5) of pairs that are pooled, here and below; or (..., 3), the columns `OF_SCORES`.

    Returns:
        (...), here and below.
    """
    return np.asarray(counts[..., CORRECT] / np.maximum(counts[..., TRUE], 1))


def precision(counts: np.ndarray) -> np.ndarray:
    """Correct matches / predicted matches, in [0, 1]."""
    return np.asarray(counts[..., CORRECT] / (counts[..., MATCHED] + EPSILON))


def recall(counts: np.ndarray) -> np.ndarray:
    """Correct matches / true matches, in [0, 1]."""
    return np.asarray(counts[..., CORRECT] / (counts[..., TRUE] + EPSILON))


def f1(counts: np.ndarray) -> np.ndarray:
    """Harmonic mean of precision and recall, in [0, 1]."""
    p, r = precision(counts), recall(counts)
    return np.asarray(2 * p * r / (p + r + EPSILON))


def unmatched_percent(counts: np.ndarray) -> np.ndarray:
    """(n1 + n2 - 2 m) / (n1 + n2), keypoints of both images without a true partner, %.

    The paper's row 'Unmatched (%)' is "the percentage of unmatched keypoints in the test-set pairs" and says no more.
    This is the nearer reading, and the choice hardly matters: where source and target are drawn alike, this and
    `unmatched_source_percent` have the same expectation. They differ under the filter 'inclusion', which leaves no
    source keypoint without a partner.
    """
    both = counts[..., N1] + counts[..., N2]
    return np.asarray(100.0 * (both - 2 * counts[..., TRUE]) / np.maximum(both, 1))


def unmatched_source_percent(counts: np.ndarray) -> np.ndarray:
    """(n1 - m) / n1, keypoints of the source without a true partner, %."""
    return np.asarray(100.0 * (counts[..., N1] - counts[..., TRUE]) / np.maximum(counts[..., N1], 1))


Measure = Callable[[np.ndarray], np.ndarray]
"""From pooled counts (..., 5), or (..., 3) where `OF_SCORES` are enough, to (...)."""

SCORES: dict[str, Measure] = {"accuracy": accuracy, "f1": f1, "precision": precision, "recall": recall}
"""In [0, 1]: what is averaged over the classes."""


def main_score(keypoint_filter: str) -> str:
    """The key of `SCORES` that counts: F1 where keypoints without a partner stay, else accuracy (paper Sec. 4.1)."""
    return "f1" if keypoint_filter == "unfiltered" else "accuracy"


def in_percent(measure: Measure) -> Measure:
    """A score in [0, 1] as one in %."""
    return lambda counts: 100 * measure(counts)


MEASURES: dict[str, Measure] = {
    "accuracy": in_percent(accuracy),
    "f1": in_percent(f1),
    "unmatched": unmatched_percent,
    "unmatched_source": unmatched_source_percent,
}
"""By the name that a row of a table gives (`bbgm.tables.specs.Row`), in %."""


def score(counts: np.ndarray) -> dict[str, float | int]:
    """Scores of P pairs, pooled.

    Args:
        counts: (P, 5).

    Returns:
        accuracy, f1, precision, recall, n_pairs, unmatched_percent, unmatched_source_percent; see the functions above.
    """
    pooled = counts.sum(axis=0)
    return {
        **{name: float(measure(pooled)) for name, measure in SCORES.items()},
        "n_pairs": len(counts),
        "unmatched_percent": float(unmatched_percent(pooled)),
        "unmatched_source_percent": float(unmatched_source_percent(pooled)),
    }


def score_class(matchings: Iterable[Matching]) -> dict[str, float | int]:
    """Scores of all pairs of one class; see `count_matchings` and `score`."""
    return score(count_matchings(matchings))


def mean_over_classes(per_class: Mapping[str, Mapping[str, float | int]]) -> dict[str, float]:
    """Unweighted mean over the classes of each of the `SCORES`."""
    if not per_class:
        raise ValueError("no class was scored: give at least one")
    return {name: float(np.mean([scores[name] for scores in per_class.values()])) for name in SCORES}


def batch_accuracy(match: "Sequence[Tensor]", truth: "Sequence[Tensor]") -> float:
    """Share of the true matches of a training batch that were found, in [0, 1]; 1 where there are none.

    Args:
        match: indicators of the found matches of each pair, 0 and 1 or bool, of any shape.
        truth: of the true ones, of the same shapes.
    """
    import torch

    if not truth:
        return 1.0
    flat = [torch.cat([one.bool().reshape(-1) for one in part]) for part in (match, truth)]
    # Both numbers together: on a GPU each number that is read waits for all that was asked of it.
    correct, true_matches = torch.stack([(flat[0] & flat[1]).sum(), flat[1].sum()]).tolist()
    return correct / true_matches if true_matches else 1.0
