"""Quadratic consistency: the similarities of two keypoints should be the same in both images (COMMON, ICCV 2023).

With the features a_k and b_k of the K true correspondences of a batch, S11 = cos(a, a), S22 = cos(b, b),
S12 = cos(a, b), and weights w_kl that say how sure the network is of both correspondences,

    within:  K mean_kl w_kl (S11 - S22)_kl^2,      across:  K mean_kl w_kl (S12 - S12^T)_kl^2.

1. The weights come from the teacher's S12, or without one from the network's own, as constants.
2. Weights that are all equal are 1; scaled to [0, 1] they would be 0/0.
"""

from torch import Tensor

from bbgm.methods.bbgm.contrast.batch import Batch


def within(batch: Batch) -> Tensor:
    """Of the similarities within the sources and within the targets, a scalar; 0 without a correspondence."""
    one, two, _ = batch.true_cosines
    return _weighted(batch, one - two)


def across(batch: Batch) -> Tensor:
    """Of the similarities between source and target, both ways, a scalar; 0 without a correspondence."""
    *_, between = batch.true_cosines
    return _weighted(batch, between - between.T)


def _weighted(batch: Batch, difference: Tensor) -> Tensor:
    """K mean w d^2 = sum w d^2 / K."""
    judge = (batch.teacher or batch).true_cosines[2].detach()
    return (pair_weights(judge) * difference.square()).sum() / max(len(difference), 1)


def pair_weights(between: Tensor) -> Tensor:
    """Weights w (K, K) in [0, 1] from similarities S12 (K, K): large where both keypoints stand out for each other."""
    own = between.diagonal()
    sure = (own / between.sum(dim=1).clamp(min=1e-6) + own / between.sum(dim=0).clamp(min=1e-6)) / 2
    sure = _to_unit(sure)
    return _to_unit(sure[:, None] * sure)


def _to_unit(values: Tensor) -> Tensor:
    """Shifted and scaled to [0, 1]; 1 if they are all equal."""
    if not values.numel():
        return values
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else values.new_ones(values.shape)
