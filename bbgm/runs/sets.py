"""Evaluation of BB-GM-Multi: the test sets of each class, matched pair by pair and jointly (paper Sec. 4, Tab. 3).

The costs of all pairs of a set come from the same trained network. Solved each by itself they give BB-GM, solved
together, with cycle consistency, BB-GM-Multi; so the two are compared on the same pairs. The authors score the first
pair of each set only; all pairs, which are ten times as many, are scored as well.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.base.progress import progress
from bbgm.config import ProtocolConfig
from bbgm.data.images.keypoints import Dataset
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.data.sampling.sets import KeypointSet, test_sets
from bbgm.matching.instance import Instance
from bbgm.matching.joint_solvers import JointSolver
from bbgm.matching.solvers import Solver
from bbgm.scoring.cycles import inconsistent_percent
from bbgm.scoring.metrics import mean_over_classes, score_class
from bbgm.scoring.predictions import SetPrediction

if TYPE_CHECKING:
    from bbgm.methods.base import Matcher

CHUNK = 50
"""Sets whose costs are computed at once: many share images, whose features are then computed once."""


@dataclass(frozen=True)
class SetEvaluation:
    """What BB-GM and BB-GM-Multi make of the test sets.

    Attributes:
        summary: for metrics.json: ``set_size``, ``n_sets``; ``pairwise`` (BB-GM) and ``joint`` (BB-GM-Multi), each with
            ``first`` (pair of each set) and ``all`` (pairs), each with ``per_class`` and ``mean`` scores as in
            :mod:`bbgm.scoring.metrics`; ``inconsistent_triples_percent``: triples of images of a set whose three
            matchings by BB-GM contradict each other, %, by class.
        predictions: every pair of every set.
        timing: ``pairwise_ms_per_set``, ``joint_ms_per_set``: of the solvers alone.
    """

    summary: dict[str, Any]
    predictions: list[SetPrediction]
    timing: dict[str, float]


def evaluate_sets(
    matcher: "Matcher", dataset: Dataset, protocol: ProtocolConfig, show_progress: bool = True
) -> SetEvaluation:
    """Match the test sets of every class in both ways; the matcher is left in evaluation mode.

    Raises:
        ValueError: no sets to test, or too few test images for one.
        NotImplementedError: a method without combinatorial instances.
    """
    if not protocol.test_sets_per_class:
        raise ValueError("protocol.test_sets_per_class is 0: there are no sets to evaluate")
    matcher.eval()
    pairwise, joint = matcher.set_solvers()
    predictions: list[SetPrediction] = []
    for cls in dataset.classes:
        sets = test_sets(dataset, protocol, cls)
        for first in progress(range(0, len(sets), CHUNK), f"sets {cls}", show_progress):
            chunk = sets[first : first + CHUNK]
            predictions += solve_sets(chunk, matcher.instances, pairwise, joint, first)
    n_sets = protocol.test_sets_per_class * len(dataset.classes)
    summary = {
        "set_size": protocol.set_size,
        "n_sets": n_sets,
        **{name: score_sets(predictions, name) for name in ("pairwise", "joint")},
        "inconsistent_triples_percent": inconsistent_percent(predictions),
    }
    timing = {
        "pairwise_ms_per_set": 1e3 * pairwise.seconds / n_sets,
        "joint_ms_per_set": 1e3 * joint.seconds / n_sets,
    }
    return SetEvaluation(summary, predictions, timing)


def solve_sets(
    sets: Sequence[KeypointSet],
    make_instances: Callable[[list[KeypointPair]], Iterable[Instance]],
    pairwise: Solver,
    joint: JointSolver,
    first_number: int = 0,
) -> list[SetPrediction]:
    """Match the pairs of sets of images, each by itself and all of a set together.

    Args:
        sets: of one class.
        make_instances: the costs: one instance for each pair.
        pairwise, joint: the solvers.
        first_number: number of the first set within its class.

    Returns:
        Every pair of every set.
    """
    named = [one.pairs() for one in sets]
    instances = iter(list(make_instances([pair for pairs in named for pair in pairs.values()])))
    predictions = []
    for number, pairs in enumerate(named, first_number):
        problems = {key: next(instances) for key in pairs}
        alone, together = pairwise(list(problems.values())), joint(problems)
        for ((p, q), pair), assignment in zip(pairs.items(), alone, strict=True):
            found = np.asarray(together[p, q], dtype=np.int32)
            predictions.append(SetPrediction.of(pair, assignment, number=number, p=p, q=q, joint=found))
    return predictions


def score_sets(predictions: Sequence[SetPrediction], solution: str) -> dict[str, dict[str, Any]]:
    """Scores of the first pair of each set, and of all pairs, pooled in each class.

    Args:
        predictions: every pair of every set.
        solution: "pairwise" or "joint".

    Returns:
        ``first`` and ``all``, each with ``per_class`` and ``mean``.
    """
    scores = {}
    for which, chosen in (("first", [x for x in predictions if (x.p, x.q) == (0, 1)]), ("all", predictions)):
        by_class: dict[str, list[tuple[np.ndarray, np.ndarray, int]]] = {}
        for x in chosen:
            found = x.joint if solution == "joint" else x.assignment
            by_class.setdefault(x.cls, []).append((found, x.truth, len(x.kept2)))
        per_class = {cls: score_class(matchings) for cls, matchings in by_class.items()}
        scores[which] = {"per_class": per_class, "mean": mean_over_classes(per_class)}
    return scores
