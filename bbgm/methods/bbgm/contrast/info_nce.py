"""InfoNCE: each keypoint chooses its partner among all keypoints of a batch (COMMON, Lin et al., ICCV 2023).

    L = 1/2 (rows + columns),   rows = mean_k -sum_j t_kj log softmax_j(e^l S_kj)

S are similarities and l is learned. The target t is 1 at the partner. With a teacher it is
alpha softmax(e^l S^m) + (1 - alpha) t, where S^m are the teacher's similarities.

1. In COMMON a keypoint is told from those of all other pairs, also from the same keypoint of the same class;
   ``same: masked`` leaves those out, ``same: positive`` shares the target equally among them and the partner.
2. Keypoints without a partner are among those that are not to be chosen. COMMON trains on common keypoints only.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from bbgm.methods.bbgm.contrast.batch import Batch


def info_nce(batch: Batch) -> Tensor:
    """Mean over the true correspondences, both ways; 0 without any."""
    return _both_ways(batch, batch.settings.negatives)


def pair_nce(batch: Batch) -> Tensor:
    """The same with ``negatives: pair``: a keypoint is told from those of its own pair alone."""
    return _both_ways(batch, "pair")


def _both_ways(batch: Batch, negatives: str) -> Tensor:
    if not len(batch.true1):
        return 0 * (batch.rows.sum() + batch.columns.sum())
    wanted, allowed = _choices(batch, negatives)
    teacher = batch.teacher
    rows = _one_way(batch, batch.rows, teacher.rows if teacher else None, wanted, allowed, batch.true1)
    columns = _one_way(batch, batch.columns.T, teacher.columns.T if teacher else None, wanted.T, allowed.T, batch.true2)
    return (rows + columns) / 2


def _choices(batch: Batch, negatives: str) -> tuple[Tensor, Tensor]:
    """What is a right choice, and what can be chosen at all: (N1, N2) bool each."""
    own = batch.pair1[:, None] == batch.pair2
    same = (batch.label1[:, None] == batch.label2) & ~own
    wanted = torch.zeros_like(own)
    wanted[batch.true1, batch.true2] = True
    allowed = own.clone() if negatives == "pair" else torch.ones_like(own)
    if batch.settings.same == "masked":
        allowed &= ~same
    if batch.settings.same == "positive":
        wanted |= same & allowed
    return wanted, allowed


def _one_way(
    batch: Batch, similarity: Tensor, of_teacher: Tensor | None, wanted: Tensor, allowed: Tensor, chosen: Tensor
) -> Tensor:
    """Mean cross entropy of the rows ``chosen`` (K,) of matrices (N, M)."""
    forbidden, target = ~allowed[chosen], wanted[chosen].to(similarity.dtype)
    target = target / target.sum(dim=1, keepdim=True)
    if of_teacher is not None:
        logits = batch.scale.detach() * of_teacher[chosen]
        soft = F.softmax(logits.masked_fill(forbidden, -torch.inf), dim=1)
        target = batch.alpha * soft + (1 - batch.alpha) * target
    logits = (batch.scale * similarity[chosen]).masked_fill(forbidden, -torch.inf)
    log_share = F.log_softmax(logits, dim=1).masked_fill(forbidden, 0)
    return -(target * log_share).sum(dim=1).mean()
