"""Solvers by brute force: every matching of a pair, every consistent matching of several graphs, and the cheapest."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, permutations

import numpy as np

from bbgm.matching.instance import Instance
from bbgm.matching.joint_solvers import Pair


@cache
def all_matchings(n1: int, n2: int) -> np.ndarray:
    """Every partial matching of n1 with n2 nodes, as assignments (M, n1) int32, -1 = unmatched."""
    blanks = [-1] * n1
    choices = sorted(set(permutations([*range(n2), *blanks], n1)))
    return np.array(choices, dtype=np.int32).reshape(len(choices), n1)


def all_costs(instance: Instance, assignments: np.ndarray) -> np.ndarray:
    """(M,): what each of the matchings (M, n1) costs."""
    v = (assignments[:, :, None] == np.arange(instance.unary.shape[1])).astype(float)
    (i1, j1), (i2, j2) = instance.edges1.T, instance.edges2.T
    e = v[:, i1[:, None], i2] * v[:, j1[:, None], j2]
    costs: np.ndarray = np.tensordot(v, instance.unary, 2) + np.tensordot(e, instance.quadratic, 2)
    return costs


def cheapest(instance: Instance, full: bool = False) -> np.ndarray:
    """The cheapest matching (n1,).

    Args:
        full: of those that match every node of the smaller graph.
    """
    n1, n2 = instance.unary.shape
    assignments = all_matchings(n1, n2)
    if full:
        assignments = assignments[(assignments >= 0).sum(axis=1) == min(n1, n2)]
    return np.asarray(assignments[np.argmin(all_costs(instance, assignments))])


def smallest_cost(instance: Instance, full: bool = False) -> float:
    """What `cheapest` costs."""
    return instance.cost(instance.solution(cheapest(instance, full)))


def enumerate_solver(instances: Sequence[Instance], full: bool = False) -> list[np.ndarray]:
    """`cheapest` as a `bbgm.matching.solvers.Solver`."""
    return [cheapest(x, full) for x in instances]


@cache
def consistent_matchings(sizes: tuple[int, ...]) -> dict[Pair, np.ndarray]:
    """Every consistent matching of graphs with these numbers of nodes: by pair the assignments (M, n_p)."""
    nodes = [(g, i) for g, n in enumerate(sizes) for i in range(n)]
    partitions: list[list[dict[int, int]]] = [[]]
    for g, i in nodes:  # each node joins a clique that has none of its graph, or opens one
        partitions = [
            partition[:c] + [{**clique, g: i}] + partition[c + 1 :]
            for partition in partitions
            for c, clique in [*enumerate(partition), (len(partition), {})]
            if g not in clique
        ]
    pairs = list(combinations(range(len(sizes)), 2))
    result = {pair: np.full((len(partitions), sizes[pair[0]]), -1) for pair in pairs}
    for m, partition in enumerate(partitions):
        for clique in partition:
            for p, q in combinations(sorted(clique), 2):
                result[p, q][m, clique[p]] = clique[q]
    return result


def enumerate_jointly(instances: Mapping[Pair, Instance]) -> dict[Pair, np.ndarray]:
    """The cheapest consistent matching of graphs 0, 1, ..., as a `bbgm.matching.joint_solvers.JointSolver`."""
    sizes: dict[int, int] = {}
    for (p, q), x in instances.items():
        sizes |= {p: x.unary.shape[0], q: x.unary.shape[1]}
    matchings = consistent_matchings(tuple(sizes[g] for g in sorted(sizes)))
    total = sum(all_costs(x, matchings[pair]) for pair, x in instances.items())
    return {pair: found[np.argmin(total)] for pair, found in matchings.items()}
