"""Supervised contrastive loss (Khosla et al., NeurIPS 2020) over all keypoints of a batch, sources and targets alike.

    L = mean_i mean_{p in P(i)} -log( exp(e^l cos(z_i, z_p)) / sum_{a != i} exp(e^l cos(z_i, z_a)) )

z are the features of the batch's N keypoints, and P(i) are the others with the same label (`contrast.names`), in the
same pair or not, on the same side or not. So each image is compared with all 2 P - 1 others of the batch, where InfoNCE
compares it with the P images of the other side. An image that is in two pairs is there twice.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from bbgm.methods.bbgm.contrast.batch import Batch, cosines


def sup_con(batch: Batch) -> Tensor:
    """Mean over the keypoints that have another one with their label; 0 without any."""
    z, labels = torch.cat([batch.x, batch.y]), torch.cat([batch.label1, batch.label2])
    itself = torch.eye(len(z), dtype=torch.bool, device=z.device)
    positive = (labels[:, None] == labels) & ~itself
    some = positive.any(dim=1)
    if not some.any():
        return 0 * z.sum()
    logits = (batch.scale * cosines(z, z)).masked_fill(itself, -torch.inf)
    log_share = F.log_softmax(logits, dim=1).masked_fill(~positive, 0)[some]
    return -(log_share.sum(dim=1) / positive[some].sum(dim=1)).mean()
