"""``solve_multi``: cycle-consistent matching of several graphs."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbgm_solver import _core
from bbgm_solver._core import Problem
from bbgm_solver.arguments import at_least, check_key, check_problem, graph_sizes, make_options, one_of

MULTI_METHODS = ("best", "sync", "dual")


class MultiResult(NamedTuple):
    """A cycle-consistent matching of d graphs, its value and how good it can at most be.

    Attributes:
        graphs: the d graph numbers that occur in the keys of the problems, ascending.
        cliques: (K, d) int32, nodes matched to each other: column c is the node of graph graphs[c], -1 where the clique
            has none. Sorted, -1 last; a node that is matched to no other is left out.
        matchings: for each two graphs p < q, given or not, (n_p,) int32: node of q in the same clique, -1 = unmatched.
        objective: sum of the given problems' costs, from the original costs in float64.
        lower_bound: no consistent matching costs less.
        optimal: the bound meets the objective within the tolerance: a proof.
        stop_reason: "optimal", "work limit", "synchronised" or "iteration limit"; with two graphs, that of `solve`.
    """

    graphs: tuple[int, ...]
    cliques: NDArray[np.int32]
    matchings: dict[tuple[int, int], NDArray[np.int32]]
    objective: float
    lower_bound: float
    optimal: bool
    stop_reason: str


def solve_multi(
    problems: Mapping[tuple[int, int], Problem],
    method: str = "best",
    *,
    effort: str = "default",
    starts: int = 16,
    seed: int = 0,
    max_iterations: int = 200,
    round_every: int = 10,
    threads: int = 0,
    tolerance: float = 1e-9,
) -> MultiResult:
    """Matches several graphs at once so that matches are transitive (X_pq X_qr <= X_pr), at a small summed cost.

    The result depends on the problems and the options only: not on the machine, the threads or earlier calls. With two
    graphs it is that of `solve` (not for "dual"); it never costs more than matching nothing.

    Args:
        problems: Problems keyed (p, q), p < q; graph 1 of each is p, graph 2 is q. Pairs may be missing: their matching
            follows from the others. Graph numbers need not be contiguous. Nodes whose match a given problem forbids
            are never in one clique.
        method: "best" (local search over cliques from several starts, and a bound that can prove it optimal), "sync"
            (permutation synchronisation: each pair is solved on its own, then the matchings are made consistent by the
            leading eigenvectors of the joint matching, whatever that costs; where it costs more than matching nothing,
            nothing is matched), or "dual" (the solver of BB-GM: dual block coordinate ascent over all pairs together,
            with factors of cycle consistency that are added where they raise the bound most; now and then rounded as
            in "sync", and never worse than it).
        effort: work limit of the solver of two graphs and of the bound: "fast", "default" or "thorough".
        starts: local searches of "best" from random starts, at most; they end when six in a row bring nothing better.
        seed: of the random starts: three from nothing, then from parts of the best matching.
        max_iterations: iterations of "dual".
        round_every: "dual" rounds after the first, the last and each round_every-th iteration.
        threads: 0 = all cores that this process may use. The results do not depend on it.
        tolerance: a gap of at most tolerance * max(|objective|, largest cost) counts as closed.

    Raises:
        ValueError: no problem at all, a key that is not p < q, a graph with two numbers of nodes (names both pairs), or
            an option out of range.
        TypeError: a key that is not a pair of integers, a value that is not a Problem, an option of another type.
    """
    if not isinstance(problems, Mapping):
        raise TypeError(f"problems is a {type(problems).__name__}, expected a dict of Problems keyed (p, q)")
    if not problems:
        raise ValueError("problems is empty: give one Problem at least, keyed (p, q)")
    named = {check_key(key): problem for key, problem in problems.items()}
    for key, problem in named.items():
        check_problem(f"problem {key}", problem)
    sizes = graph_sizes(named)
    graphs = tuple(sizes)
    place = {graph: k for k, graph in enumerate(graphs)}
    cliques, objective, lower_bound, optimal, stop_reason = _core.solve_multi(
        list(sizes.values()),
        [(place[p], place[q], problem) for (p, q), problem in sorted(named.items())],
        make_options("best", effort, False, 100, 10, tolerance),
        one_of("method", method, MULTI_METHODS),
        at_least("starts", starts, 0),
        at_least("seed", seed, 0),
        at_least("max_iterations", max_iterations, 0),
        at_least("round_every", round_every, 1),
        at_least("threads", threads, 0),
    )
    matchings = {}
    for a, p in enumerate(graphs):
        members = cliques[cliques[:, a] >= 0]
        for b, q in enumerate(graphs[a + 1 :], a + 1):
            matchings[p, q] = np.full(sizes[p], -1, dtype=np.int32)
            matchings[p, q][members[:, a]] = members[:, b]
    return MultiResult(graphs, cliques, matchings, objective, lower_bound, optimal, stop_reason)
