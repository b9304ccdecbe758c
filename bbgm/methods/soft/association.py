"""Affinities of pairs of matches, which GMN and NGM share (Zanfir and Sminchisescu, CVPR 2018, Sec. 3).

A visual feature is [U ; F]: the first half of the backbone's channels (relu4_2 of VGG16) compares keypoints, the second
(relu5_1) compares edges. Edge i -> j of one graph has the attributes [F_i ; F_j]. With n1 and n2 keypoints, E1 and E2
directed edges,

    M_p = U1 U2^T                           (n1, n2)     a keypoint with a keypoint
    M_e = [F_i ; F_j] Lambda [F_a ; F_b]^T  (E1, E2)     an edge i -> j with an edge a -> b

    Lambda = [[Lambda_1, Lambda_2], [Lambda_2, Lambda_1]],   Lambda_k = ReLU(L_k + L_k^T)

and the affinity matrix of all pairs of matches, symmetric and not negative, is

    K = diag(vec M_p) + (G2 x G1) diag(vec M_e) (H2 x H1)^T,   so K[(i, a), (j, b)] = M_e of i -> j and a -> b,

where x is the Kronecker product, and G and H (E, n) say where edges start and end. K has (n1 n2)^2 entries and is
never formed, and M_e only where it is asked for: since the attributes are those of the ends,

    M_e(i -> j, a -> b) = S_ia + S_jb + C_ib + C_ja,   S = F1 Lambda_1 F2^T,   C = F1 Lambda_2 F2^T   (n1, n2)

With adjacency matrices A = G^T H the product with a V (n1, n2), without the diagonal, is then

    S * (A1 V A2^T) + A1 (S * V) A2^T + (C * (A1 V)) A2^T + A1 (C * (V A2^T)),   * entry by entry.

The start is Lambda_k = I + noise for both k, as in the public code: an edge resembles its own reverse, too.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bbgm.methods.batching import incidence_matrices
from bbgm.methods.soft.batch import GraphBatch, PairBatch


def incidence(graph: GraphBatch) -> tuple[Tensor, Tensor]:
    """G and H: 1 at the start, and at the end, of each edge, (P, E, n) each; padding has none."""
    signed = incidence_matrices(list(graph.graphs)).to(graph.x)
    return (signed > 0).to(graph.x), (signed < 0).to(graph.x)


def on_sources(matrix: Tensor, v: Tensor) -> Tensor:
    """sum_j matrix_ij v_ja...: a matrix (P, m, n1) times values (P, n1, n2) or (P, n1, n2, channels)."""
    return torch.einsum("pij,pja...->pia...", matrix, v)


def on_targets(matrix: Tensor, v: Tensor) -> Tensor:
    """sum_b matrix_ab v_ib...: a matrix (P, m, n2) times values (P, n1, n2) or (P, n1, n2, channels)."""
    return torch.einsum("pab,pib...->pia...", matrix, v)


@dataclass(frozen=True, eq=False)
class Association:
    """K of P pairs, in factors; see the module. All is 0 where a graph is padded.

    Attributes:
        vertices: M_p, (P, n1, n2).
        same, crossed: S and C, (P, n1, n2).
        incidence1, incidence2: G and H of both graphs.
    """

    vertices: Tensor
    same: Tensor
    crossed: Tensor
    incidence1: tuple[Tensor, Tensor]
    incidence2: tuple[Tensor, Tensor]
    adjacency1: Tensor
    adjacency2: Tensor

    def edge_product(self, v: Tensor) -> Tensor:
        """K without its diagonal times v, of shape (P, n1, n2), or of that with channels last."""
        same, crossed = (part.view(*part.shape, *(1,) * (v.ndim - 3)) for part in (self.same, self.crossed))
        by_source, by_target = on_sources(self.adjacency1, v), on_targets(self.adjacency2, v)
        inner = on_sources(self.adjacency1, same * v) + crossed * by_source
        return (
            same * on_targets(self.adjacency2, by_source)
            + on_targets(self.adjacency2, inner)
            + on_sources(self.adjacency1, crossed * by_target)
        )

    def edges(self) -> Tensor:
        """M_e, (P, E1, E2)."""
        (starts1, ends1), (starts2, ends2) = self.incidence1, self.incidence2
        from_starts = starts1 @ self.same @ starts2.mT + starts1 @ self.crossed @ ends2.mT
        return from_starts + ends1 @ self.same @ ends2.mT + ends1 @ self.crossed @ starts2.mT

    def neighbours(self) -> Tensor:
        """(P, n1, n2): how many matches each match forms a pair of edges with."""
        return self.adjacency1.sum(dim=2)[:, :, None] * self.adjacency2.sum(dim=2)[:, None]


class AssociationLayer(nn.Module):
    """Makes the `Association` of pairs; its parameters are L_1 and L_2.

    Args:
        channels: C, of the features [U ; F]; even, or F has one more. L_k starts as I / 2 + U(+-1 / sqrt(C)), so that
            Lambda_k has a diagonal of about 1, and half of its other entries are 0.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.split = channels // 2
        width = channels - self.split
        bound = channels**-0.5
        start = [nn.init.uniform_(torch.empty(width, width), -bound, bound) + torch.eye(width) / 2 for _ in range(2)]
        self.same, self.crossed = (nn.Parameter(one) for one in start)

    def forward(self, batch: PairBatch) -> Association:
        """K of each pair."""
        (u1, f1), (u2, f2) = (
            (side.x[:, :, : self.split], side.x[:, :, self.split :]) for side in (batch.source, batch.target)
        )
        same, crossed = (f1 @ F.relu(one + one.T) @ f2.mT for one in (self.same, self.crossed))
        (starts1, ends1), (starts2, ends2) = incidence(batch.source), incidence(batch.target)
        return Association(
            vertices=u1 @ u2.mT,
            same=same,
            crossed=crossed,
            incidence1=(starts1, ends1),
            incidence2=(starts2, ends2),
            adjacency1=starts1.mT @ ends1,
            adjacency2=starts2.mT @ ends2,
        )
