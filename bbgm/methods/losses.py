"""Loss and cost margin of training (paper Sec. 3.3, 'Cost Margin', and Sec. 3.5)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from bbgm.data.sampling.pairs import KeypointPair


def hamming_loss(match: Sequence[Tensor] | Tensor, truth: Sequence[Tensor] | Tensor) -> Tensor:
    """Hamming distance between matchings, L(v) = v (1 - v*) + v* (1 - v) (paper Sec. 3.5).

    Args:
        match: for each pair of a batch the solver's indicator v, (n1, n2); or one padded tensor (B, n1, n2).
        truth: for each pair the true v*, of the same shape.

    Returns:
        Scalar: disagreeing entries of each pair, summed, averaged over the batch.

    Raises:
        ValueError: the numbers of pairs differ, or there is none, or two shapes differ.
    """
    if len(match) != len(truth) or len(match) == 0:
        raise ValueError(f"need as many matchings as truths, and one at least, not {len(match)} and {len(truth)}")
    total = match[0].new_zeros(())
    for v, true in zip(match, truth, strict=True):
        if v.shape != true.shape:
            raise ValueError(f"matching of shape {tuple(v.shape)} but truth of shape {tuple(true.shape)}")
        true = true.to(v.dtype)
        total = total + (v * (1 - true) + true * (1 - v)).sum()
    return total / len(match)


def permutation_loss(log_match: Sequence[Tensor], truth: Sequence[Tensor]) -> Tensor:
    """Cross entropy of soft matchings P, -v* log P - (1 - v*) log(1 - P) of each entry (Wang et al., ICCV 2019).

    Args:
        log_match: log P of each pair, (n1, n2); entries above 1 - 1e-6 count as that.
        truth: for each pair v*, of the same shape.

    Returns:
        Scalar: summed over each pair's entries, averaged over the batch.
    """
    total = log_match[0].new_zeros(())
    for log_p, true in zip(log_match, truth, strict=True):
        total = total + cross_entropies(log_p, true.bool()).sum()
    return total / len(log_match)


def cross_entropies(log_match: Tensor, truth: Tensor) -> Tensor:
    """-log P where v* is 1, -log(1 - P) where it is 0, entry by entry; entries above 1 - 1e-6 count as that.

    Args:
        log_match: log P (n1, n2).
        truth: v*, of the same shape, bool.
    """
    return -torch.where(truth, log_match, torch.log(-torch.expm1(log_match.clamp(max=-1e-6))))


def true_matches(pairs: Sequence[KeypointPair], like: Tensor) -> list[Tensor]:
    """v* of each pair, (n1, n2) bool, on the device of a tensor."""
    return [torch.from_numpy(pair.truth_matrix).to(like.device) for pair in pairs]


def add_margin(unary: Tensor, truth: Tensor, alpha: float) -> Tensor:
    """Unary costs with alpha added where the true matching v* is 1 (paper Eq. (margin)), for training only.

    Wrong matches get none: a keypoint without a partner is only asked to cost more than 0 with everyone. So a network
    that has learned little matches too many keypoints rather than too few.

    Args:
        unary: (n1, n2) or (B, n1, n2).
        truth: v*, of the same shape, bool or 0/1.
        alpha: in units of the costs.
    """
    return unary + alpha * truth.to(unary.dtype)
