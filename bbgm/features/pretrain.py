"""A stand-in for ImageNet weights: the small backbone, trained on rendered photographs that are in no data set.

A linear layer on the features at a keypoint predicts which keypoint of which class it is, telling left from right; two
on the global vector predict the class and the eighth of the azimuths from which it is seen. These layers are dropped
and the backbone is kept: ``network.weights: demo``.

The photographs are made like those of the demo data, from other random numbers: their seeds begin with `STREAM`.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from safetensors.torch import save
from torch import Tensor, nn

from bbgm.base import machine
from bbgm.base.atomic import atomic_write
from bbgm.base.progress import progress
from bbgm.base.reproducible import reproducible
from bbgm.data.demo import explain_missing_renderer
from bbgm.data.images.keypoints import FRAME
from bbgm.features.backbone import keypoint_features, normalise
from bbgm.features.small import SmallCNN

with explain_missing_renderer():
    import bbgm_demo

STREAM = 71_000
"""First number of all photographs' seeds; the seeds of demo data do not begin with it."""

BATCH, LEARNING_RATE, SHARPNESS = 16, 2e-3, 8.0
LEFT_RIGHT = (("L_", "R_"), ("Left_", "Right_"))


@dataclass(frozen=True, eq=False)
class Photo:
    """A photograph with one object: JPEG bytes, the class, the azimuth in degrees, the box and keypoints in px."""

    jpeg: bytes
    cls: str
    azimuth: float
    box: tuple[float, float, float, float]
    keypoints: dict[str, tuple[float, float]]


def pretrain(photos_per_class: int = 250, steps: int = 2000, seed: int = 0) -> SmallCNN:
    """Render, and train with Adam and a cosine schedule: six minutes, most of them on one core.

    Photographs are cropped anywhere between the object's box and the whole image, mirrored and tinted at random.
    """
    photos = render_photos(photos_per_class)
    names = {key: k for k, key in enumerate(sorted({(p.cls, plain(n)) for p in photos for n in p.keypoints}))}
    with reproducible(threads=1):
        torch.manual_seed(seed)
        backbone = SmallCNN()
        heads = nn.ModuleList([
            nn.Linear(backbone.node_channels, 3 * len(names), bias=False),
            nn.Linear(backbone.global_channels, len(bbgm_demo.CLASSES)),
            nn.Linear(backbone.global_channels, 8 * len(bbgm_demo.CLASSES)),
        ])  # fmt: skip
        optimiser = torch.optim.Adam([*backbone.parameters(), *heads.parameters()], lr=LEARNING_RATE)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        for batch in progress(_batches(photos, names, steps, seed), "pretraining the small backbone"):
            optimiser.zero_grad()
            torch.autograd.backward(_loss(backbone, heads, batch))
            optimiser.step()
            schedule.step()
    return backbone.eval()


def write_weights(path: Path, backbone: SmallCNN, **how: object) -> None:
    """Store the backbone in half precision, with JSON on how it was made in the file's metadata (``provenance``)."""
    tensors = {name: value.half().contiguous() for name, value in backbone.state_dict().items()}
    about = {"made by": "bbgm pretrain-backbone", "renderer": bbgm_demo.renderer_version(), **machine.versions(), **how}
    with atomic_write(path) as file:
        file.write(save(tensors, metadata={"provenance": json.dumps(about, sort_keys=True)}))


def render_photos(photos_per_class: int) -> list[Photo]:
    """The photographs of all classes."""
    jobs = [partial(_render, cls, k) for cls in bbgm_demo.CLASSES for k in range(photos_per_class)]
    found = bbgm_demo.in_parallel(jobs, "rendering photographs to pretrain with")
    return [photo for photo in found if len(photo.keypoints) >= 2]


def _render(cls: str, index: int) -> Photo:
    generator = np.random.default_rng([STREAM, bbgm_demo.CLASSES.index(cls), index])
    pixels, (seen,) = bbgm_demo.render_photo([cls], generator)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "jpeg", quality=92)
    azimuth = float(np.degrees(np.arctan2(seen.view[0], -seen.view[1]))) % 360
    points = {name: point for name, point in seen.landmarks.items() if point is not None}
    return Photo(buffer.getvalue(), cls, azimuth, seen.box, points)


