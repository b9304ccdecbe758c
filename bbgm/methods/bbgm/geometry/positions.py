"""Where keypoints are, as features that are added to what they look like (after PREGM, NeurIPS 2023).

    coordinates -> MLP -> self-attention among the keypoints of a graph, several blocks -> Linear

1. PREGM trains the encoder first, on random affine copies, and then keeps it as it is. Here it learns with the rest,
   unless `pretrain` says otherwise (`bbgm.methods.bbgm.geometry.pretraining`).
2. With `visual`, what keypoints look like is added after the MLP, so that attention sees both.
3. The output is multiplied by a small number, because visual features are of unit length and random ones are not.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from bbgm.data.images.keypoints import FRAME
from bbgm.graphs.delaunay import Graph
from bbgm.methods.batching import TracedGraph, coordinates
from bbgm.methods.bbgm.geometry.settings import PositionsConfig


class SelfAttention(nn.Module):
    """x <- norm(x + attention(x)), then x <- norm(x + MLP(x)); among the rows of each list that are no padding."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.hidden, self.back = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """From (B, n, width) to the same; mask (B, n) bool, False at padding."""
        batch, n, width = x.shape
        split = self.inputs(x).view(batch, n, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        x = self.norm1(x + self.output(found.transpose(1, 2).reshape(batch, n, width)))
        return self.norm2(x + self.back(F.relu(self.hidden(x))))


class PositionEncoder(nn.Module):
    """Features (N, C) of the nodes of graphs from their coordinates, and with `visual` from what they look like.

    Args:
        channels: C.
        settings: of the encoder.
    """

    def __init__(self, channels: int, settings: PositionsConfig) -> None:
        super().__init__()
        self._settings, width = settings, settings.width
        inputs = 4 if settings.coordinates == "both" else 2
        self.first, self.second = nn.Linear(inputs, width), nn.Linear(width, width)
        blocks = settings.blocks if settings.kind == "attention" else 0
        self.blocks = nn.ModuleList(SelfAttention(width, settings.heads) for _ in range(blocks))
        self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, channels)
        self.visual = nn.Linear(channels, width) if settings.visual else None
        if settings.pretrain is not None and settings.pretrain.freeze:
            self.requires_grad_(False)
            self.last.requires_grad_(True)

    def forward(self, graphs: Sequence[Graph], look: Tensor | None = None) -> Tensor:
        """The nodes of the graphs, one graph after another; ``look`` (N, C) are their visual features."""
        features: Tensor = self._settings.scale * self.last(self.hidden(graphs, look))
        return features

    def hidden(self, graphs: Sequence[Graph], look: Tensor | None = None) -> Tensor:
        """What the last layer sees of the nodes, (N, width)."""
        x = torch.cat([graph_coordinates(graph, self._settings.coordinates) for graph in graphs]).to(self.first.weight)
        x = self.second(F.relu(self.first(x)))
        if self.visual is not None:
            if look is None:
                raise ValueError("the encoder looks at visual features: give them, or set positions.visual: false")
            x = x + self.visual(F.layer_norm(look, look.shape[1:]))  # else it is small beside the coordinates
        x = self.norm(x)
        if self.blocks:
            sizes = [len(graph.xy) for graph in graphs]
            x = pad_sequence(list(torch.split(x, sizes)), batch_first=True)
            mask = torch.arange(x.shape[1], device=x.device) < torch.tensor(sizes, device=x.device)[:, None]
            for block in self.blocks:
                x = block(x, mask)
            # As x[mask], which would wait for a GPU.
            x = torch.cat([rows[:size] for rows, size in zip(x, sizes, strict=True)])
        return x


def graph_coordinates(graph: Graph, which: str) -> Tensor:
    """Where the nodes of a graph are, as an encoder sees it: (n, 2), or (n, 4) for ``both``, float64.

    Args:
        which: ``frame`` or ``spread``, see `PositionsConfig`, or ``both``.
    """
    xy = coordinates(graph)
    frame = 2 * xy / FRAME - 1
    if which == "frame":
        return frame
    own = traced_standardised(xy) if isinstance(graph, TracedGraph) else torch.from_numpy(standardised(graph.xy))
    return own if which == "spread" else torch.cat([frame, own], dim=1)


def standardised(xy: np.ndarray) -> np.ndarray:
    """Keypoints (n, 2) about their mean, divided by their root mean square distance from it; zeros if that is 0."""
    centred = xy - xy.mean(axis=0, keepdims=True)
    radius = np.sqrt((centred**2).sum(axis=1).mean())
    return centred / radius if radius > 0 else centred


def traced_standardised(xy: Tensor) -> Tensor:
    """`standardised`, through which gradients pass; sums are rounded in another order."""
    centred = xy - xy.mean(dim=0, keepdim=True)
    square = centred.square().sum(dim=1).mean()
    return centred / square.sqrt() if square > 0 else centred
