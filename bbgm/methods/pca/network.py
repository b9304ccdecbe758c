"""PCA-GM, permutation loss and cross-graph affinity for graph matching (Wang, Yan, Yang; ICCV 2019), and its variants.

A layer within a graph takes the mean over a node's neighbours N(i) and adds the node's own part,

    h'_i = mean_{j in N(i)} ReLU(W_a h_j + b_a) + ReLU(W_u h_i + b_u),                 D = 2048 channels.

h^0 (n, C) are the visual features. Both graphs share all parameters:

    h^1 = layer(h^0),   S_1 = Sinkhorn(h_1^1 A_1 h_2^1T / tau)
    g_1 = W [h_1^1 ; S_1 h_2^1] + b,   g_2 = W [h_2^1 ; S_1^T h_1^1] + b                the cross-graph layer
    h^2 = layer(g),     S = Sinkhorn(h_1^2 A_2 h_2^2T / tau)

PIA-GM has no cross-graph layer: g = h^1. IPCA-GM (Wang, Yan, Yang; TPAMI 2020) has no A_1; it starts with S_1 = 0 and
repeats the last two lines, each time with the last S as S_1, but always from h^1.

The loss is the cross entropy of S (`bbgm.methods.soft.losses.permutation`); S_1 is not supervised. All keypoints of the
smaller side are matched, so without a filter every keypoint that lacks a partner costs a wrong match.

Differs from the paper, and from its authors' code where that is known:

1. Neighbours count by the mean at the receiver, as in the text; the code divides by the sender's degree.
   ``pca.neighbours`` can also add them up, with the ReLU before or after (CIE: after; measured/willow/cie-parts.csv).
2. The graph of degenerate keypoint sets is that of `bbgm.graphs.delaunay`.
3. Sinkhorn's normalisation works with logarithms; graphs of different sizes as in `bbgm.methods.soft.sinkhorn`.
4. tau is 0.005 in the text, later 0.05 in the code: ``soft.temperature``.
5. Layers have torch's default initial values.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bbgm.graphs.delaunay import Graph
from bbgm.methods.base import seeded
from bbgm.methods.pca.settings import Neighbours, PCAConfig, PCARun
from bbgm.methods.soft.batch import PairBatch
from bbgm.methods.soft.embedding import Bilinear, CrossGraph, EmbeddingMatcher, neighbour_mean, neighbour_sum


class GraphConv(nn.Module):
    """The layer within a graph.

    Args:
        channels, width: of the input and the output.
        neighbours: see `PCAConfig`.
    """

    def __init__(self, channels: int, width: int, neighbours: Neighbours) -> None:
        super().__init__()
        self.linear = nn.Linear(channels, 2 * width)  # W_a above W_u
        self.neighbours = neighbours

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """From (N, channels) to (N, width)."""
        return self.spread(self.linear(x), edge_index)

    def spread(self, products: Tensor, edge_index: Tensor) -> Tensor:
        """The rest of the layer, after the products with both matrices (N, 2 width)."""
        if self.neighbours == "relu_of_sum":
            neighbours, own = products.chunk(2, dim=1)
            return F.relu(neighbour_sum(neighbours[edge_index[0]], edge_index, len(own))) + F.relu(own)
        neighbours, own = F.relu(products).chunk(2, dim=1)
        if self.neighbours == "sum":
            return neighbour_sum(neighbours[edge_index[0]], edge_index, len(own)) + own
        return neighbour_mean(neighbours, edge_index) + own


class PCA(EmbeddingMatcher):
    """The complete method.

    Args:
        config: of the run; `seed` decides the initial parameters, torch's global generator is left as it was.
    """

    def __init__(self, config: PCARun) -> None:
        self.options: PCAConfig = config.pca
        width, cross = config.pca.width, config.pca.cross
        with seeded(config.seed):
            super().__init__(config)
            self.first, self.second = (
                GraphConv(channels, width, config.pca.neighbours) for channels in (self.backbone.node_channels, width)
            )
            self.early = Bilinear(width) if cross == "once" else None
            self.cross = CrossGraph(width) if cross != "none" else None
            self.affinity = Bilinear(width)

    def embed(self, x: Tensor, graphs: Sequence[Graph]) -> Tensor:
        """h^1 (N, D) and, after it, both parts of the cross-graph layer, at test times the second layer's matrices."""
        _, edge_index = self.edges(graphs)
        x = self.first(x, edge_index.to(x.device))
        if self.cross is None:
            return x
        return torch.cat([x, *self.cross.parts(x, None if self.training else self.second.linear)], dim=1)

    def scores(self, batch: PairBatch) -> Tensor:
        """h_1^2 A_2 h_2^2T; see `SoftMatcher.scores`."""
        width = self.options.width
        x1, x2 = (side.x[:, :, :width] for side in (batch.source, batch.target))
        if self.cross is None:
            return self._last(batch, self.second.linear(x1), self.second.linear(x2))
        (own1, other1), (own2, other2) = (side.x[:, :, width:].chunk(2, dim=2) for side in (batch.source, batch.target))
        if self.early is not None:
            soft = self.soft_matches(batch, self.early(x1, x2))
        else:
            soft = x1.new_zeros(len(x1), x1.shape[1], x2.shape[1])
        repetitions = 1 if self.early is not None else self.options.repetitions
        for repetition in range(1, repetitions + 1):
            g1, g2 = CrossGraph.combine(own1, other2, soft), CrossGraph.combine(own2, other1, soft.transpose(1, 2))
            if self.training:
                g1, g2 = self.second.linear(g1), self.second.linear(g2)
            scores = self._last(batch, g1, g2)
            if repetition < repetitions:
                soft = self.soft_matches(batch, scores)
        return scores

    def _last(self, batch: PairBatch, products1: Tensor, products2: Tensor) -> Tensor:
        """The scores, from the second layer's products (P, n, 2 D)."""
        h1, h2 = (
            self.second.spread(products.flatten(0, 1), side.edge_index).view(*products.shape[:2], -1)
            for products, side in ((products1, batch.source), (products2, batch.target))
        )
        return self.affinity(h1, h2)
