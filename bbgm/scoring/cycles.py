"""Cycle consistency of the matchings of several graphs (paper Sec. 3.2, Fig. 3): where they contradict each other."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import comb

import numpy as np

from bbgm.scoring.predictions import SetPrediction

Matchings = Mapping[tuple[int, int], np.ndarray]
"""For each two graphs p < q: (n_p,) integers, node of q, -1 = unmatched."""


def contradicted(matchings: Matchings) -> dict[tuple[int, int], np.ndarray]:
    """The matches that are part of a broken cycle: i - j and j - k are matches of three graphs, but i - k is not.

    Returns:
        For each pair of graphs (n_p,) bool.

    Raises:
        ValueError: the pair of two of the graphs is missing.
    """
    graphs = sorted({graph for pair in matchings for graph in pair})
    if missing := [pair for pair in combinations(graphs, 2) if pair not in matchings]:
        raise ValueError(f"no matching of graphs {missing[0]}: give one for every two of {graphs}")
    broken = {pair: np.zeros(len(match), dtype=bool) for pair, match in matchings.items()}
    for triple in combinations(graphs, 3):
        for pair, mask in _broken_in(matchings, *triple).items():
            broken[pair] |= mask
    return broken


def inconsistent_triples(matchings: Matchings) -> list[tuple[int, int, int]]:
    """The triples of graphs, p < q < r, with a broken cycle."""
    graphs = sorted({graph for pair in matchings for graph in pair})
    return [
        triple
        for triple in combinations(graphs, 3)
        if any(mask.any() for mask in _broken_in(matchings, *triple).values())
    ]


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


def _by_set(predictions: Sequence[SetPrediction]) -> Iterable[dict[tuple[int, int], SetPrediction]]:
    """The pairs of each set."""
    sets: dict[tuple[str, int], dict[tuple[int, int], SetPrediction]] = {}
    for one in predictions:
        sets.setdefault((one.cls, one.number), {})[one.p, one.q] = one
    return sets.values()


def _right(found: np.ndarray, one: SetPrediction) -> int:
    return int(np.sum((found >= 0) & (found == one.truth)))


def _broken_in(matchings: Matchings, p: int, q: int, r: int) -> dict[tuple[int, int], np.ndarray]:
    pq, qr, pr = (np.asarray(matchings[pair]) for pair in ((p, q), (q, r), (p, r)))
    broken = {pair: np.zeros(len(match), dtype=bool) for pair, match in (((p, q), pq), ((q, r), qr), ((p, r), pr))}
    back_r = {k: j for j, k in enumerate(qr.tolist()) if k >= 0}
    to_p = {j: i for i, j in enumerate(pq.tolist()) if j >= 0}
    for i, (j, k) in enumerate(zip(pq.tolist(), pr.tolist(), strict=True)):
        if j >= 0 and k >= 0 and qr[j] != k:  # j - i - k
            broken[p, q][i] = broken[p, r][i] = True
        if j >= 0 and qr[j] >= 0 and qr[j] != k:  # i - j - k
            broken[p, q][i] = broken[q, r][j] = True
        if k in back_r and to_p.get(back_r[k]) != i:  # i - k - j
            broken[p, r][i] = broken[q, r][back_r[k]] = True
    return broken
