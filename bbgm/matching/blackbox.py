"""The solver as a differentiable layer (paper Alg. 1, after Vlastelica et al., ICLR 2020), and its loss.

Forward, the solver runs once: y(w) = (v, e) minimises w . y over the matchings y, where w = (c^v, c^e). Backward, it
runs once more on w_lambda = w + lambda dL/dy, and the gradient that w gets is (y(w_lambda) - y(w)) / lambda
(Eq. (GM-grad); Eq. (BB-grad) has dL/dy on its left, dL/dw is meant). That is the gradient of `interpolated_loss`.

1. lambda acts on the gradient of the loss as it comes in. With a loss that is a mean over a batch of B pairs, the costs
   of a pair change by lambda / B: the paper's lambda = 80 with 8 pairs means +-10. Another B means another effect.
2. The vertex costs and the edge costs both get a gradient, also where the loss depends on v alone.
3. An instance whose gradient is zero is not solved again: w_lambda = w, so its gradient is exactly zero.
4. All instances of a batch go to the CPU together, and to the solver together. Costs are float64 there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bbgm.matching.instance import Instance, Solution
from bbgm.matching.solvers import Solver, make_solver


class _Layer(torch.autograd.Function):
    """Alg. 1 on the costs of a batch, laid out in one vector: all unary costs, then all quadratic costs."""

    @staticmethod
    def forward(ctx: Any, costs: Tensor, layout: "_Layout", lambda_: float, solver: Solver) -> Tensor:
        instances = layout.instances(costs)
        solutions = [x.solution(a) for x, a in zip(instances, solver(instances), strict=True)]
        ctx.instances, ctx.solutions, ctx.layout = instances, solutions, layout
        ctx.lambda_, ctx.solver = lambda_, solver
        return layout.join(solutions, costs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        gradients = ctx.layout.split(gradient)
        instances: list[Instance] = ctx.instances
        changed = [b for b, (dv, de) in enumerate(gradients) if dv.any() or de.any()]
        if changed and ctx.layout.joint:
            changed = list(range(len(instances)))
        perturbed = [instances[b].plus(gradients[b], ctx.lambda_) for b in changed]
        result = [(np.zeros_like(v), np.zeros_like(e)) for v, e in ctx.solutions]
        for b, instance, assignment in zip(changed, perturbed, ctx.solver(perturbed), strict=True):
            (v, e), (v_lambda, e_lambda) = ctx.solutions[b], instance.solution(assignment)
            result[b] = (v_lambda - v) / ctx.lambda_, (e_lambda - e) / ctx.lambda_
        return ctx.layout.join(result, gradient), None, None, None


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where the arrays of a batch lie in one vector; `joint` where its instances are one problem, solved as a whole."""

    shapes: list[tuple[tuple[int, int], tuple[int, int]]]
    edges: list[tuple[np.ndarray, np.ndarray]]
    joint: bool

    def split(self, vector: Tensor) -> list[Solution]:
        """The parts of a vector, as float64 arrays; one transfer."""
        values = vector.detach().to("cpu", torch.float64).numpy()
        shapes = [unary for unary, _ in self.shapes] + [quadratic for _, quadratic in self.shapes]
        parts = np.split(values, np.cumsum([rows * columns for rows, columns in shapes])[:-1])
        arrays = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        return list(zip(arrays[: len(self.shapes)], arrays[len(self.shapes) :], strict=True))

    def join(self, solutions: list[Solution], like: Tensor) -> Tensor:
        """The vector of these parts, with the type and the device of another."""
        parts = [v.ravel() for v, _ in solutions] + [e.ravel() for _, e in solutions]
        return torch.from_numpy(np.concatenate(parts)).to(like.device, like.dtype)

    def instances(self, costs: Tensor) -> list[Instance]:
        """The problems that a vector of costs makes."""
        return [
            Instance(unary=u, edges1=edges1, edges2=edges2, quadratic=q)
            for (u, q), (edges1, edges2) in zip(self.split(costs), self.edges, strict=True)
        ]