@dataclass(frozen=True, eq=False)
class _Batch:
    """B crops (B, 256, 256, 3) and their N keypoints; labels of keypoints, classes and azimuths."""

    crops: Tensor
    image: Tensor
    xy: Tensor
    name: Tensor
    cls: Tensor
    azimuth: Tensor


def _batches(photos: list[Photo], names: dict[tuple[str, str], int], steps: int, seed: int) -> Iterator[_Batch]:
    generator = np.random.default_rng([STREAM, seed])
    for _ in range(steps):
        chosen = [photos[k] for k in generator.integers(len(photos), size=BATCH)]
        crops, xy, name, image, azimuth = [], [], [], [], []
        for k, photo in enumerate(chosen):
            mirror = bool(generator.random() < 0.5)
            crop, points = _cut_out(photo, mirror, generator)
            crops.append(crop)
            for key, point in points.items():
                xy.append(point)
                image.append(k)
                name.append(3 * names[photo.cls, plain(key)] + side_of(key, mirror))
            azimuth.append(eighth(photo, mirror))
        kinds = [bbgm_demo.CLASSES.index(photo.cls) for photo in chosen]
        yield _Batch(
            torch.from_numpy(np.stack(crops)),
            torch.tensor(image),
            torch.tensor(np.array(xy), dtype=torch.float32),
            torch.tensor(name),
            torch.tensor(kinds),
            torch.tensor([8 * kind + part for kind, part in zip(kinds, azimuth, strict=True)]),
        )


def _cut_out(
    photo: Photo, mirror: bool, generator: np.random.Generator
) -> tuple[np.ndarray, dict[str, tuple[float, float]]]:
    """A random part of the photograph around the object, (256, 256, 3) uint8; and where its keypoints are in it."""
    with Image.open(io.BytesIO(photo.jpeg)) as opened:
        image = opened.convert("RGB")
    whole = np.array([0, 0, image.width, image.height], dtype=float)
    share = generator.random() if generator.random() < 0.5 else 0.0
    box = np.array(photo.box) + share * (whole - np.array(photo.box))
    box += generator.uniform(-0.06, 0.06, 4) * np.tile(box[2:] - box[:2], 2)
    box = np.concatenate([np.maximum(box[:2], 0), np.minimum(box[2:], whole[2:])])
    resized = image.resize((FRAME, FRAME), Image.Resampling.BICUBIC, box=tuple(box))
    pixels = np.asarray(resized, dtype=np.float32) * generator.uniform(0.8, 1.2) * generator.uniform(0.9, 1.1, 3)
    crop = np.clip(pixels, 0, 255).astype(np.uint8)
    xy = {name: (np.array(at) - box[:2]) * FRAME / (box[2:] - box[:2]) for name, at in photo.keypoints.items()}
    inside = {name: at for name, at in xy.items() if (at >= 0).all() and (at <= FRAME).all()}
    if mirror:
        return crop[:, ::-1].copy(), {name: (FRAME - at[0], at[1]) for name, at in inside.items()}
    return crop, {name: (at[0], at[1]) for name, at in inside.items()}


def plain(name: str) -> str:
    """The name without left or right."""
    return next((name.removeprefix(p) for pair in LEFT_RIGHT for p in pair if name.startswith(p)), name)


def side_of(name: str, mirror: bool) -> int:
    """0: neither, 1: left, 2: right; a mirrored image swaps the two."""
    side = next((k + 1 for pair in LEFT_RIGHT for k, p in enumerate(pair) if name.startswith(p)), 0)
    return 3 - side if side and mirror else side


def eighth(photo: Photo, mirror: bool) -> int:
    """From which eighth of the azimuths the object, or its mirror image, is seen."""
    azimuth = photo.azimuth
    if mirror:
        azimuth = -azimuth if photo.cls in ("Face", "Winebottle") else 180 - azimuth
    return round(azimuth / 45) % 8


def _loss(backbone: SmallCNN, heads: nn.ModuleList, batch: _Batch) -> Tensor:
    maps, pooled = backbone(normalise(batch.crops))
    nodes = keypoint_features(maps, batch.image, batch.xy, FRAME)
    weight: Any = heads[0].weight
    identity = F.cross_entropy(SHARPNESS * nodes @ F.normalize(weight, dim=1).T, batch.name)
    return (
        identity
        + 0.3 * F.cross_entropy(heads[1](pooled), batch.cls)
        + 0.3 * F.cross_entropy(heads[2](pooled), batch.azimuth)
    )
