"""Graph matching instances, and what solves them: by name in a configuration, a batch at a time.

A solver is a function from instances to assignments; ours (`bbgm_solver`) works on all of a batch together. A further
one is a function like `best` and one line in `bbgm.config.parts.SOLVERS`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bbgm.config import SOLVERS

if TYPE_CHECKING:
    import bbgm_solver

Solution = tuple[np.ndarray, np.ndarray]
"""v (n1, n2) and e (E1, E2), float64 with values 0 and 1."""


@dataclass(frozen=True, eq=False)
class Instance:
    """One graph matching problem as NumPy arrays (paper Eq. (GM-problem)).

    Attributes:
        unary: c^v, (n1, n2).
        quadratic: c^e, (E1, E2).
        edges1, edges2: (E1, 2) and (E2, 2), directed edges.
    """

    unary: np.ndarray
    quadratic: np.ndarray
    edges1: np.ndarray
    edges2: np.ndarray

    def solution(self, assignment: np.ndarray) -> Solution:
        """The indicators of a matching: v from the assignment (n1,), -1 = unmatched, and e, which v determines.

        e = 1 for an edge i -> i' and an edge j -> j' where i is matched with j and i' with j'.
        """
        v = np.zeros(self.unary.shape)
        rows = np.flatnonzero(assignment >= 0)
        v[rows, assignment[rows]] = 1.0
        (i1, j1), (i2, j2) = self.edges1.T, self.edges2.T
        return v, v[np.ix_(i1, i2)] * v[np.ix_(j1, j2)]

    def cost(self, solution: Solution) -> float:
        """w . y, the objective."""
        return float((self.unary * solution[0]).sum() + (self.quadratic * solution[1]).sum())

    def plus(self, gradient: Solution, scale: float) -> "Instance":
        """The instance with the costs w + scale * gradient."""
        v, e = gradient
        return Instance(self.unary + scale * v, self.quadratic + scale * e, self.edges1, self.edges2)


Solver = Callable[[Sequence[Instance]], list[np.ndarray]]
"""From instances to assignments (n1,) int32, -1 = unmatched."""


def make_problems(instances: Sequence[Instance]) -> "list[bbgm_solver.Problem]":
    """The same instances as our solver takes them.

    Raises:
        ValueError: costs that are not finite, which is what a network that diverged gives, or shapes that do not fit.
    """
    import bbgm_solver

    try:
        return [bbgm_solver.Problem(x.unary, x.edges1, x.edges2, x.quadratic) for x in instances]
    except ValueError as error:
        if all(np.isfinite(x.unary).all() and np.isfinite(x.quadratic).all() for x in instances):
            raise
        raise ValueError(
            "costs for the solver are NaN or infinite: the network has diverged, or its weights are broken; "
            "lower optimiser.learning_rate, or take other weights"
        ) from error


def compiled_solver(method: str, **options: Any) -> Solver:
    """A method of our solver, on as many threads as torch has; results do not depend on their number.

    Args:
        method: "best", "dual" (the paper's) or "exact".
        options: of `bbgm_solver.solve_batch`.
    """
    import bbgm_solver

    def solve(instances: Sequence[Instance]) -> list[np.ndarray]:
        settings = {"method": method, "threads": torch.get_num_threads(), **options}
        return [result.assignment for result in bbgm_solver.solve_batch(make_problems(instances), **settings)]

    return solve


def best(full: bool) -> Solver:
    """Our solver with the lowest costs; for ``full`` see `make_solver`."""
    return compiled_solver("best", full=full)


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

    def __call__(self, instances: Sequence[Instance]) -> list[np.ndarray]:
        """Solve, and count."""
        start = perf_counter()
        assignments = self.solver(instances) if instances else []
        self.seconds += perf_counter() - start
        self.instances += len(instances)
        return assignments
