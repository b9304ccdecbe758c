"""What estimators do on one instance: the gradient that its costs would get, to look at."""

import numpy as np
import torch
from torch import Tensor

from bbgm.matching.blackbox import hamming_gradient, match_graphs
from bbgm.matching.gradients.batch import GradientOptions
from bbgm.matching.instance import Instance, Solution
from bbgm.matching.solvers import Solver


def hamming_estimate(
    instance: Instance,
    truth: np.ndarray,
    gradient: str,
    options: GradientOptions,
    batch: int = 8,
    method: str | Solver = "best",
) -> Solution:
    """dL/dw of both kinds of costs, for the Hamming distance to v* as the loss of a batch.

    Args:
        truth: (n1, n2), the true v*.
        gradient: a name in `bbgm.config.GRADIENTS`, or "hinge" or "fenchel_young" for the losses of these names, whose
            gradients are y* - y and y* - mean y, over the batch.
        options: of the estimator; with a seed the result is always the same.
        batch: number of pairs that the loss is a mean over.
        method: of `match_graphs`.
    """
    unary, quadratic = (torch.tensor(x, dtype=torch.float64) for x in (instance.unary, instance.quadratic))
    x: Instance[Tensor] = Instance(
        unary=unary.requires_grad_(),
        edges1=instance.edges1,
        edges2=instance.edges2,
        quadratic=quadratic.requires_grad_(),
    )
    of_loss = {"hinge": "blackbox", "fenchel_young": "perturbed"}.get(gradient)
    v, e = match_graphs([x], lambda_=options.lambda_, method=method, gradient=of_loss or gradient, options=options)
    if of_loss:
        true = instance.solution(np.where(truth.any(axis=1), truth.argmax(axis=1), -1))
        return (true[0] - v[0].detach().numpy()) / batch, (true[1] - e[0].detach().numpy()) / batch
    (dv, _), _ = hamming_gradient(truth, instance, batch)
    torch.autograd.backward(v[0], torch.from_numpy(dv))
    found = (costs.grad if costs.grad is not None else torch.zeros_like(costs) for costs in (unary, quadratic))
    one, other = (part.numpy() for part in found)
    return one, other


def slopes(
    instance: Instance,
    truth: np.ndarray,
    direction: Solution,
    t: np.ndarray,
    gradient: str,
    options: GradientOptions,
) -> np.ndarray:
    """The slope of the loss along w + t d that an estimator reports at each t: (T,), its gradient times d.

    The loss is that of one pair, so lambda is as large as that of a batch over the number of its pairs.
    """
    found = (hamming_estimate(instance.plus(direction, one), truth, gradient, options, batch=1) for one in t)
    return np.array([float((dv * direction[0]).sum() + (de * direction[1]).sum()) for dv, de in found])
