"""Keypoints moved in training to where the loss is larger (after ASAR-GM, Ren et al., CVPR 2022).

Each coordinate of each keypoint may move by `size`. It goes in steps of equal length along the sign of the gradient of
the loss, and back into that box after each; one step is FGSM, several are PGD:

    offset <- clip(offset + length * sign(dL / d offset), -size, size)

What moves, and what does not:

1. The geometry: Delaunay graphs are made again at each step, and so are relative coordinates of edges and features of
   positions. The gradient is that of the coordinates; it does not see that a step may change which edges there are.
2. With a backbone that is trained, also the visual features of keypoints, which are read off its maps where the
   keypoints have moved to. With a frozen one, whose features are cached, keypoints look as they do where they are
   annotated. The global vector stays in both cases; ASAR also changes pixels, which is left out here.
3. With `jitter`, the box is about the keypoints that it has moved. It does not change what they look like: the map is
   read at the annotated place plus the offset.
4. An image with the same keypoints in several pairs of a batch is one graph, and moves once for all of them.

A loss that draws noise draws the same at each step and at the end. Where a layer gives no gradient, because all pairs
are matched as they should be, nothing moves.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from bbgm.data.images.keypoints import FRAME, KeypointImage
from bbgm.features.backbone import keypoint_features
from bbgm.methods.batching import Side
from bbgm.methods.bbgm.geometry.settings import AdversaryConfig

Sides = Sequence[tuple[Side, Side]]


@dataclass(frozen=True, eq=False)
class Look:
    """What keypoints look like where they have moved to, for a backbone that is trained.

    Attributes:
        maps: of the backbone, (B, C_m, h, w) each.
        images: the B images.
        unit: see `bbgm.features.backbone.keypoint_features`.
    """

    maps: list[Tensor]
    images: Sequence[KeypointImage]
    unit: bool

    def features(self, sides: Sequence[Side], offset: Tensor) -> Tensor:
        """Features (N, C) of the N kept keypoints of some sides, ``offset`` (N, 2) px from where they are annotated."""
        number = {image.image_id: b for b, image in enumerate(self.images)}
        index = np.repeat([number[side.image.image_id] for side in sides], [len(side.kept) for side in sides])
        place = torch.from_numpy(np.concatenate([side.image.xy[side.kept] for side in sides])) + offset
        device = self.maps[0].device
        on_device = place.to(device, torch.float32)
        return keypoint_features(self.maps, torch.from_numpy(index).to(device), on_device, FRAME, self.unit)


def adversarial(
    sides: Sides, loss: Callable[[Sides], Tensor], settings: AdversaryConfig, look: Look | None = None
) -> list[tuple[Side, Side]]:
    """The same sides with their keypoints moved.

    Args:
        sides: of the pairs of a batch.
        loss: of the batch, a scalar; it may use torch's CPU generator, whose state stays as it is.
        settings: number of steps, and the size of the box.
        look: what moved keypoints look like; None: what they did.
    """
    distinct = list({side.key: side for both in sides for side in both}.values())
    offset = torch.zeros(sum(len(side.kept) for side in distinct), 2, dtype=torch.float64)
    length = settings.size * min(1.0, 2 / settings.steps)
    for _ in range(settings.steps):
        offset.requires_grad_()
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            value = loss(_moved(sides, distinct, offset, look))
            (slope,) = torch.autograd.grad(value, offset, allow_unused=True)
        offset = offset.detach()
        if slope is not None:  # None: graphs without edges, whose features do not depend on where they are
            offset = (offset + length * slope.sign()).clamp(-settings.size, settings.size)
    return _moved(sides, distinct, offset, look)


def _moved(sides: Sides, distinct: Sequence[Side], offset: Tensor, look: Look | None) -> list[tuple[Side, Side]]:
    """The sides with an offset (N, 2) on the keypoints of each distinct graph, through which gradients pass."""
    sizes = [len(side.kept) for side in distinct]
    seen = [None] * len(sizes) if look is None else torch.split(look.features(distinct, offset), sizes)
    there = {}
    for side, part, features in zip(distinct, torch.split(offset, sizes), seen, strict=True):
        points = torch.tensor(side.place) + part
        there[side.key] = points.detach().numpy(), points if points.requires_grad else None, features

    def put(side: Side) -> Side:
        xy, points, features = there[side.key]
        return replace(side, xy=xy, points=points, seen=features)

    return [(put(one), put(two)) for one, two in sides]


@contextmanager
def buffers_kept(network: nn.Module, left_out: tuple[str, ...]) -> Iterator[None]:
    """Keep a network's buffers as they are: running means of batch norm, and what else follows the losses that it sees.

    Within the block there are copies in their places, because a backward pass still to come may need the originals.

    Args:
        left_out: prefixes of names of buffers that do not change.
    """
    kept = {name: buffer for name, buffer in network.named_buffers() if not name.startswith(left_out)}
    try:
        for name, buffer in kept.items():
            _put(network, name, buffer.clone())
        yield
    finally:
        for name, buffer in kept.items():
            _put(network, name, buffer)


def _put(network: nn.Module, name: str, buffer: Tensor) -> None:
    owner, _, own = name.rpartition(".")
    setattr(network.get_submodule(owner), own, buffer)
