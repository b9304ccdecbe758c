"""GLMNet, graph learning-matching network (Jiang, Sun, Tang, Luo; arXiv 1911.07681).

Before each convolution a graph learns the weights of its edges from its nodes' features x,

    A_ij = exp(ReLU(theta^T [x_i ; x_j])) / sum_{k in N(i)} exp(ReLU(theta^T [x_i ; x_k])),    j in N(i).

X^0 (n, C) are the visual features, D = 2048 channels, gamma = 0.5 and gamma' = 0.75. All is shared by both graphs X, Y,
but for the cross-graph convolution, which has own matrices for each direction:

    X^1 = ReLU((1 - gamma) X^0 T_n + gamma A X^0 T_e)                 smoothing
    S_1 = Sinkhorn(X^1 W Y^1T / tau)
    X^2 = [S_1 Y^1 ; X^1] T_xy,   Y^2 = [S_1^T X^1 ; Y^1] T_yx        cross-graph
    X^3 = ReLU((1 + gamma') X^2 T'_n - gamma' A X^2 T'_e)             sharpening
    S   = Sinkhorn(X^3 M Y^3T / tau)

The loss is the cross entropy of S and lambda = 0.1 times the constraint loss, which is small if S is 0 or 1 everywhere,

    sum_ij S_ij (sum_{l != j} S_il + sum_{k != i} S_kj).

All keypoints of the smaller side are matched, so without a filter every keypoint that lacks a partner costs a wrong
match.

There is no public code, and the paper leaves open what had to be decided here:

1. N(i) are the neighbours in the Delaunay graph (``soft.graph1``, ``soft.graph2``: or all other nodes).
2. theta is normal at the start, with a deviation of 0.01: the graph starts close to the mean over the neighbours.
3. The printed cross-graph weights exp(X W Y^T / delta) are not normalised and would overflow: they are S_1 here.
4. W and M are the identity plus small uniform numbers at the start, as in PCA-GM, the other matrices torch's default
   for linear layers; none has a bias.
5. Both losses are divided by the number of source keypoints of the batch.
6. Not given are D, tau, Sinkhorn's iterations and the optimiser: they are those of PCA-GM. The printed numerator of A
   lacks the exponential's argument in part: it is read as the denominator's.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bbgm.data.sampling.pairs import KeypointPair
from bbgm.graphs.delaunay import Graph
from bbgm.methods.base import seeded
from bbgm.methods.glmnet.settings import GLMNetConfig, GLMNetRun
from bbgm.methods.soft.batch import PairBatch
from bbgm.methods.soft.embedding import Bilinear, CrossGraph, EmbeddingMatcher, neighbour_sum
from bbgm.methods.soft.losses import per_source

START = 0.01
"""Deviation of theta at the start."""


class LearnedGraphConv(nn.Module):
    """Graph learning and the convolution ReLU(own X T_n + neighbours A X T_e).

    Args:
        channels, width: of the input and the output.
        own, neighbours: the two weights.
    """

    def __init__(self, channels: int, width: int, own: float, neighbours: float) -> None:
        super().__init__()
        self.own, self.neighbours = own, neighbours
        self.theta = nn.Parameter(START * torch.randn(2, channels))  # for the receiver and for the sender
        self.linear = nn.Linear(channels, 2 * width, bias=False)  # T_n above T_e

    def weights(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """A of each edge (number of edges, 1), from its receiver i to its sender j."""
        sender, receiver = edge_index
        receiving, sending = F.linear(x, self.theta).unbind(dim=1)
        logits = F.relu(receiving[receiver] + sending[sender])[:, None]
        # The largest of each node: it cancels, and nothing overflows.
        largest = x.new_zeros(len(x)).scatter_reduce(0, receiver, logits.detach()[:, 0], "amax")
        powers = (logits - largest[receiver, None]).exp()
        return powers / neighbour_sum(powers, edge_index, len(x))[receiver]

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """From (N, channels) to (N, width)."""
        own, messages = self.linear(x).chunk(2, dim=1)
        arrived = neighbour_sum(self.weights(x, edge_index) * messages[edge_index[0]], edge_index, len(x))
        return F.relu(self.own * own + self.neighbours * arrived)


class GLMNet(EmbeddingMatcher):
    """The complete method.

    Args:
        config: of the run; `seed` decides the initial parameters, torch's global generator is left as it was.
    """

    def __init__(self, config: GLMNetRun) -> None:
        self.options: GLMNetConfig = config.glmnet
        width, smooth, sharp = config.glmnet.width, config.glmnet.smoothing, config.glmnet.sharpening
        with seeded(config.seed):
            super().__init__(config)
            self.smoothing = LearnedGraphConv(self.backbone.node_channels, width, 1 - smooth, smooth)
            self.early = Bilinear(width)
            self.cross1, self.cross2 = CrossGraph(width, bias=False), CrossGraph(width, bias=False)
            self.sharpening = LearnedGraphConv(width, width, 1 + sharp, -sharp)
            self.affinity = Bilinear(width)

    def embed(self, x: Tensor, graphs: Sequence[Graph]) -> Tensor:
        """X^1: (N, D)."""
        _, edge_index = self.edges(graphs)
        return self.smoothing(x, edge_index.to(x.device))

    def scores(self, batch: PairBatch) -> Tensor:
        """X^3 M Y^3T; see `SoftMatcher.scores`."""
        x1, x2 = batch.source.x, batch.target.x
        soft = self.soft_matches(batch, self.early(x1, x2))
        crossed1, crossed2 = self.cross1(x1, x2, soft), self.cross2(x2, x1, soft.transpose(1, 2))
        h1, h2 = (
            self.sharpening(g.flatten(0, 1), side.edge_index).view(*g.shape[:2], -1)
            for g, side in ((crossed1, batch.source), (crossed2, batch.target))
        )
        return self.affinity(h1, h2)

    def objective(self, log_match: Sequence[Tensor], pairs: Sequence[KeypointPair]) -> Tensor:
        """With the constraint loss; see `SoftMatcher.objective`."""
        constraint = per_source([constraint_loss(log_s.exp()) for log_s in log_match], pairs)
        return super().objective(log_match, pairs) + self.options.constraint * constraint


def constraint_loss(soft: Tensor) -> Tensor:
    """sum_ij S_ij (sum_{l != j} S_il + sum_{k != i} S_kj) of S (n1, n2): a scalar."""
    rows, columns = soft.sum(dim=1), soft.sum(dim=0)
    return rows.square().sum() + columns.square().sum() - 2 * soft.square().sum()
