"""Cycle consistency of the matchings of several graphs (paper Sec. 3.2, Fig. 3): where they contradict each other."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from bbgm.scoring.predictions import SetPrediction

Matchings = Mapping[tuple[int, int], np.ndarray]
"""For each two graphs p < q: (n_p,) integers, node of q, -1 = unmatched."""


class BrokenCycle(NamedTuple):
    """Nodes of three graphs, each (graph, node): ``start - middle`` and ``middle - end`` are matches, and so
    ``start - end`` should be one, but is not.
    """

    start: tuple[int, int]
    middle: tuple[int, int]
    end: tuple[int, int]


def broken_cycles(matchings: Matchings) -> list[BrokenCycle]:
    """All of them, triple by triple of graphs.

    Raises:
        ValueError: the pair of two of the graphs is missing.
    """
    graphs = sorted({graph for pair in matchings for graph in pair})
    if missing := [pair for pair in combinations(graphs, 2) if pair not in matchings]:
        raise ValueError(f"no matching of graphs {missing[0]}: give one for every two of {graphs}")
    partners: dict[tuple[int, int], dict[int, int]] = {}
    for (p, q), match in matchings.items():
        partners[p, q] = {i: j for i, j in enumerate(np.asarray(match).tolist()) if j >= 0}
        partners[q, p] = {j: i for i, j in partners[p, q].items()}
    return [
        BrokenCycle((a, i), (b, j), (c, partners[b, c][j]))
        for p, q, r in combinations(graphs, 3)
        for a, b, c in ((q, p, r), (p, q, r), (p, r, q))
        for i, j in partners[a, b].items()
        if j in partners[b, c] and partners[a, c].get(i) != partners[b, c][j]
    ]


def contradicted(matchings: Matchings) -> dict[tuple[int, int], np.ndarray]:
    """The matches that are part of a broken cycle.

    Returns:
        For each pair of graphs (n_p,) bool.

    Raises:
        ValueError: the pair of two of the graphs is missing.
    """
    broken = {pair: np.zeros(len(match), dtype=bool) for pair, match in matchings.items()}
    for cycle in broken_cycles(matchings):
        for other in (cycle.start, cycle.end):
            (p, i), (q, _) = sorted((other, cycle.middle))
            broken[p, q][i] = True
    return broken


def inconsistent_triples(matchings: Matchings) -> list[tuple[int, int, int]]:
    """The triples of graphs, p < q < r, with a broken cycle."""
    found = {tuple(sorted(graph for graph, _ in cycle)) for cycle in broken_cycles(matchings)}
    return [triple for triple in combinations(sorted({g for pair in matchings for g in pair}), 3) if triple in found]


def inconsistent_percent(predictions: Sequence[SetPrediction]) -> dict[str, float]:
    """For each class the share of the triples of images of a set whose pairs, matched alone, contradict each other."""
    found: dict[str, int] = {}
    possible: dict[str, int] = {}
    for pairs in _by_set(predictions):
        cls = next(iter(pairs.values())).cls
        broken = inconsistent_triples({pair: one.assignment for pair, one in pairs.items()})
        found[cls] = found.get(cls, 0) + len(broken)
        possible[cls] = possible.get(cls, 0) + comb(len({graph for pair in pairs for graph in pair}), 3)
    return {cls: 100 * broken / max(possible[cls], 1) for cls, broken in found.items()}


def most_repaired(predictions: Sequence[SetPrediction]) -> tuple[SetPrediction, SetPrediction, SetPrediction]:
    """Three images whose matchings contradict each other, and in which the joint solution corrects the most matches.

    Args:
        predictions: every pair of the test sets of a run.

    Returns:
        Their pairs (p, q), (p, r), (q, r); of several such triples the first in the order of the predictions.

    Raises:
        ValueError: no three matchings contradict each other.
    """
    triples = [
        (pairs[p, q], pairs[p, r], pairs[q, r])
        for pairs in _by_set(predictions)
        for p, q, r in inconsistent_triples({pair: one.assignment for pair, one in pairs.items()})
    ]
    if not triples:
        raise ValueError(f"no three matchings among these {len(predictions)} contradict each other")
    return max(triples, key=lambda triple: sum(_right(one.joint, one) - _right(one.assignment, one) for one in triple))


def most_telling(triple: Sequence[SetPrediction]) -> BrokenCycle:
    """Of the broken cycles of three images, one whose three keypoints the joint solution matches rightly.

    If there is none, the one with the most right joint matches; among equals the first in which the start has another
    partner than the end, then the first of all.

    Args:
        triple: the three pairs of three images of a test set.

    Raises:
        ValueError: their matchings, each pair alone, do not contradict each other.
    """
    pairs = {(one.p, one.q): one for one in triple}
    cycles = broken_cycles({pair: one.assignment for pair, one in pairs.items()})
    if not cycles:
        names = [(one.source, one.target) for one in triple]
        raise ValueError(f"the matchings of {names}, each pair alone, do not contradict each other")

    def order(cycle: BrokenCycle) -> tuple[int, bool]:
        right = 0
        for ends in combinations(sorted(cycle), 2):
            (p, i), (q, j) = ends
            right += int(pairs[p, q].joint[i] == j == pairs[p, q].truth[i])
        (p, i), (q, j) = sorted((cycle.start, cycle.end))
        match = pairs[p, q].assignment
        return right, bool(match[i] >= 0 or j in match)

    return max(cycles, key=order)


def _by_set(predictions: Sequence[SetPrediction]) -> Iterable[dict[tuple[int, int], SetPrediction]]:
    """The pairs of each set."""
    sets: dict[tuple[str, int], dict[tuple[int, int], SetPrediction]] = {}
    for one in predictions:
        sets.setdefault((one.cls, one.number), {})[one.p, one.q] = one
    return sets.values()


def _right(found: np.ndarray, one: SetPrediction) -> int:
    return int(np.sum((found >= 0) & (found == one.truth)))
