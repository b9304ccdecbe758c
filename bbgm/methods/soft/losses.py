"""Losses of soft assignments, by name in a configuration.

A loss is a function from the soft matches of a batch and its pairs to a scalar. A further one is a function like these
and one line in `bbgm.config.parts.SOFT_LOSSES`. S is the soft assignment (n1, n2) of a pair, X the true one.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bbgm.data.images.keypoints import FRAME
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.matching.linear import linear_assignment
from bbgm.methods.losses import cross_entropies, true_matches

OFFSET_EPSILON = 1e-5  # keeps the square root differentiable at an offset of 0


def permutation(log_match: Sequence[Tensor], pairs: Sequence[KeypointPair]) -> Tensor:
    """Cross entropy of each entry of S (Wang et al., ICCV 2019), summed, over the batch's source keypoints.

    Args:
        log_match: log S of each pair, (n1, n2).
        pairs: the same pairs.

    Returns:
        Scalar.
    """
    entries = zip(log_match, true_matches(pairs, log_match[0]), strict=True)
    return per_source([cross_entropies(log_s, true).sum() for log_s, true in entries], pairs)


def hungarian_attention(log_match: Sequence[Tensor], pairs: Sequence[KeypointPair]) -> Tensor:
    """`permutation` of the true entries and of those that a linear assignment of S chooses (Yu et al., ICLR 2020).

    At most 2 n1 entries of a pair count: the right ones, and the wrong ones that would be chosen.
    """
    sums = []
    for log_s, true in zip(log_match, true_matches(pairs, log_match[0]), strict=True):
        chosen = torch.zeros_like(true)
        # Of a network that has diverged too: its loss is then not finite, which training reports.
        assignment = linear_assignment(log_s.detach().exp().nan_to_num().cpu().double().numpy())
        rows = np.flatnonzero(assignment >= 0)
        chosen[torch.from_numpy(rows), torch.from_numpy(assignment[rows]).long()] = True
        sums.append(cross_entropies(log_s, true)[true | chosen].sum())
    return per_source(sums, pairs)


def offset(log_match: Sequence[Tensor], pairs: Sequence[KeypointPair]) -> Tensor:
    """How far the expected targets are from the true ones (Zanfir and Sminchisescu, CVPR 2018).

        sum_i sqrt(|| (sum_j S_ij p2_j - p2_true(i)) / 256 ||^2 + 1e-5),  averaged over the pairs; p2 in px

    Raises:
        ValueError: a source keypoint has no partner.
    """
    total = log_match[0].new_zeros(())
    for log_s, pair in zip(log_match, pairs, strict=True):
        truth = pair.truth
        if (truth < 0).any():
            raise ValueError("the offset loss needs a partner of every source keypoint: use another loss or filter")
        xy = torch.from_numpy(pair.target.xy[pair.kept2]).to(log_s)
        difference = (log_s.exp() @ xy - xy[torch.from_numpy(truth).to(xy.device)]) / FRAME
        total = total + (difference.square().sum(dim=1) + OFFSET_EPSILON).sqrt().sum()
    return total / len(pairs)


def per_source(sums: Sequence[Tensor], pairs: Sequence[KeypointPair]) -> Tensor:
    """The sum of what each pair contributes, divided by the number of all their source keypoints."""
    return torch.stack(list(sums)).sum() / sum(len(pair.kept1) for pair in pairs)
