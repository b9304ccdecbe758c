"""Random problems of several kinds, and the same problem in other words."""

import itertools

import bbgm_solver as gm
import numpy as np
from bbgm_solver.selftest import random_problem
from numpy.typing import NDArray

__all__ = [
    "COST_KINDS",
    "NO_EDGES",
    "SET_KINDS",
    "Problems",
    "draw",
    "draw_set",
    "draw_unmatched",
    "linear",
    "mirrored",
    "node_counts",
    "permuted",
    "random_edges",
    "random_problem",
    "same",
    "scaled",
]

Problems = dict[tuple[int, int], gm.Problem]

NO_EDGES = np.zeros((0, 2), dtype=np.int64)
COST_KINDS = ("normal", "integer", "nearly constant", "sparse")


def linear(unary: object) -> gm.Problem:
    """A problem without edges."""
    return gm.Problem(unary, NO_EDGES, NO_EDGES, np.zeros((0, 0)))  # type: ignore[arg-type]


def random_edges(rng: np.random.Generator, n: int, density: float) -> NDArray[np.int64]:
    """(E, 2) directed edges, each of those possible with probability `density`."""
    chosen = [pair for pair in itertools.permutations(range(n), 2) if rng.random() < density]
    return np.array(chosen, dtype=np.int64).reshape(-1, 2)


def random_costs(rng: np.random.Generator, kind: str, *shape: int) -> NDArray[np.float64]:
    """Ties everywhere ("integer"), no structure at all ("nearly constant"), or normal."""
    if kind == "integer":
        return rng.integers(-2, 3, size=shape).astype(float)
    if kind == "nearly constant":
        return -0.2 + 1e-3 * rng.normal(size=shape)
    return rng.normal(size=shape)


def draw(seed: int, kind: str, largest: int) -> tuple[gm.Problem, np.random.Generator]:
    """A problem of a kind of COST_KINDS with up to `largest` nodes on each side; "sparse" forbids many matches."""
    rng = np.random.default_rng([seed, COST_KINDS.index(kind)])
    n1, n2 = (int(n) for n in rng.integers(0, largest + 1, size=2))
    edges1, edges2 = (random_edges(rng, n, rng.choice([0.0, 0.4, 1.0])) for n in (n1, n2))
    allowed = rng.random((n1, n2)) < (0.6 if kind == "sparse" else 1.0)
    quadratic = random_costs(rng, kind, len(edges1), len(edges2))
    return gm.Problem(random_costs(rng, kind, n1, n2), edges1, edges2, quadratic, allowed=allowed), rng


def draw_unmatched(seed: int, largest: int = 4) -> tuple[gm.Problem, np.random.Generator]:
    """Random costs, edges, forbidden matches and costs of unmatched nodes, some of one graph only."""
    rng = np.random.default_rng([seed, 77])
    n1, n2 = (int(n) for n in rng.integers(0, largest + 1, size=2))
    edges1, edges2 = (random_edges(rng, n, rng.choice([0.3, 1.0])) for n in (n1, n2))
    unmatched = {"unmatched1": rng.normal(size=n1), "unmatched2": 2 * rng.normal(size=n2)}
    for name in list(unmatched)[: seed % 3]:
        unmatched.pop(name)
    quadratic = rng.normal(size=(len(edges1), len(edges2)))
    allowed = rng.random((n1, n2)) < rng.choice([0.5, 1.0])
    return gm.Problem(rng.normal(size=(n1, n2)), edges1, edges2, quadratic, allowed=allowed, **unmatched), rng


SET_KINDS = (*COST_KINDS, "missing pairs", "unmatched")


def draw_set(seed: int, kind: str, sizes: tuple[int, ...]) -> Problems:
    """Problems of a kind of SET_KINDS on all pairs of graphs, or on all but one ("missing pairs")."""
    rng = np.random.default_rng([seed, SET_KINDS.index(kind)])
    edges = [random_edges(rng, n, rng.choice([0.4, 1.0])) for n in sizes]
    problems: Problems = {}
    for p, q in itertools.combinations(range(len(sizes)), 2):
        unary = random_costs(rng, kind, sizes[p], sizes[q])
        quadratic = random_costs(rng, kind, len(edges[p]), len(edges[q]))
        allowed = rng.random(unary.shape) < (0.6 if kind == "sparse" else 1.0)
        pay = {}
        if kind == "unmatched":
            pay = {"unmatched1": rng.normal(size=sizes[p]), "unmatched2": rng.normal(size=sizes[q])}
        problems[p, q] = gm.Problem(unary, edges[p], edges[q], quadratic, allowed=allowed, **pay)
    if kind == "missing pairs":
        del problems[list(problems)[rng.integers(len(problems))]]
    return problems


def node_counts(problems: Problems) -> dict[int, int]:
    """Nodes of each graph, by its number."""
    counts: dict[int, int] = {}
    for (p, q), problem in problems.items():
        counts |= {p: problem.n1, q: problem.n2}
    return dict(sorted(counts.items()))


def same(one: object, other: object) -> bool:
    """Two problems agree bit by bit in all that a .dd file holds."""
    assert isinstance(one, gm.Problem)
    assert isinstance(other, gm.Problem)
    return (one.n1, one.n2) == (other.n1, other.n2) and all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in ("assignments", "costs", "terms", "term_costs")
    )


def scaled(problem: gm.Problem, factor: float) -> gm.Problem:
    """All costs times a factor."""
    return gm.Problem.sparse(
        problem.n1,
        problem.n2,
        problem.assignments,
        factor * problem.costs,
        problem.terms,
        factor * problem.term_costs,
        unmatched1=factor * problem.unmatched1,
        unmatched2=factor * problem.unmatched2,
    )


def permuted(problem: gm.Problem, order1: NDArray[np.int64], order2: NDArray[np.int64]) -> gm.Problem:
    """The nodes get other numbers: node i of graph 1 becomes order1[i]."""
    moved = np.stack([order1[problem.assignments[:, 0]], order2[problem.assignments[:, 1]]], axis=1)
    return gm.Problem.sparse(
        problem.n1,
        problem.n2,
        moved,
        problem.costs,
        problem.terms,
        problem.term_costs,
        unmatched1=problem.unmatched1[np.argsort(order1)],
        unmatched2=problem.unmatched2[np.argsort(order2)],
    )


def mirrored(problem: gm.Problem) -> gm.Problem:
    """The two graphs change places."""
    return gm.Problem.sparse(
        problem.n2,
        problem.n1,
        problem.assignments[:, ::-1],
        problem.costs,
        problem.terms,
        problem.term_costs,
        unmatched1=problem.unmatched2,
        unmatched2=problem.unmatched1,
    )
