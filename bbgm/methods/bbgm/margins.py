"""Cost margins of training (paper Eq. (margin) and Sahoo et al., ICLR 2023), and costs of unit length.

A margin is a function from unary costs (n1, n2), the true v* and alpha to unary costs. `truth` is the paper's,
`bbgm.methods.losses.add_margin`: +alpha at the true matches. A further one is a function like these and one line in
`bbgm.config.parts.MARGINS`.
"""

from dataclasses import replace

import torch
from torch import Tensor

from bbgm.matching.instance import Instance


def informed_margin(unary: Tensor, truth: Tensor, alpha: float) -> Tensor:
    """+alpha/2 at the true matches, -alpha/2 at all others: wrong matches become attractive as well.

    A matching's cost plus this margin is its cost minus alpha/2 times its Hamming distance to v*, up to a constant.

    Args:
        unary: (n1, n2).
        truth: v*, of the same shape, bool or 0/1.
        alpha: in units of the costs.
    """
    return unary + alpha * (truth.to(unary.dtype) - 0.5)


def noise_margin(unary: Tensor, truth: Tensor, alpha: float) -> Tensor:
    """+alpha/2 or -alpha/2 at each entry, with equal probability, whatever v* is. See `informed_margin`.

    It is drawn from torch's CPU generator, so it is the same on every device.
    """
    signs = torch.randint(2, unary.shape, dtype=torch.int8)
    return unary + alpha * (signs.to(unary) - 0.5)


def centred(instance: Instance[Tensor]) -> Instance[Tensor]:
    """The instance with vertex costs of mean 0; the best matching with as many matches as possible stays.

    Only for these (`full: true`), because it changes what a match costs beside staying unmatched. Its gradient has mean
    0. An estimator that does not look at the solution, such as `identity`, otherwise mostly raises all costs together,
    since more entries are wrong than right.
    """
    unary = instance.unary
    return replace(instance, unary=unary - unary.mean()) if unary.numel() else instance


def normalised(instance: Instance[Tensor]) -> Instance[Tensor]:
    """The instance with costs of length 1, vertex and edge costs together; its optimum stays (Sahoo et al., ICLR 2023).

    Jointly, because otherwise the network could not say how much edges count. Its gradient has no part along the costs:
    an estimator that does not vanish at the truth, such as `identity`, cannot make them grow.
    """
    # Not below 1e-12, where the root has no finite slope.
    length = (instance.unary.square().sum() + instance.quadratic.square().sum()).clamp(min=1e-24).sqrt()
    return Instance(
        unary=instance.unary / length,
        edges1=instance.edges1,
        edges2=instance.edges2,
        quadratic=instance.quadratic / length,
    )