def match_graphs(
    instances: Sequence[Instance[Tensor]], *, lambda_: float, method: str | Solver = "best"
) -> tuple[list[Tensor], list[Tensor]]:
    """Match a batch of graph pairs; differentiable in the costs (Alg. 1).

    Args:
        instances: of B pairs; negative costs attract.
        lambda_: range of the interpolation, on the scale of costs / gradient.
        method: a name in `bbgm.config.SOLVERS`, or a solver.

    Returns:
        v (n1, n2) and e (E1, E2) of each pair, 0 or 1, in the type of the costs.

    Raises:
        ValueError: no pair, no such method, lambda not positive, or costs that the solver refuses.
    """
    if not instances:
        raise ValueError("there is no instance to match: give one at least")
    return apply_layer(instances, lambda_, make_solver(method) if isinstance(method, str) else method)


def apply_layer(
    instances: Sequence[Instance[Tensor]], lambda_: float, solver: Solver, *, joint: bool = False
) -> tuple[list[Tensor], list[Tensor]]:
    """Alg. 1 with any solver; `match_graphs` and `bbgm.matching.blackbox_multi.match_multi` check and call it.

    Args:
        joint: the instances are one problem: where one of them gets a gradient, all are solved again.

    Raises:
        ValueError: lambda is not positive, or the solver refuses the costs.
    """
    if not lambda_ > 0:
        raise ValueError(f"lambda must be positive, not {lambda_}")
    shapes = [((x.unary.shape[0], x.unary.shape[1]), (len(x.edges1), len(x.edges2))) for x in instances]
    layout = _Layout(shapes, [(x.edges1, x.edges2) for x in instances], joint)
    costs = [x.unary for x in instances] + [x.quadratic for x in instances]
    result: Tensor = _Layer.apply(torch.cat([part.reshape(-1) for part in costs]), layout, lambda_, solver)
    pieces = torch.split(result, [part.numel() for part in costs])
    indicators = [piece.view_as(part) for piece, part in zip(pieces, costs, strict=True)]
    return indicators[: len(instances)], indicators[len(instances) :]


def interpolated_loss(
    instances: Sequence[Instance],
    gradients: Sequence[Solution],
    constant: float | Sequence[float],
    lambda_: float,
    solver: str | Solver = "best",
) -> np.ndarray:
    """f_lambda(w) of each instance, for a loss L(y) = constant + gradient . y, as the Hamming distance is.

    f_lambda(w) = L(y_lambda) - (w . y - w . y_lambda) / lambda,   y = argmin w . y,   y_lambda = argmin w_lambda . y
                = constant + (min_y w_lambda . y - min_y w . y) / lambda,   w_lambda = w + lambda gradient.

    The last form does not depend on which minimum a solver takes. It is continuous and piecewise linear in w, tends to
    L(y(w)) for lambda -> 0, and its gradient, where it has one, is what `match_graphs` returns.

    Args:
        instances: the problems, with costs w.
        gradients: dL/dv (n1, n2) and dL/de (E1, E2) of each.
        constant: L at y = 0, of all or of each.
        lambda_: range of the interpolation.
        solver: a name in `bbgm.config.SOLVERS`, or a solver.

    Returns:
        (B,) float64.
    """
    solve = make_solver(solver) if isinstance(solver, str) else solver
    perturbed = [x.plus(gradient, lambda_) for x, gradient in zip(instances, gradients, strict=True)]
    both = [*instances, *perturbed]
    costs = np.array([x.cost(x.solution(a)) for x, a in zip(both, solve(both), strict=True)])
    smallest, smallest_perturbed = costs[: len(instances)], costs[len(instances) :]
    loss: np.ndarray = np.asarray(constant) + (smallest_perturbed - smallest) / lambda_
    return loss


def hamming_gradient(truth: np.ndarray, instance: Instance, batch: int = 1) -> tuple[Solution, float]:
    """dL/dy and L(0) of the Hamming distance to v* (n1, n2), over a batch size: what `interpolated_loss` takes."""
    true = truth.astype(np.float64)
    return ((1 - 2 * true) / batch, np.zeros_like(instance.quadratic)), float(true.sum()) / batch
