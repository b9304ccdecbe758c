"""What solves graph matching instances: by name in a configuration, a batch at a time.

A solver is a function from instances to assignments; ours (`bbgm_solver`) works on all of a batch together. A further
one is a function like `best` and one line in `bbgm.config.parts.SOLVERS`. A layer of a network, whose graphs stay the
same while their costs change, asks a solver that has `joined`, as ours, for one that takes the costs of a whole batch.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import torch

from bbgm.config import SOLVERS
from bbgm.matching.instance import Instance, check_finite

Solver = Callable[[Sequence[Instance]], list[np.ndarray]]
"""From instances to assignments (n1,) int32, -1 = unmatched."""

Shapes = tuple[tuple[int, int], tuple[int, int]]
Edges = tuple[np.ndarray, np.ndarray]
Known = tuple[np.ndarray, np.ndarray]
JoinedSolver = Callable[[np.ndarray, Known | None], tuple[np.ndarray, np.ndarray]]
"""From costs (S, N) of a batch, and costs that were solved before with their solutions, to solutions (S, N), all as
`bbgm.matching.gradients.batch.ProblemBatch` has them; and which problems were solved, (S, B) bool: those whose costs
are not the same as before."""


class CompiledSolver:
    """A method of our solver, on as many threads as torch has; results do not depend on their number.

    Args:
        method: "best", "dual" (the paper's) or "exact".
        options: of `bbgm_solver.solve_batch`.
    """

    def __init__(self, method: str, **options: Any) -> None:
        self.method, self.options = method, options

    def __call__(self, instances: Sequence[Instance]) -> list[np.ndarray]:
        """A `Solver`."""
        import bbgm_solver

        problems = [x.problem() for x in instances]
        return [result.assignment for result in bbgm_solver.solve_batch(problems, self.method, **self._settings())]

    def joined(self, shapes: Sequence[Shapes], edges: Sequence[Edges]) -> "JoinedSolver | None":
        """The same solver for graphs that stay while their costs change; None for "exact".

        Args:
            shapes: of each problem (n1, n2) and (E1, E2).
            edges: of each problem, (E1, 2) and (E2, 2).
        """
        if self.method == "exact":
            return None
        import bbgm_solver

        batch = bbgm_solver.DenseBatch(
            np.array([nodes for nodes, _ in shapes], dtype=np.int64).reshape(-1, 2),
            [one for one, _ in edges],
            [other for _, other in edges],
        )

        def solve(costs: np.ndarray, known: Known | None) -> tuple[np.ndarray, np.ndarray]:
            try:
                return batch.indicators(costs, self.method, known=known, **self._settings())
            except ValueError:
                check_finite("costs for the solver", costs)
                raise

        return solve

    def _settings(self) -> dict[str, Any]:
        return {"threads": torch.get_num_threads(), **self.options}


def compiled_solver(method: str, **options: Any) -> CompiledSolver:
    """A method of our solver, see `CompiledSolver`."""
    return CompiledSolver(method, **options)


def best(full: bool) -> Solver:
    """Our solver with the lowest costs; for ``full`` see `make_solver`."""
    return compiled_solver("best", full=full)


def fast(full: bool) -> Solver:
    """`best` with less search, for pictures with a hundred keypoints and more."""
    return compiled_solver("best", full=full, effort="fast")


def dual(full: bool) -> Solver:
    """The paper's solver (Sec. 3.4): dual block coordinate ascent."""
    return compiled_solver("dual", full=full)


def exact(full: bool) -> Solver:
    """Integer programming, with proof."""
    return compiled_solver("exact", full=full)


def make_solver(method: str, full: bool = False) -> "TimedSolver":
    """The solver that a configuration names.

    Args:
        method: a name in `bbgm.config.SOLVERS`.
        full: match as many keypoints as there can be matches, whatever it costs: every keypoint of the image that has
            fewer, and as many of the other (BB-GM-Max). The paper speaks of the source's keypoints, which cannot all
            be matched where the target has fewer.

    Raises:
        ValueError: no such solver.
    """
    return TimedSolver(SOLVERS[method](full))


class TimedSolver:
    """A solver that knows how long it has worked, and on how many instances."""

    def __init__(self, solver: Solver) -> None:
        self.solver, self.seconds, self.instances = solver, 0.0, 0

    def joined(self, shapes: Sequence[Shapes], edges: Sequence[Edges]) -> "JoinedSolver | None":
        """As `CompiledSolver.joined`, where the solver has it, else None; it counts the problems that it solves."""
        make = getattr(self.solver, "joined", None)
        solve = None if make is None else make(shapes, edges)
        if solve is None:
            return None

        def counted(costs: np.ndarray, known: Known | None) -> tuple[np.ndarray, np.ndarray]:
            start = perf_counter()
            found, solved = solve(costs, known)
            self.seconds += perf_counter() - start
            self.instances += int(solved.sum())
            return found, solved

        return counted

    def __call__(self, instances: Sequence[Instance]) -> list[np.ndarray]:
        """Solve, and count."""
        start = perf_counter()
        assignments = self.solver(instances) if instances else []
        self.seconds += perf_counter() - start
        self.instances += len(instances)
        return assignments
