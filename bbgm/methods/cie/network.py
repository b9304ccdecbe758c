"""CIE, channel-independent embedding (Yu, Wang, Yan, Li; ICLR 2020): edges weigh each channel of a message by itself.

A layer within a graph, for the channels q of the nodes H (n, D) and of the directed edges E (one row each):

    H'_iq = ReLU(sum_{j in N(i)} (W_1 E_ij)_q (W_2 H_j)_q) + ReLU((W_0 H_i)_q)
    E'_ij = ReLU(W_1 E_ij)                                                              CIE1
    E'_ij = ReLU(|W_0 H_i - W_0 H_j| * E_ij) + ReLU(W_1 E_ij)                           CIE2

All W have biases; D = 2048. H^0 (n, C) are the visual features and E^0 is one number, which falls with the edge's
length. Around the two layers the method is PCA-GM: scores H_1 A_1 H_2^T after the first one, Sinkhorn, cross-graph
layer on the nodes, second layer, scores H_1 A_2 H_2^T, Sinkhorn. See `bbgm.methods.pca.network`.

CIE-H trains with Hungarian attention, CIE-P with the cross entropy of all entries (`bbgm.methods.soft.losses`). All
keypoints of the smaller side are matched, so without a filter every keypoint that lacks a partner costs a wrong match.

How it is computed: in CIE1 an edge's features depend on its length alone, so they are computed once for each distinct
length of a batch, which is once for both directions and for all pairs that share an image.

Differs from the paper:

1. E^0 is exp(-d / 256) of a length of d px, as in the public code, or 256 / d; the text has 1 / d and no unit. The
   constant 1 shows what the lengths are worth (measured/willow/cie-parts.csv).
2. CIE2 is as in the text. (The public code computes the distance of the nodes and does not use it, which is CIE1.)
3. Sinkhorn's normalisation is the usual one, as in the public code; the text writes an additive projection.
4. Edges have no cross-graph layer. (In the public code there is one, whose result nothing uses.)
5. Layers have torch's default initial values.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bbgm.data.images.keypoints import FRAME
from bbgm.graphs.delaunay import Graph
from bbgm.methods.base import seeded
from bbgm.methods.cie.settings import CIEConfig, CIERun
from bbgm.methods.soft.batch import GraphBatch, PairBatch
from bbgm.methods.soft.embedding import Bilinear, CrossGraph, EmbeddingMatcher, neighbour_sum


class CIELayer(nn.Module):
    """The layer within a graph, without the update of the edges.

    Args:
        nodes, edges, width: channels of the nodes, of the edges, and of the output.
    """

    def __init__(self, nodes: int, edges: int, width: int) -> None:
        super().__init__()
        self.nodes = nn.Linear(nodes, 2 * width)  # W_2 above W_0
        self.edges = nn.Linear(edges, width)  # W_1

    def forward(self, x: Tensor, weights: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        """H' and W_0 H, (N, D) each, from H (N, nodes) and the edges' W_1 E (number of edges, D)."""
        return self.spread(self.nodes(x), weights, edge_index)

    @staticmethod
    def spread(products: Tensor, weights: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        """The rest of the layer, after the nodes' products with both matrices (N, 2 D)."""
        messages, own = products.chunk(2, dim=1)
        arrived = neighbour_sum(weights * messages[edge_index[0]], edge_index, len(products))
        return F.relu(arrived) + F.relu(own), own


class CIE(EmbeddingMatcher):
    """The complete method.

    Args:
        config: of the run; `seed` decides the initial parameters, torch's global generator is left as it was.
    """

    def __init__(self, config: CIERun) -> None:
        self.options: CIEConfig = config.cie
        width = config.cie.width
        with seeded(config.seed):
            super().__init__(config)
            self.first, self.second = CIELayer(self.backbone.node_channels, 1, width), CIELayer(width, width, width)
            self.early, self.cross, self.affinity = Bilinear(width), CrossGraph(width), Bilinear(width)

    def embed(self, x: Tensor, graphs: Sequence[Graph]) -> Tensor:
        """H^1 and W_0 H^0, then both parts of the cross-graph layer, at test times the second layer's matrices.

        (N, 4 D) in training, (N, 6 D) at test.
        """
        graphs, edge_index = self.edges(graphs)
        numbers, of_edge = self._numbers(graphs, x)
        x, own = self.first(x, self.first.edges(numbers)[of_edge], edge_index.to(x.device))
        return torch.cat([x, own, *self.cross.parts(x, None if self.training else self.second.nodes)], dim=1)

    def scores(self, batch: PairBatch) -> Tensor:
        """H_1^2 A_2 H_2^2T; see `SoftMatcher.scores`."""
        width, sides = self.options.width, (batch.source, batch.target)
        soft = self.soft_matches(batch, self.early(*(side.x[:, :, :width] for side in sides)))
        (own1, other1), (own2, other2) = (side.x[:, :, 2 * width :].chunk(2, dim=2) for side in sides)
        g1, g2 = CrossGraph.combine(own1, other2, soft), CrossGraph.combine(own2, other1, soft.transpose(1, 2))
        if self.training:
            g1, g2 = self.second.nodes(g1), self.second.nodes(g2)
        h1, h2 = (
            self.second.spread(g.flatten(0, 1), weights, side.edge_index)[0].view(*g.shape[:2], -1)
            for g, weights, side in zip((g1, g2), self._second_weights(batch), sides, strict=True)
        )
        return self.affinity(h1, h2)

    def _second_weights(self, batch: PairBatch) -> list[Tensor]:
        """W_1 E^1 of the edges of both sides, (their number, D) each."""
        sides = (batch.source, batch.target)
        counts = [side.edge_index.shape[1] for side in sides]
        numbers, of_edge = self._numbers([graph for side in sides for graph in side.graphs], batch.source.x)
        features = F.relu(self.first.edges(numbers))
        if self.options.edges == "cie1":
            return list(self.second.edges(features)[of_edge].split(counts))
        distances = torch.cat([self._distances(side) for side in sides])
        return list(self.second.edges(F.relu(distances * numbers[of_edge]) + features[of_edge]).split(counts))

    def _numbers(self, graphs: Sequence[Graph], like: Tensor) -> tuple[Tensor, Tensor]:
        """E^0: the distinct numbers (U, 1) of the graphs' edges, and for each edge which of them it has."""
        xy = [graph.xy[graph.edge_index] for graph in graphs]
        lengths = np.linalg.norm(np.concatenate([ends[0] - ends[1] for ends in xy]), axis=1)
        distinct, of_edge = np.unique(lengths, return_inverse=True)
        numbers = {
            "exponential": np.exp(-distinct / FRAME),
            "inverse": FRAME / distinct.clip(min=1),
            "constant": np.ones_like(distinct),
        }[self.options.edge_feature]
        return torch.from_numpy(numbers[:, None]).to(like), torch.from_numpy(of_edge).to(like.device)

    def _distances(self, side: GraphBatch) -> Tensor:
        """|W_0 H^0_i - W_0 H^0_j| of the edges of one side."""
        own = side.x[:, :, self.options.width : 2 * self.options.width].flatten(0, 1)
        return (own[side.edge_index[0]] - own[side.edge_index[1]]).abs()
