"""``DenseBatch``: many problems whose costs are in a few arrays, solved without a Python object for each."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbgm_solver import _core
from bbgm_solver._core import STOP_REASONS
from bbgm_solver.arguments import at_least, make_options


class BatchResult(NamedTuple):
    """The results of a batch of B problems, as `Result` has them for one.

    Attributes:
        assignment: (B, N1) int32, node of graph 2 matched to each node of graph 1, -1 = unmatched, and as padding.
        objective, lower_bound: (B,) float64.
        optimal: (B,) bool.
        iterations: (B,) int32.
        stop_reason: (B,) int8, places in `STOP_REASONS`.
    """

    assignment: NDArray[np.int32]
    objective: NDArray[np.float64]
    lower_bound: NDArray[np.float64]
    optimal: NDArray[np.bool_]
    iterations: NDArray[np.int32]
    stop_reason: NDArray[np.int8]


class DenseBatch:
    """B pairs of graphs, to be solved with any costs: what depends on the graphs alone is made and checked once.

    Results are bit for bit those of `solve` on ``Problem(unary, edges1, edges2, quadratic)``, whatever the threads.

    Args:
        sizes: (B, 2) integers, n1 and n2 of each problem.
        edges1: the directed edges of graph 1 of each problem, as in `Problem`: a list of B arrays (E1, 2); or, with
            `edge_counts`, one array (B, E1, 2) with padding.
        edges2: the same of graph 2.
        edge_counts: (B, 2) integers, how many rows of `edges1` and of `edges2` are edges of each problem.

    Raises:
        ValueError: wrong shape, node out of range, duplicate edge, self-loop; names argument, problem and position.
        TypeError: not integers.
    """

    def __init__(
        self,
        sizes: ArrayLike,
        edges1: Sequence[ArrayLike] | ArrayLike,
        edges2: Sequence[ArrayLike] | ArrayLike,
        *,
        edge_counts: ArrayLike | None = None,
    ) -> None:
        self._core = _core.DenseBatch(sizes, edges1, edges2, edge_counts)

    def __len__(self) -> int:
        return len(self._core)

    @property
    def entries(self) -> int:
        """N, the number of all costs: the sum of n1 n2 and of E1 E2 over the problems."""
        return self._core.entries

    def solve(
        self,
        unary: ArrayLike,
        quadratic: ArrayLike,
        method: str = "best",
        *,
        threads: int = 0,
        effort: str = "default",
        full: bool = False,
        max_iterations: int = 100,
        round_every: int = 10,
        tolerance: float = 1e-9,
    ) -> BatchResult:
        """Solves all problems.

        Args:
            unary: (B, N1, N2), problem b in the first n1 rows and n2 columns of ``unary[b]``; the rest is not read.
            quadratic: (B, E1, E2), the same. Contiguous float64 and float32 is read in place.
            method: "best" or "dual".
            threads: 0 = all cores that this process may use.
            effort, full, max_iterations, round_every, tolerance: as for `solve`.

        Raises:
            ValueError: a shape that is too small, NaN or infinity, or an option out of range; names argument and entry.
            TypeError: not a real number where a cost is expected, or an option of another type.
        """
        options = self._options(method, effort, full, max_iterations, round_every, tolerance)
        return BatchResult(*self._core.solve(unary, quadratic, options, at_least("threads", threads, 0)))

    def indicators(
        self,
        costs: ArrayLike,
        method: str = "best",
        *,
        known: tuple[ArrayLike, ArrayLike] | None = None,
        threads: int = 0,
        effort: str = "default",
        full: bool = False,
        max_iterations: int = 100,
        round_every: int = 10,
        tolerance: float = 1e-9,
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Solves all problems with each of S rows of costs: what a layer of a network needs.

        A row holds the unary costs of all problems, one after the other and each row by row, and then their quadratic
        costs in the same way.

        Args:
            costs: (S, N).
            method: "best" or "dual".
            known: (S, N) costs that were solved before, and the indicators that this returned for them. A problem whose
                costs are the same in a row is not solved again there.
            threads, effort, full, max_iterations, round_every, tolerance: as for `solve`.

        Returns:
            (S, N) float64 in the order of the costs: 1 where two nodes are matched to each other, and where the ends of
            two edges are, in their directions; 0 elsewhere. And (S, B) bool, which problems were solved.

        Raises:
            ValueError, TypeError: as `solve`.
        """
        options = self._options(method, effort, full, max_iterations, round_every, tolerance)
        before, solved = (None, None) if known is None else known
        return self._core.indicators(costs, before, solved, options, at_least("threads", threads, 0))

    @staticmethod
    def _options(
        method: str, effort: str, full: bool, max_iterations: int, round_every: int, tolerance: float
    ) -> _core.Options:
        if method == "exact":
            raise ValueError('method "exact" solves problems one by one: use solve_batch, or "best" or "dual" here')
        return make_options(method, effort, full, max_iterations, round_every, tolerance)


__all__ = ["STOP_REASONS", "BatchResult", "DenseBatch"]
