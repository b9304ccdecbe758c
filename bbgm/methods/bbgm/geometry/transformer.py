"""Keypoints that look at each other: self-attention within an image, then attention across both images of a pair.

    token = W f + V g + MLP(coordinates)                        f, g: visual features of the keypoint and of its image
    token <- layer(token), first among the keypoints of an image, then among those of both
    feature = W' token + U f

It takes the place of SplineCNN. The layers are torch's, with the norm first (Vaswani et al., NeurIPS 2017). In those
across both, as in SuperGlue (Sarlin et al., CVPR 2020), a keypoint sees its own image and the other one at once.

1. Layers across are symmetric: both images are told from each other by a mark on those of the *other* image.
2. Frozen features of few images are learned by heart, so f is dropped out as well (`feature_dropout`).
"""

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from bbgm.graphs.delaunay import Graph
from bbgm.methods.bbgm.geometry.positions import graph_coordinates
from bbgm.methods.bbgm.geometry.settings import TransformerConfig


class KeypointTransformer(nn.Module):
    """Features (P, n1, width) and (P, n2, width) of the keypoints of P pairs.

    Args:
        channels: C, of visual features of keypoints.
        global_channels: Cg, of those of an image.
        settings: of the layers.
    """

    def __init__(self, channels: int, global_channels: int, settings: TransformerConfig) -> None:
        super().__init__()
        self._settings, width = settings, settings.width
        self.look, self.context = nn.Linear(channels, width), nn.Linear(global_channels, width)
        self.place = nn.Sequential(nn.Linear(4, width), nn.GELU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, settings.heads, 4 * width, settings.dropout, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(settings.layers)
        )
        self.other = nn.Parameter(torch.zeros(width))
        self.norm, self.output = nn.LayerNorm(width), nn.Linear(width, width)
        self.direct = nn.Linear(channels, width)

    def forward(
        self, looks: Sequence[Tensor], contexts: Sequence[Tensor], graphs: Sequence[Sequence[Graph]]
    ) -> tuple[Tensor, Tensor]:
        """Features of sources and targets.

        Args:
            looks: visual features of the sources' and of the targets' keypoints, (P, n1, C) and (P, n2, C), padded.
            contexts: of the sources and of the targets, (P, Cg) each.
            graphs: of the sources and of the targets, P each.
        """
        # Both sides as one batch (2P, n, ...): sources first.
        sizes = torch.tensor([len(graph.xy) for side in graphs for graph in side], device=looks[0].device)
        n = max(look.shape[1] for look in looks)
        look = torch.cat([F.pad(one, (0, 0, 0, n - one.shape[1])) for one in looks])
        padding = torch.arange(n, device=look.device) >= sizes[:, None]
        look = F.dropout(F.layer_norm(look, look.shape[2:]), self._settings.feature_dropout, self.training)
        context = torch.cat(list(contexts))
        places = [graph_coordinates(graph, "both") for side in graphs for graph in side]
        x = self.look(look) + self.context(F.layer_norm(context, context.shape[1:]))[:, None]
        x = x + self.place(pad_sequence(places, batch_first=True).to(look))
        within = len(self.layers) - self._settings.cross
        for layer in self.layers[:within]:
            x = layer(x, src_key_padding_mask=padding)
        for layer in self.layers[within:]:
            both = torch.cat([x, _swapped(x) + self.other], dim=1)
            x = layer(both, src_key_padding_mask=torch.cat([padding, _swapped(padding)], dim=1))[:, :n]
        x = cast(Tensor, self.output(self.norm(x)) + self.direct(look))
        x = x.masked_fill(padding[:, :, None], 0)
        one, two = x.chunk(2)
        return one[:, : looks[0].shape[1]], two[:, : looks[1].shape[1]]


def _swapped(x: Tensor) -> Tensor:
    """Each pair's other side."""
    return torch.cat(x.chunk(2)[::-1])
