"""InfoNCE of partial matchings: each keypoint chooses its partner in the other image, or to have none.

    L = 1/2 (rows + columns),   rows = mean_i -log softmax_j( e^l (-c_i1), ..., e^l (-c_in), 0 )_{t_i}

c are the vertex costs that the solver gets, with learned costs of unmatched keypoints if there are any, and the last
choice, whose logit is 0 because an unmatched keypoint costs the solver nothing, is to have no partner; it is the target
t_i of a keypoint without one. So the costs learn their zero, which decides what the solver leaves unmatched. SuperGlue
(Sarlin et al., CVPR 2020) has such a choice too, a "dustbin", in a relaxed matching instead of a softmax for each
keypoint.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from bbgm.methods.bbgm.contrast.batch import Batch


def partial_nce(batch: Batch) -> Tensor:
    """Mean over all keypoints of the sources, and over all of the targets."""
    rows, columns = [], []
    for costs, truth in batch.costs:
        logits, matched = -batch.scale * costs, truth >= 0
        partner = torch.full(costs.shape[1:], costs.shape[0], device=costs.device)
        partner[truth[matched]] = matched.nonzero()[:, 0]
        rows.append(_choose(logits, torch.where(matched, truth, costs.shape[1])))
        columns.append(_choose(logits.T, partner))
    return (torch.cat(rows).mean() + torch.cat(columns).mean()) / 2


def _choose(logits: Tensor, chosen: Tensor) -> Tensor:
    """Cross entropy (N,) of each row of logits (N, M) and of the choice M, to have no partner."""
    return F.cross_entropy(F.pad(logits, (0, 1)), chosen, reduction="none")
