"""Geometric refinement of the features of keypoints by SplineCNN (paper Sec. 3.5, 'Geometric Feature Refinement')."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bbgm.data.images.keypoints import FRAME
from bbgm.graphs.delaunay import Graph, joint_edges, relative_positions
from bbgm.methods.batching import coordinates
from bbgm.methods.spline.convolution import RootInit, SplineConv
from bbgm.methods.spline.plan import SplinePlan


class SplineCNN(nn.Module):
    """Geometric refinement: x + weight * SplineConv(ReLU(SplineConv(x))), maxima over the neighbours, C -> C -> C."""

    def __init__(
        self,
        channels: int,
        weight: float,
        layer: type[SplineConv] = SplineConv,
        root_init: RootInit = "channels",
    ) -> None:
        super().__init__()
        self.weight = weight
        self.first, self.second = (layer(channels, channels, root_init=root_init) for _ in range(2))

    def forward(self, x: Tensor, graphs: Sequence[Graph]) -> Tensor:
        """Refine the features (N, C) of the nodes of several graphs, one graph after another."""
        ends = torch.from_numpy(joint_edges(graphs))
        xy = torch.cat([coordinates(graph) for graph in graphs])
        pseudo = relative_positions(xy[ends[0]], xy[ends[1]], FRAME).float()
        plan = SplinePlan.make(len(x), ends, pseudo, self.first.kernel_size).to(x)
        hidden = F.relu(self.first.apply_plan(x, plan))
        return x + self.weight * self.second.apply_plan(hidden, plan)
