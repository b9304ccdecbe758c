"""Sinkhorn normalisation instead of the solver: the ablation 'Sinkhorn' (paper, supplement 'Ablation Studies').

A differentiable relaxation of the linear assignment problem on the unary costs c: the matrix P with

    P_ij = exp(u_i + v_j - c_ij / tau),    sums of rows and columns = 1

is found by normalising rows and columns in turn (Sinkhorn 1967). It minimises sum c P - tau H(P), so as tau -> 0 it
tends to the cheapest assignment. Quadratic costs have no place in it: the ablation has unary costs only. Features,
their refinement and affinities stay as they are, since the paper replaces the solver alone.

What the paper leaves open, and how it is decided here (all are settings of `SinkhornConfig`):

1. Graphs of different sizes: the smaller side's sums are 1, the larger side's at most 1. What a sum lacks is
   a slack t_j = exp(v_j), as if the smaller side had dummy nodes, equal for all.
2. Keypoints without a partner, ``partial``: rows and columns both have slacks, s_i = exp(u_i) and t_j = exp(v_j), which
   stand for a dummy column and row of cost 0 and are not normalised themselves. The limit tau -> 0 is then exactly the
   problem that the solver solves: matches with a positive cost are not made.
3. epsilon, "intended to prevent division by zero", which the paper raised from 1e-8 to 1e-4: here it is added to every
   entry of exp(-c / tau), relative to the pair's largest. What costs tau ln(1 / epsilon) or more above the cheapest
   then counts alike and gets no gradient. There is no division to protect: the larger value has no advantage.
4. The normalisation is done with logarithms, so nothing overflows at small tau. With ``domain="plain"`` it is done with
   the numbers themselves, as the paper's words suggest, in the precision of the costs: exp(-c / tau), relative to the
   pair's largest or to 1, plus epsilon, is divided by its sums. Small entries then vanish in rounding, and what has
   vanished gets no gradient; epsilon keeps every entry, and every sum, above 0.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Domain = Literal["log", "plain"]


def sinkhorn(
    costs: Sequence[Tensor],
    *,
    temperature: float,
    iterations: int,
    epsilon: float = 0.0,
    partial: bool = False,
    domain: Domain = "log",
) -> list[Tensor]:
    """Doubly stochastic matrices of a batch of pairs, as logarithms; differentiable in the costs.

    Args:
        costs: c^v of each pair, (n1, n2), minimised.
        temperature: tau, in units of the costs.
        iterations: of one normalisation of rows and one of columns.
        epsilon: see the module's third point; 0: none.
        partial: any node may stay unmatched, at cost 0; False: every node of the smaller side is matched.
        domain: normalise logarithms, or the plain numbers; see the module's fourth point.

    Returns:
        log P (n1, n2) of each pair; with plain numbers an entry of 0 counts as the smallest positive one.

    Raises:
        ValueError: no pair, or one without nodes; a temperature that is not positive, or a negative epsilon; costs that
            overflow, or vanish from a whole row or column, at this temperature.
    """
    if not costs or not all(c.numel() for c in costs):
        raise ValueError(f"need pairs with nodes on both sides, not costs of shapes {[tuple(c.shape) for c in costs]}")
    if not temperature > 0 or not epsilon >= 0:
        raise ValueError(f"temperature must be positive and epsilon not negative, not {temperature} and {epsilon}")
    sizes1, sizes2 = (torch.tensor([c.shape[k] for c in costs], device=costs[0].device) for k in (0, 1))
    n1, n2 = int(sizes1.max()), int(sizes2.max())
    scores = torch.stack([F.pad(-c / temperature, (0, n2 - c.shape[1], 0, n1 - c.shape[0])) for c in costs])
    real1 = torch.arange(n1, device=scores.device) < sizes1[:, None]  # (B, n1)
    real2 = torch.arange(n2, device=scores.device) < sizes2[:, None]
    filling = ~(real1[:, :, None] & real2[:, None])
    scores = scores.masked_fill(filling, -torch.inf)
    if epsilon and domain == "log":
        floor = scores.amax(dim=(1, 2), keepdim=True) + math.log(epsilon)
        scores = torch.logaddexp(scores, floor).masked_fill(filling, -torch.inf)
    # A slack is a further entry of a row or column: its logarithm is 0 in units of the multiplier, or -inf for none.
    # Padding has one as well, so that no sum is empty.
    larger1, larger2 = (sizes1 > sizes2)[:, None], (sizes2 > sizes1)[:, None]
    slack1, slack2 = (~real1 | larger1 | partial).to(scores), (~real2 | larger2 | partial).to(scores)
    if domain == "plain":
        shift = scores.detach().amax(dim=(1, 2), keepdim=True).clamp(min=0)  # so that no entry is above 1
        matrix = ((scores - shift).exp() + epsilon).masked_fill(filling, 0)
        # The rows' slacks are scaled alike; once the rows are normalised, the scale has cancelled. Padding keeps its 1.
        slack1 = slack1 * shift.flatten(1).neg().exp().where(real1, 1)
        log_p = _normalise(matrix, slack1, slack2, iterations)
    else:
        log_p = _normalise_logarithms(scores, slack1.log(), slack2.log(), iterations)
    if log_p.isnan().any() and all(c.isfinite().all() for c in costs):
        raise ValueError(
            f"costs from {min(float(c.min()) for c in costs):.3g} to {max(float(c.max()) for c in costs):.3g} are too "
            f"large for the Sinkhorn normalisation at temperature {temperature}: raise the temperature"
            + (", or set solver.sinkhorn.domain: log" if domain == "plain" else "")
            + "; or the network has diverged: lower optimiser.learning_rate"
        )
    return [one[:rows, :columns] for one, rows, columns in zip(log_p, sizes1.tolist(), sizes2.tolist(), strict=True)]


def _normalise_logarithms(scores: Tensor, slack1: Tensor, slack2: Tensor, iterations: int) -> Tensor:
    u, v = torch.zeros_like(slack1), torch.zeros_like(slack2)
    for _ in range(iterations):
        u = -torch.cat([scores + v[:, None], slack1[:, :, None]], dim=2).logsumexp(dim=2)
        v = -torch.cat([scores + u[:, :, None], slack2[:, None]], dim=1).logsumexp(dim=1)
    return scores + u[:, :, None] + v[:, None]


def _normalise(matrix: Tensor, slack1: Tensor, slack2: Tensor, iterations: int) -> Tensor:
    for _ in range(iterations):
        sums = matrix.sum(dim=2) + slack1
        matrix, slack1 = matrix / sums[:, :, None], slack1 / sums
        sums = matrix.sum(dim=1) + slack2
        matrix, slack2 = matrix / sums[:, None], slack2 / sums
    return matrix.clamp(min=torch.finfo(matrix.dtype).tiny).log()
