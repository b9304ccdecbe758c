"""Scores of matchings: pooled within a class, then averaged over the classes (paper Sec. 4).

The counts of all pairs of a class are added up before a ratio is taken, so a pair with many keypoints weighs more than
one with few. Other benchmarks (ThinkMatch, pygmtools) average per-pair scores, which can differ by points in F1.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

EPSILON = 1e-7  # in every denominator, as in the authors' F1


@dataclass(frozen=True)
class Counts:
    """What is counted in one pair, or added up over several."""

    n_pairs: int = 0
    n1: int = 0  # keypoints of the source
    n2: int = 0  # keypoints of the target
    true: int = 0  # true matches
    matched: int = 0  # predicted matches
    correct: int = 0  # predicted matches that are true

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.n_pairs + other.n_pairs,
            self.n1 + other.n1,
            self.n2 + other.n2,
            self.true + other.true,
            self.matched + other.matched,
            self.correct + other.correct,
        )


def count(assignment: np.ndarray, truth: np.ndarray, n2: int) -> Counts:
    """Counts of one pair.

    Args:
        assignment: (n1,) integers, predicted index of the target keypoint, -1 = unmatched. With a method that is not
            one-to-one it may use a target several times; see `check_matching`.
        truth: (n1,) integers, the true one, -1 = the target has none.
        n2: number of target keypoints.

    Raises:
        ValueError: the shapes differ, an index is outside -1 ... n2 - 1, or the truth uses a target twice.
    """
    assignment, truth = np.asarray(assignment), np.asarray(truth)
    if assignment.shape != truth.shape or assignment.ndim != 1:
        raise ValueError(f"assignment {assignment.shape} and truth {truth.shape} must both have the shape (n1,)")
    check_matching(assignment, n2, "assignment", one_to_one=False)
    check_matching(truth, n2, "truth")
    matched = assignment >= 0
    correct = matched & (assignment == truth)
    return Counts(1, truth.size, n2, int(np.sum(truth >= 0)), int(np.sum(matched)), int(np.sum(correct)))


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


def score(counts: Counts) -> dict[str, float | int]:
    """Scores of pooled counts.

    Returns:
        accuracy: correct matches / true matches (false positives are ignored), in [0, 1]; 0 if there are no true ones.
        precision, recall, f1: in [0, 1], with 1e-7 in the denominators.
        n_pairs.
        unmatched_percent: (n1 + n2 - 2 m) / (n1 + n2), keypoints of both images without a true partner, %.
        unmatched_source_percent: (n1 - m) / n1, keypoints of the source without a true partner, %.

    The paper's row 'Unmatched (%)' is "the percentage of unmatched keypoints in the test-set pairs" and says no more.
    The first is the nearer reading, and the choice hardly matters: where source and target are drawn alike, both have
    the same expectation. They differ under the filter 'inclusion', which leaves no source keypoint without a partner.
    """
    precision = counts.correct / (counts.matched + EPSILON)
    recall = counts.correct / (counts.true + EPSILON)
    both = counts.n1 + counts.n2
    return {
        "accuracy": counts.correct / max(counts.true, 1),
        "f1": 2 * precision * recall / (precision + recall + EPSILON),
        "precision": precision,
        "recall": recall,
        "n_pairs": counts.n_pairs,
        "unmatched_percent": 100.0 * (both - 2 * counts.true) / max(both, 1),
        "unmatched_source_percent": 100.0 * (counts.n1 - counts.true) / max(counts.n1, 1),
    }


def score_class(matchings: Iterable[tuple[np.ndarray, np.ndarray, int]]) -> dict[str, float | int]:
    """Scores of all pairs of one class, given as (assignment, truth, n2); see :func:`count` and :func:`score`."""
    return score(sum((count(*matching) for matching in matchings), Counts()))


def mean_over_classes(per_class: Mapping[str, Mapping[str, float | int]]) -> dict[str, float]:
    """Unweighted mean over the classes of each score in [0, 1]."""
    names: Sequence[str] = ("accuracy", "f1", "precision", "recall")
    if not per_class:
        raise ValueError("no class was scored: give at least one")
    return {name: float(np.mean([scores[name] for scores in per_class.values()])) for name in names}
