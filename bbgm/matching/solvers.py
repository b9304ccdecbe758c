"""What solves graph matching instances: by name in a configuration, a batch at a time.

A solver is a function from instances to assignments; ours (`bbgm_solver`) works on all of a batch together. A further
one is a function like `best` and one line in `bbgm.config.parts.SOLVERS`.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import torch

from bbgm.config import SOLVERS
from bbgm.matching.instance import Instance

Solver = Callable[[Sequence[Instance]], list[np.ndarray]]
"""From instances to assignments (n1,) int32, -1 = unmatched."""


def compiled_solver(method: str, **options: Any) -> Solver:
    """A method of our solver, on as many threads as torch has; results do not depend on their number.

    Args:
        method: "best", "dual" (the paper's) or "exact".
        options: of `bbgm_solver.solve_batch`.
    """
    import bbgm_solver

    def solve(instances: Sequence[Instance]) -> list[np.ndarray]:
        settings = {"method": method, "threads": torch.get_num_threads(), **options}
        return [result.assignment for result in bbgm_solver.solve_batch([x.problem() for x in instances], **settings)]

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
