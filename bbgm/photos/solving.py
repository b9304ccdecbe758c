"""What finds the matching of two pictures: the solver, or what it is compared with.

"unary" and "sinkhorn" do not see the edge costs, as the rows *Unary Costs* and *Sinkhorn* of the ablations. Objective,
bound and proof are those of the whole problem for all of them, so they show what ignoring the edges costs.
"""

from dataclasses import dataclass

import bbgm_solver
import numpy as np
import torch

from bbgm.matching.instance import Instance
from bbgm.matching.linear import linear_assignment
from bbgm.methods.soft.sinkhorn import sinkhorn

WITH_EDGES = ("best", "dual", "exact")
WITHOUT_EDGES = ("unary", "sinkhorn")
METHODS = WITH_EDGES + WITHOUT_EDGES
TEMPERATURE, ITERATIONS = 0.1, 20
"""Of Sinkhorn; the temperature in standard deviations of the vertex costs, whose scale differs from model to model."""
TOLERANCE = 1e-9
"""Objectives that differ by less, relative to their size, are equal."""


@dataclass(frozen=True, eq=False)
class Found:
    """A matching and what is known of it.

    Attributes:
        assignment: (n1,), -1 = unmatched.
        objective: its cost, with edges.
        lower_bound: no matching that is allowed costs less.
        optimal: whether the bound meets the objective.
    """

    assignment: np.ndarray
    objective: float
    lower_bound: float
    optimal: bool


def check_method(method: str) -> None:
    """Raises: ValueError: no such method."""
    if method not in METHODS:
        raise ValueError(f"solver {method!r} is not one of {list(METHODS)}")


def find_matching(instance: Instance, method: str, full: bool) -> Found:
    """Match an instance.

    Args:
        method: one of `METHODS`.
        full: match all keypoints of the smaller set.

    Raises:
        ValueError: no such method; costs that are not finite.
    """
    check_method(method)
    problem = instance.problem()
    result = bbgm_solver.solve(problem, method if method in WITH_EDGES else "best", full=full)
    if method in WITH_EDGES:
        return Found(result.assignment, result.objective, result.lower_bound, result.optimal)
    if method == "unary":
        assignment = bbgm_solver.solve(Instance.linear(instance.unary).problem(), full=full).assignment
    else:
        assignment = _by_sinkhorn(instance.unary, full)
    objective = bbgm_solver.evaluate(problem, assignment)
    cheapest = objective - result.objective <= TOLERANCE * max(1.0, abs(objective))
    return Found(assignment, objective, result.lower_bound, bool(result.optimal and cheapest))


def _by_sinkhorn(unary: np.ndarray, full: bool) -> np.ndarray:
    """The assignment with the largest sum of P, as methods without a solver take it.

    Where keypoints may stay unmatched, of these only the matches with P above 1/2.
    """
    temperature = TEMPERATURE * float(unary.std()) or 1.0
    (log_p,) = sinkhorn([torch.from_numpy(unary)], temperature=temperature, iterations=ITERATIONS, partial=not full)
    soft = log_p.exp().numpy()
    assignment = linear_assignment(soft)
    if not full:
        assignment[soft[np.arange(len(soft)), assignment] <= 0.5] = -1
    return assignment
