"""The solver as a differentiable layer (paper Alg. 1, after Vlastelica et al., ICLR 2020), and its loss.

Forward, the solver runs once: y(w) = (v, e) minimises w . y over the matchings y, where w = (c^v, c^e). Backward, it
runs once more on w_lambda = w + lambda dL/dy, and the gradient that w gets is (y(w_lambda) - y(w)) / lambda
(Eq. (GM-grad); Eq. (BB-grad) has dL/dy on its left, dL/dw is meant). That is the gradient of `interpolated_loss`.

1. lambda acts on the gradient of the loss as it comes in. With a loss that is a mean over a batch of B pairs, the costs
   of a pair change by lambda / B: the paper's lambda = 80 with 8 pairs means +-10. Another B means another effect.
2. The vertex costs and the edge costs both get a gradient, also where the loss depends on v alone.
3. An instance whose gradient is zero is not solved again: w_lambda = w, so its gradient is exactly zero.
4. All instances of a batch go to the CPU together, and to the solver together. Costs are float64 there.

`bbgm.matching.gradients` has other estimators of the gradient; `match_graphs(..., gradient=...)` names one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from bbgm.config import GRADIENTS
from bbgm.matching.gradients.batch import GradientOptions, ProblemBatch, as_array, joined
from bbgm.matching.gradients.interpolation import Result
from bbgm.matching.instance import Instance, Solution
from bbgm.matching.solvers import Solver, make_solver


class _Layer(torch.autograd.Function):
    """A gradient estimator on the costs of a batch, which are one vector, see `ProblemBatch`."""

    @staticmethod
    def forward(
        ctx: Any, costs: Tensor, batch: ProblemBatch, gradient: Callable[..., Result], options: GradientOptions
    ) -> Tensor:
        y, ctx.gradient = gradient(batch, as_array(costs), options)
        return torch.from_numpy(y).to(costs.device, costs.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor, None, None, None]:
        return torch.from_numpy(ctx.gradient(as_array(d))).to(d.device, d.dtype), None, None, None


class SolverLayer(nn.Module):
    """The solver as a layer of a network, with an estimator of its gradient that may learn.

    Args:
        solver: a name in `bbgm.config.SOLVERS`, or a solver.
        gradient: a name in `bbgm.config.GRADIENTS`, or an estimator (`bbgm.matching.gradients`).
        options: of the estimator.
        joint: the instances of a call are one problem: where one of them gets a gradient, all are solved again.

    Raises:
        ValueError: no such solver or gradient; the message lists all.
    """

    def __init__(
        self,
        solver: str | Solver,
        gradient: str | Callable[..., Result],
        options: GradientOptions,
        *,
        joint: bool = False,
    ) -> None:
        super().__init__()
        self.solver: Solver = make_solver(solver) if isinstance(solver, str) else solver
        part: Any = GRADIENTS[gradient] if isinstance(gradient, str) else gradient
        self.gradient: Callable[..., Result] = part() if isinstance(part, type) else part
        self.options, self.joint = options, joint

    def forward(self, instances: Sequence[Instance[Tensor]]) -> tuple[list[Tensor], list[Tensor]]:
        """See `match_graphs`."""
        batch = ProblemBatch.of(instances, self.solver, self.joint)
        return batch.tensors(_Layer.apply(joined(instances), batch, self.gradient, self.options))


def match_graphs(
    instances: Sequence[Instance[Tensor]],
    *,
    lambda_: float,
    method: str | Solver = "best",
    gradient: str | Callable[..., Result] = "blackbox",
    options: GradientOptions | None = None,
) -> tuple[list[Tensor], list[Tensor]]:
    """Match a batch of graph pairs; differentiable in the costs (Alg. 1, or another estimator of the gradient).

    Args:
        instances: of B pairs; negative costs attract.
        lambda_: range of the interpolation, on the scale of costs / gradient.
        method: a name in `bbgm.config.SOLVERS`, or a solver.
        gradient: a name in `bbgm.config.GRADIENTS`, or an estimator (`bbgm.matching.gradients`).
        options: of the estimator, besides lambda.

    Returns:
        v (n1, n2) and e (E1, E2) of each pair, in the type of the costs: 0 or 1, or means over noisy copies.

    Raises:
        ValueError: no pair, no such method or gradient, an option out of range, or costs that the solver refuses.
    """
    if not instances:
        raise ValueError("there is no instance to match: give one at least")
    chosen = replace(options or GradientOptions(), lambda_=lambda_)
    matched: tuple[list[Tensor], list[Tensor]] = SolverLayer(method, gradient, chosen)(instances)
    return matched


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
