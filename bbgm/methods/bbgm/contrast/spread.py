"""Hyperspherical spread: keypoints of one image should not look alike (NMT, 2024)."""

import torch
from torch import Tensor

from bbgm.methods.bbgm.contrast.batch import Batch, cosines


def spread(batch: Batch) -> Tensor:
    """Largest cosine of each keypoint's features to another keypoint of its image and pair: mean, sources + targets.

    Keypoints that are alone in their image do not count.
    """
    return _nearest(batch.x, batch.pair1) + _nearest(batch.y, batch.pair2)


def _nearest(features: Tensor, pair: Tensor) -> Tensor:
    others = (pair[:, None] == pair) & ~torch.eye(len(pair), dtype=torch.bool, device=pair.device)
    some = others.any(dim=1)
    if not some.any():
        return 0 * features.sum()
    return cosines(features, features)[some].masked_fill(~others[some], -torch.inf).amax(dim=1).mean()
