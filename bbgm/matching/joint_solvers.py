"""Solvers of several graphs at once, by name in a configuration (paper Sec. 3.2, cycle consistency).

A further one is a function like `best` and one line in `bbgm.config.parts.JOINT_SOLVERS`.
"""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bbgm.config import JOINT_SOLVERS
from bbgm.matching.instance import Instance

if TYPE_CHECKING:
    from bbgm_solver import MultiResult

Pair = tuple[int, int]
"""Numbers (p, q) of two graphs, p < q."""

JointSolver = Callable[[Mapping[Pair, Instance]], Mapping[Pair, np.ndarray]]
"""From the instances of a set of graphs to an assignment (n_p,) for each, -1 = unmatched."""


def solve_jointly(instances: Mapping[Pair, Instance], method: str = "best", **options: Any) -> "MultiResult":
    """Solve the instances of one set of graphs together, on as many threads as torch has.

    Args:
        instances: of pairs (p, q), p < q; the matchings of pairs that are missing follow from the others.
        method: "best", "dual" (the paper's) or "sync" (pairs first, then synchronised, whatever that costs).
        options: of `bbgm_solver.solve_multi`.

    Raises:
        ValueError: costs that are not finite, or what `bbgm_solver.solve_multi` refuses.
    """
    import bbgm_solver

    problems = {pair: x.problem() for pair, x in instances.items()}
    return bbgm_solver.solve_multi(problems, method, **{"threads": torch.get_num_threads(), **options})


def best(effort: str) -> JointSolver:
    """The joint solver with the lowest costs."""
    return lambda instances: solve_jointly(instances, "best", effort=effort).matchings


def sync(effort: str) -> JointSolver:
    """Pairs first, then their permutations are synchronised, which does not look at the costs."""
    return lambda instances: solve_jointly(instances, "sync", effort=effort).matchings


def dual(effort: str) -> JointSolver:
    """The paper's solver (Sec. 3.4): dual block coordinate ascent over all pairs, tied by cycle consistency."""
    return lambda instances: solve_jointly(instances, "dual", effort=effort).matchings


def make_joint_solver(name: str, effort: str = "default") -> "TimedJointSolver":
    """The joint solver that a configuration names.

    Args:
        effort: "fast", "default" or "thorough".

    Raises:
        ValueError: no such solver.
    """
    return TimedJointSolver(JOINT_SOLVERS[name](effort))


class TimedJointSolver:
    """A joint solver that knows how long it has worked."""

    def __init__(self, solver: JointSolver) -> None:
        self.solver, self.seconds = solver, 0.0

    def __call__(self, instances: Mapping[Pair, Instance]) -> Mapping[Pair, np.ndarray]:
        """Solve, and count."""
        start = perf_counter()
        matchings = self.solver(instances)
        self.seconds += perf_counter() - start
        return matchings
