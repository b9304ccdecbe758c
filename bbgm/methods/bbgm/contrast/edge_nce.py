"""InfoNCE of edges: each edge between two matched keypoints chooses its partner among the edges of the other image.

The similarities are minus the solver's edge costs, so a network that is trained without the solver learns them as well.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from bbgm.methods.bbgm.contrast.batch import Batch


def edge_nce(batch: Batch) -> Tensor:
    """Mean over the edges that correspond, both ways; 0 without any."""
    losses = []
    for edges in batch.edges:
        logits = batch.edge_scale * edges.similarity
        losses.append(F.cross_entropy(logits[edges.true1], edges.true2, reduction="none"))
        losses.append(F.cross_entropy(logits.T[edges.true2], edges.true1, reduction="none"))
    found = torch.cat(losses) if losses else batch.x.new_zeros(0)
    return found.mean() if len(found) else 0 * batch.x.sum()
