"""The layer of `bbgm.matching.blackbox` for several graphs: cycle-consistent matchings, differentiable in all costs.

The paper uses multi-graph matching after training only, and notes that Alg. 1 applies to it as well. It does: y is now
the joint solution, one (v, e) for each pair of graphs, minimising the summed costs over the matchings that are
consistent. Backward, the costs of all pairs are moved by lambda dL/dy and solved once more together, so a loss on one
pair also gives gradients to the costs of others. With two graphs this is the layer for single pairs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from bbgm.matching.blackbox import SolverLayer
from bbgm.matching.gradients.batch import GradientOptions
from bbgm.matching.gradients.interpolation import Result
from bbgm.matching.instance import Instance, Solution
from bbgm.matching.joint_solvers import JointSolver, Pair, make_joint_solver
from bbgm.matching.solvers import Solver


def match_multi(
    instances: Mapping[Pair, Instance[Tensor]],
    *,
    lambda_: float,
    method: str | JointSolver = "best",
    gradient: str | Callable[..., Result] = "blackbox",
    options: GradientOptions | None = None,
) -> tuple[dict[Pair, Tensor], dict[Pair, Tensor]]:
    """Match several graphs with cycle consistency; differentiable in the costs (Alg. 1 on the joint problem).

    Args:
        instances: of pairs (p, q), p < q; negative costs attract.
        lambda_: range of the interpolation, on the scale of costs / gradient.
        method: a name in `bbgm.config.JOINT_SOLVERS`, or a solver of all pairs together.
        gradient, options: as for `bbgm.matching.blackbox.match_graphs`.

    Returns:
        v (n_p, n_q) and e (E_p, E_q) of each pair, in the type of the costs: 0 or 1, or means over noisy copies.

    Raises:
        ValueError: no pair, no such gradient, an option out of range, or what the solver refuses.
    """
    if not instances:
        raise ValueError("there is no pair of graphs to match: give one at least")
    pairs = list(instances)
    chosen = replace(options or GradientOptions(), lambda_=lambda_)
    v, e = SolverLayer(_as_solver(pairs, method), gradient, chosen, joint=True)(list(instances.values()))
    return dict(zip(pairs, v, strict=True)), dict(zip(pairs, e, strict=True))


def joint_interpolated_loss(
    instances: Mapping[Pair, Instance],
    gradients: Mapping[Pair, Solution],
    constant: float,
    lambda_: float,
    method: str | JointSolver = "best",
) -> float:
    """f_lambda(w) of a set, as `bbgm.matching.blackbox.interpolated_loss` of a pair: y are the consistent matchings.

    Args:
        instances: of each pair, with costs w.
        gradients: dL/dv (n_p, n_q) and dL/de (E_p, E_q) of each of these pairs, for a loss that is linear in y.
        constant: L at y = 0.
        lambda_: range of the interpolation.
        method: as for `match_multi`.
    """
    solver = _as_solver(list(instances), method)
    perturbed = [x.plus(gradients[pair], lambda_) for pair, x in instances.items()]
    smallest, smallest_perturbed = (
        sum(x.cost(x.solution(a)) for x, a in zip(part, solver(part), strict=True))
        for part in (list(instances.values()), perturbed)
    )
    return constant + (smallest_perturbed - smallest) / lambda_


def _as_solver(pairs: list[Pair], method: str | JointSolver) -> Solver:
    """A solver of all pairs together, as the layer calls it: with a list."""
    joint = make_joint_solver(method) if isinstance(method, str) else method

    def solve(instances: Sequence[Instance]) -> list[np.ndarray]:
        if not instances:  # nothing has changed
            return []
        named = dict(zip(pairs, instances, strict=True))
        found = joint(named)
        return [found[pair] for pair in pairs]

    return solve
