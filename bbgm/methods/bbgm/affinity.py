"""Similarities that define the combinatorial instance (paper Sec. 3.5, Eq. (affinity)).

    sim_ij = softplus(sum_k x_ik a_k y_jk) - 1/2

`GlobalAffinity` computes the coefficients a from the global features g of both images, a = tanh(W g + b);
`FixedAffinity`, the ablation, learns one vector a. tanh, softplus and 1/2 are the authors' code; the paper speaks of a
"one-layer NN".
Similarities lie in (-1/2, inf). A negative one, from an inner product below -0.43, makes it pay not to match.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Affinity(nn.Module):
    """Base of the affinities: a subclass says what the coefficients are."""

    def coefficients(self, g: Tensor) -> Tensor:
        """Coefficients a (B, C) for global features g (B, Cg)."""
        raise NotImplementedError

    def forward(
        self, x: Tensor, y: Tensor, g: Tensor, incidence1: Tensor | None = None, incidence2: Tensor | None = None
    ) -> Tensor:
        """Similarities of all nodes, or edges, of a source and a target.

        An edge's feature is the difference of its ends' features, so those of all edges are D X with the incidence
        matrix D (+1 at the source, -1 at the target). As (D1 X) diag(a) (D2 Y)^T = D1 (X diag(a) Y^T) D2^T, the
        products of length C are taken for n1 n2 pairs of nodes, not for the many more E1 E2 pairs of edges.

        Args:
            x, y: node features (B, n1, C) and (B, n2, C).
            g: global features (B, Cg).
            incidence1, incidence2: (B, E1, n1) and (B, E2, n2) for similarities of edges; None for those of nodes.

        Returns:
            (B, n1, n2), or (B, E1, E2).
        """
        inner = torch.bmm(x * self.coefficients(g)[:, None], y.transpose(1, 2))
        if incidence1 is not None and incidence2 is not None:
            inner = torch.bmm(torch.bmm(incidence1, inner), incidence2.transpose(1, 2))
        return F.softplus(inner) - 0.5


class GlobalAffinity(Affinity):
    """Coefficients gated by the global features: what the paper proposes.

    Args:
        channels: C, of the nodes.
        global_channels: Cg, of the source's and the target's global features together.
    """

    def __init__(self, channels: int, global_channels: int) -> None:
        super().__init__()
        self.layer = nn.Linear(global_channels, channels)

    def coefficients(self, g: Tensor) -> Tensor:
        """See `Affinity.coefficients`."""
        return torch.tanh(self.layer(g))


class FixedAffinity(Affinity):
    """One learned vector for all pairs: the ablation 'fixed affinity'. It starts at the same size as a gate.

    Args:
        channels: C, of the nodes.
        global_channels: not used; as in `GlobalAffinity`.
    """

    def __init__(self, channels: int, global_channels: int) -> None:
        super().__init__()
        bound = global_channels**-0.5
        self.vector = nn.Parameter(torch.empty(channels).uniform_(-bound, bound))

    def coefficients(self, g: Tensor) -> Tensor:
        """See `Affinity.coefficients`."""
        return self.vector.expand(len(g), -1)


class CosineAffinity(Affinity):
    """The cosine of the features' angle, minus a learned number b: COMMON's similarity; global features are not used.

    For edges it is the angle of the differences of their ends' features.

    Args:
        channels: C, of the nodes.
        global_channels: not used; as in `GlobalAffinity`.
    """

    def __init__(self, channels: int, global_channels: int) -> None:
        super().__init__()
        self.channels, self.offset = channels, nn.Parameter(torch.tensor(0.5))

    def coefficients(self, g: Tensor) -> Tensor:
        """Ones: all channels count the same."""
        return self.offset.new_ones(len(g), self.channels)

    def forward(
        self, x: Tensor, y: Tensor, g: Tensor, incidence1: Tensor | None = None, incidence2: Tensor | None = None
    ) -> Tensor:
        """See `Affinity.forward`."""
        if incidence1 is not None and incidence2 is not None:
            x, y = torch.bmm(incidence1, x), torch.bmm(incidence2, y)
        return torch.bmm(F.normalize(x, dim=2), F.normalize(y, dim=2).transpose(1, 2)) - self.offset


def global_features(source: Tensor, target: Tensor) -> Tensor:
    """g of each pair: both images' global vectors (B, C), joined and then normalised: (B, 2 C).

    The paper normalises each; this is the authors' code.
    """
    return F.normalize(torch.cat([source, target], dim=1), dim=1)
