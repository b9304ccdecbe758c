"""What training differentiates: the solver, a loss of its own, or a relaxation (the ablation "Sinkhorn").

A layer is a function from the instances of a batch, with the margin, to the loss and the share of true matches that
were found. A further one is a function like these and one line in `bbgm.config.parts.LAYERS`.

The losses `hinge` and `fenchel_young` are zero where the true matching is the cheapest, and convex in the costs; their
gradient needs no estimator. With vertex costs alone as the true costs of a matching, c = 1 - 2 v*, the loss SPO+ is
twice the hinge with alpha = 1/2.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from bbgm.matching.blackbox import SolverLayer
from bbgm.matching.gradients.batch import ProblemBatch, as_array, joined
from bbgm.matching.gradients.perturbation import normal_noise, scaled
from bbgm.matching.instance import Instance
from bbgm.methods.bbgm.settings import SolverConfig
from bbgm.methods.losses import hamming_loss, permutation_loss
from bbgm.methods.soft.sinkhorn import sinkhorn
from bbgm.scoring.metrics import batch_accuracy


def solver_loss(
    instances: Sequence[Instance[Tensor]], truth: Sequence[Tensor], settings: SolverConfig, layer: SolverLayer
) -> tuple[Tensor, float]:
    """The Hamming distance of the solver's matchings; the gradient goes through the solver (Alg. 1).

    Args:
        instances: of each pair, with the margin in their vertex costs.
        truth: v* of each pair, (n1, n2).
        settings: weight of the Hamming distance of the edges.
        layer: the solver and its gradient.

    Returns:
        The loss, a scalar; and the share of the batch's true matches that were found, in [0, 1].
    """
    match, edges = layer(instances)
    loss = hamming_loss(match, truth)
    if settings.hamming_edges:
        loss = loss + settings.hamming_edges * hamming_loss(edges, true_edges(instances, truth))
    return loss, batch_accuracy([one > 0.5 for one in match], truth)


def hinge_loss(
    instances: Sequence[Instance[Tensor]], truth: Sequence[Tensor], settings: SolverConfig, layer: SolverLayer
) -> tuple[Tensor, float]:
    """w . y* - min_y w . y, averaged over the batch: the structured hinge with `margin_kind: informed`, of twice its
    alpha (Tsochantaridis et al., JMLR 2005); the perceptron without a margin. See `solver_loss`.
    """
    with torch.no_grad():
        match, edges = layer(instances)
    losses = [
        ((true.to(x.unary) - v) * x.unary).sum() + ((true_e.to(x.quadratic) - e) * x.quadratic).sum()
        for x, true, true_e, v, e in zip(instances, truth, true_edges(instances, truth), match, edges, strict=True)
    ]
    # Below zero the solver has missed the minimum: the truth is cheaper, and there is nothing to learn.
    return torch.stack(losses).clamp(min=0).mean(), batch_accuracy(match, truth)


def fenchel_young_loss(
    instances: Sequence[Instance[Tensor]], truth: Sequence[Tensor], settings: SolverConfig, layer: SolverLayer
) -> tuple[Tensor, float]:
    """w . y* - E min_y (w + sigma Z) . y, averaged over the batch (Berthet et al., NeurIPS 2020). See `solver_loss`.

    The expectation is a mean over ``solver.noise.samples`` copies of the costs; its gradient is their mean solution.
    """
    batch = ProblemBatch.of(instances, layer.solver)
    w = joined(instances)
    noise = scaled(batch, normal_noise(batch, layer.options), layer.options)
    solutions = batch.solve(as_array(w) + noise)
    mean = torch.from_numpy(solutions.mean(axis=0)).to(w)
    true = torch.cat([one.reshape(-1) for one in [*truth, *true_edges(instances, truth)]]).to(w)
    constant = float((noise * solutions).sum()) / len(noise)
    match, _ = batch.tensors(mean)
    loss = ((true - mean) * w).sum() - constant
    return loss / len(instances), batch_accuracy([one > 0.5 for one in match], truth)


def sinkhorn_loss(
    instances: Sequence[Instance[Tensor]], truth: Sequence[Tensor], settings: SolverConfig, layer: SolverLayer
) -> tuple[Tensor, float]:
    """Cross entropy, or Hamming distance, of soft matchings, without the solver. See `solver_loss`."""
    options = settings.sinkhorn
    log_match = sinkhorn(
        [instance.unary for instance in instances],
        temperature=options.temperature,
        iterations=options.iterations,
        epsilon=options.epsilon,
        partial=not settings.full,
        domain=options.domain,
    )
    match = [one.exp() for one in log_match]
    loss = hamming_loss(match, truth) if options.loss == "hamming" else permutation_loss(log_match, truth)
    # Two entries of a row or column that sums to 1 cannot both be above 1/2.
    return loss, batch_accuracy([one > 0.5 for one in match], truth)


def true_edges(instances: Sequence[Instance[Tensor]], truth: Sequence[Tensor]) -> list[Tensor]:
    """e* of each pair, (E1, E2) bool: an edge is matched with one where v* matches its ends."""
    found = []
    for x, true in zip(instances, truth, strict=True):
        (i1, j1), (i2, j2) = (torch.from_numpy(edges.T).to(true.device) for edges in (x.edges1, x.edges2))
        found.append(true.bool()[i1][:, i2] & true.bool()[j1][:, j2])
    return found
