"""What training differentiates: the solver (Alg. 1), or a relaxation of it (the ablation "Sinkhorn").

A layer is a function from the instances of a batch, with the margin, to the loss and the share of true matches that
were found. A further one is a function like these and one line in `bbgm.config.parts.LAYERS`.
"""

from collections.abc import Sequence

from torch import Tensor

from bbgm.matching.blackbox import match_graphs
from bbgm.matching.instance import Instance
from bbgm.matching.solvers import Solver
from bbgm.methods.bbgm.settings import SolverConfig
from bbgm.methods.losses import hamming_loss, permutation_loss
from bbgm.methods.soft.sinkhorn import sinkhorn
from bbgm.scoring.metrics import batch_accuracy


def blackbox_loss(
    instances: Sequence[Instance[Tensor]], truth: Sequence[Tensor], settings: SolverConfig, solver: Solver
) -> tuple[Tensor, float]:
    """The Hamming distance of the solver's matchings; its gradient goes through the solver (Alg. 1).

    Args:
        instances: of each pair, with the margin in their vertex costs.
        truth: v* of each pair, (n1, n2).
        settings: lambda.
        solver: of the instances.

    Returns:
        The loss, a scalar; and the share of the batch's true matches that were found, in [0, 1].
    """
    match, _ = match_graphs(instances, lambda_=settings.lambda_, method=solver)
    return hamming_loss(match, truth), batch_accuracy(match, truth)


def sinkhorn_loss(
    instances: Sequence[Instance[Tensor]], truth: Sequence[Tensor], settings: SolverConfig, solver: Solver
) -> tuple[Tensor, float]:
    """Cross entropy, or Hamming distance, of soft matchings, without the solver. See `blackbox_loss`."""
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
