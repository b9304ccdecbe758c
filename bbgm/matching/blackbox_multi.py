"""The layer of `bbgm.matching.blackbox` for several graphs: cycle-consistent matchings, differentiable in all costs.

The paper uses multi-graph matching after training only, and notes that Alg. 1 applies to it as well. It does: y is now
the joint solution, one (v, e) for each pair of graphs, minimising the summed costs over the matchings that are
consistent. Backward, the costs of all pairs are moved by lambda dL/dy and solved once more together, so a loss on one
pair also gives gradients to the costs of others. With two graphs this is the layer for single pairs.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from bbgm.matching.blackbox import apply_layer
from bbgm.matching.joint_solvers import JointSolver, Pair, make_joint_solver
from bbgm.matching.solvers import Instance, Solution, Solver


def match_multi(
    unary: Mapping[Pair, Tensor],
    quadratic: Mapping[Pair, Tensor],
    edges: Mapping[int, np.ndarray],
    *,
    lambda_: float,
    method: str | JointSolver = "best",
) -> tuple[dict[Pair, Tensor], dict[Pair, Tensor]]:
    """Match several graphs with cycle consistency; differentiable in the costs (Alg. 1 on the joint problem).

    Args:
        unary: c^v of each pair (p, q), p < q, (n_p, n_q); minimised.
        quadratic: c^e of each of these pairs, (E_p, E_q).
        edges: directed edges of each graph, (E, 2).
        lambda_: range of the interpolation, on the scale of costs / gradient.
        method: a name in `bbgm.config.JOINT_SOLVERS`, or a solver of all pairs together.

    Returns:
        v (n_p, n_q) and e (E_p, E_q) of each pair, 0 or 1, in the type of the costs.

    Raises:
        TypeError: one of the three is not a mapping.
        ValueError: costs that are not matrices, no pair, other keys in `quadratic` than in `unary`, no edges for a
            graph, lambda not positive, or what the solver refuses.
    """
    for name, value in (("unary", unary), ("quadratic", quadratic), ("edges", edges)):
        if not isinstance(value, Mapping):
            raise TypeError(f"{name} is a {type(value).__name__}, expected a dict by pairs or numbers of graphs")
    if not unary or unary.keys() != quadratic.keys():
        raise ValueError(
            f"unary and quadratic need the same pairs of graphs, one at least, not {list(unary)} and {list(quadratic)}"
        )
    if missing := sorted({graph for pair in unary for graph in pair} - edges.keys()):
        raise ValueError(
            f"edges has no entry for graph {missing[0]}, only {sorted(edges)}: give an array (E, 2) for each"
        )
    for pair in unary:
        for name, cost in (("unary", unary[pair]), ("quadratic", quadratic[pair])):
            if cost.ndim != 2:
                raise ValueError(f"{name}[{pair}] has shape {tuple(cost.shape)}, expected two dimensions")
    pairs = list(unary)
    ends = [(np.asarray(edges[p]), np.asarray(edges[q])) for p, q in pairs]
    solver = _as_solver(pairs, method)
    v, e = apply_layer([unary[k] for k in pairs], [quadratic[k] for k in pairs], ends, lambda_, solver, joint=True)
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
