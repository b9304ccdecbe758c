"""The encoder of positions is trained before all else, on random affine copies of graphs (after PREGM, NeurIPS 2023).

Let f and f' be what the encoder's last layer sees of a graph's keypoints and of their copies, and S_ij = cos(f_i, f'_j)
/ temperature. The loss is

    - mean_i log(e^S_ii / sum_j e^S_ij)  +  triangles * MSE(decoder(f_a, f_b, f_c), sides and area of the triangle abc)

with one random triangle in each graph, in units of the graph's size. Images, costs and the solver play no part.

Choices where the paper leaves them open, or differs:

1. The graphs are those of training pairs, with the keypoints that the pairs keep; partners in the other image are not
   used, only copies. PREGM also has matched keypoints.
2. The negatives of a keypoint are the other keypoints of the copy.
3. The learning rate is ten times theirs, for a run of seconds.
4. Copies have noise on each keypoint as well.

It computes on the CPU with one thread, so the result depends neither on the device nor on the number of threads.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from bbgm.config.models import ProtocolConfig
from bbgm.data.images.keypoints import Dataset
from bbgm.data.sampling.pairs import sample_training_batch
from bbgm.graphs.delaunay import Graph
from bbgm.methods.base import seeded
from bbgm.methods.bbgm.geometry.jitter import moved_at_random
from bbgm.methods.bbgm.geometry.positions import PositionEncoder, SelfAttention, standardised
from bbgm.methods.bbgm.geometry.settings import PositionsConfig, PretrainConfig

EPOCH = 2**31
"""Whose batches are drawn: none of training."""

NO_EDGES = np.zeros((2, 0), dtype=np.int64)


def pretrained_encoder(
    channels: int, settings: PositionsConfig, dataset: Dataset, protocol: ProtocolConfig, seed: int
) -> PositionEncoder:
    """An encoder that knows keypoints of affine copies again; its last layer is as it starts. On the CPU.

    It is the same for the same arguments.

    Args:
        channels: of its features.
        settings: of the encoder, with those of its pre-training.
        dataset: whose training images have the keypoints.
        protocol: which keypoints pairs keep.
        seed: of the run.

    Raises:
        ValueError: there is no pre-training in the settings, or no pair with enough keypoints.
    """
    how = settings.pretrain
    if how is None:
        raise ValueError("the settings have no pre-training: set positions.pretrain")
    with seeded(seed), _one_thread(), torch.enable_grad():
        encoder = PositionEncoder(channels, settings)
        decoder = TriangleDecoder(settings.width, settings.heads) if how.triangles else None
        encoder.requires_grad_(True)
        encoder.last.requires_grad_(False)
        parameters = [*encoder.parameters(), *(decoder.parameters() if decoder else ())]
        optimiser = torch.optim.Adam(parameters, lr=how.learning_rate, fused=True)
        for iteration in range(how.iterations):
            pairs = sample_training_batch(dataset, protocol, seed, EPOCH, iteration, how.batch_size)
            graphs = [xy for pair in pairs for xy in (pair.source.xy[pair.kept1], pair.target.xy[pair.kept2])]
            optimiser.zero_grad()
            torch.autograd.backward(copies_loss(encoder, decoder, graphs, how))
            optimiser.step()
    return encoder


def copies_loss(
    encoder: PositionEncoder, decoder: "TriangleDecoder | None", keypoints: Sequence[np.ndarray], how: PretrainConfig
) -> Tensor:
    """The loss of a batch of graphs, each with keypoints (n, 2), px; draws their copies."""
    copies = [moved_at_random(xy, how.copies) for xy in keypoints]
    one, two = hidden_features(encoder, [*keypoints, *copies]).chunk(2)
    n = [len(xy) for xy in keypoints]
    there = torch.arange(max(n)) < torch.tensor(n)[:, None]
    logits = F.normalize(one, dim=2) @ F.normalize(two, dim=2).transpose(1, 2) / how.temperature
    told = logits.masked_fill(~there[:, None], -torch.inf).log_softmax(dim=2).diagonal(dim1=1, dim2=2)
    loss = -told[there].mean()
    chosen = [b for b, size in enumerate(n) if size >= 3]
    if decoder is None or not chosen:
        return loss
    corners = [torch.randperm(n[b])[:3] for b in chosen]
    found = decoder(torch.stack([one[b][corner] for b, corner in zip(chosen, corners, strict=True)]))
    true = np.stack([triangle(standardised(keypoints[b])[c]) for b, c in zip(chosen, corners, strict=True)])
    return loss + how.triangles * F.mse_loss(found, torch.from_numpy(true).to(found))


def hidden_features(encoder: PositionEncoder, keypoints: Sequence[np.ndarray]) -> Tensor:
    """What the encoder's last layer sees of B graphs with keypoints (n, 2), padded with zeros: (B, longest, width)."""
    rows = encoder.hidden([Graph(xy, NO_EDGES) for xy in keypoints])
    return pad_sequence(list(torch.split(rows, [len(xy) for xy in keypoints])), batch_first=True)


class TriangleDecoder(nn.Module):
    """The lengths of the sides ab, bc, ca of triangles, and their areas, (B, 4), from features (B, 3, width)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(SelfAttention(width, heads) for _ in range(2))
        self.first, self.second = nn.Linear(3 * width, width), nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        everywhere = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        for block in self.blocks:
            x = block(x, everywhere)
        found: Tensor = self.second(F.relu(self.first(x.flatten(1))))
        return found


def triangle(corners: np.ndarray) -> np.ndarray:
    """Lengths of the sides ab, bc, ca, and the area, (4,), of a triangle with corners (3, 2)."""
    sides = corners[[1, 2, 0]] - corners
    (x1, y1), (x2, y2) = sides[:2]
    return np.array([*np.hypot(*sides.T), abs(x1 * y2 - x2 * y1) / 2])


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
