"""Features of a frozen backbone, computed once for each image and kept on disk.

A file holds the features of one image. Its name is a hash of everything they depend on: the bytes of the image file,
the keypoints, the backbone with all its weights, and `PREPROCESSING`; so a cache never has to be emptied. Any number of
processes may share it: files are written atomically, and two that compute the same one write the same numbers.
"""

import hashlib
import json
from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from bbgm.base.atomic import atomic_write, remove_leftovers
from bbgm.base.progress import progress
from bbgm.data.images.keypoints import FRAME, KeypointImage
from bbgm.features.backbone import Backbone, keypoint_features, normalise
from bbgm.features.weights import fingerprint

PREPROCESSING = 1
"""Version of crop, normalisation and interpolation: raise it when one of them changes its numbers."""

Features = tuple[Tensor, Tensor]
"""Keypoint features (K, C), one row for each of an image's keypoints, and the global vector (Cg,)."""


def compute_features(backbone: Backbone, images: Sequence[KeypointImage], unit: bool = True) -> list[Features]:
    """Features of images at all their keypoints, in one pass through the backbone, on its device.

    Args:
        unit: see `bbgm.features.backbone.keypoint_features`.
    """
    if not images:
        return []
    maps, pooled = compute_maps(backbone, images)
    return list(zip(features_in_maps(maps, images, unit), pooled, strict=True))


def compute_maps(backbone: Backbone, images: Sequence[KeypointImage]) -> tuple[list[Tensor], Tensor]:
    """What the backbone makes of B images, in one pass on its device: see `Backbone.forward`."""
    crops = torch.from_numpy(np.stack([image.crop() for image in images]))
    maps: tuple[list[Tensor], Tensor] = backbone(normalise(crops.to(next(backbone.parameters()).device)))
    return maps


def features_in_maps(maps: list[Tensor], images: Sequence[KeypointImage], unit: bool = True) -> list[Tensor]:
    """Features (K, C) of B images at all their keypoints, from the backbone's maps (B, C_m, h, w) of them.

    Args:
        unit: see `bbgm.features.backbone.keypoint_features`.
    """
    counts, device = [len(image.xy) for image in images], maps[0].device
    index = torch.repeat_interleave(torch.arange(len(images)), torch.tensor(counts)).to(device)
    xy = torch.from_numpy(np.concatenate([image.xy for image in images])).to(device, torch.float32)
    return list(torch.split(keypoint_features(maps, index, xy, FRAME, unit), counts))


class FeatureCache:
    """Features of a frozen backbone on disk and in memory.

    Args:
        backbone: frozen; its weights must not change from now on.
        name: of the backbone, for the files' folder.
        root: the cache's folder; None keeps features in memory only.
        memory: how many bytes of features to keep in memory at most.
        unit: see `bbgm.features.backbone.keypoint_features`.
    """

    def __init__(
        self, backbone: Backbone, name: str, root: Path | None, memory: int = 2**30, unit: bool = True
    ) -> None:
        self._backbone, self._memory, self._unit = backbone, memory, unit
        self._weights = fingerprint(backbone)
        self._folder = root / "features" / f"{name}-{self._weights[:8]}" if root else None
        if self._folder:
            remove_leftovers(self._folder)
        self._held: dict[Hashable, Features] = {}
        self._bytes = 0

    def features(self, image: KeypointImage) -> Features:
        """Keypoint features (K, C) and global vector (Cg,) of one image: float32, on the CPU."""
        return self.features_of([image])[0]

    def features_of(self, images: Sequence[KeypointImage]) -> list[Features]:
        """Features of several images: float32, on the CPU.

        Missing features are computed one image at a time, because float sums depend on the size of a batch, and an
        image's features must not depend on which others are missing.
        """
        distinct = {_key(image): image for image in images}
        result = {key: self._lookup(image) for key, image in distinct.items()}
        missing = [key for key, found in result.items() if found is None]
        for key in progress(missing, "image features", enabled=len(missing) > 8):
            result[key] = self._compute(distinct[key])
        return [found for image in images if (found := result[_key(image)]) is not None]

    def _lookup(self, image: KeypointImage) -> Features | None:
        held = self._held.get(_key(image))
        if held is None and self._folder and (held := self._stored(image)):
            self._hold(image, held)
        return held

    def _stored(self, image: KeypointImage) -> Features | None:
        return _read(self._path(image), len(image.names), self._backbone.node_channels, self._backbone.global_channels)

    def _compute(self, image: KeypointImage) -> Features:
        with torch.no_grad():
            nodes, pooled = (part.float().cpu() for part in compute_features(self._backbone, [image], self._unit)[0])
        if self._folder:
            _write(self._path(image), nodes, pooled)
        self._hold(image, (nodes, pooled))
        return nodes, pooled

    def _hold(self, image: KeypointImage, features: Features) -> None:
        size = sum(part.nbytes for part in features)
        if self._bytes + size <= self._memory:
            self._held[_key(image)] = features
            self._bytes += size

    def _path(self, image: KeypointImage) -> Path:
        assert self._folder is not None
        digest = hashlib.sha256(image.path.read_bytes())
        digest.update(image.xy.astype("<f8").tobytes())
        # The names' order is the rows' order. The identifier tells apart objects that are cropped from one file.
        reading = [PREPROCESSING] if self._unit else [PREPROCESSING, "raw"]
        place = [image.box] if image.view is None else [image.box, image.view]
        digest.update(json.dumps([*reading, self._weights, image.image_id, image.names, image.size, *place]).encode())
        return self._folder / f"{digest.hexdigest()}.safetensors"


def _key(image: KeypointImage) -> Hashable:
    """A key, equal for equal images within a process: a matcher may see several data sets, or one read twice."""
    return image.image_id, image.path, image.xy.tobytes()


def _checksum(nodes: Tensor, pooled: Tensor) -> str:
    return hashlib.sha256(nodes.numpy().tobytes() + pooled.numpy().tobytes()).hexdigest()


def _write(path: Path, nodes: Tensor, pooled: Tensor) -> None:
    tensors = {"nodes": nodes.contiguous(), "global": pooled.contiguous()}
    with atomic_write(path) as file:
        file.write(save(tensors, metadata={"sha256": _checksum(nodes, pooled)}))


def _read(path: Path, keypoints: int, channels: int, global_channels: int) -> Features | None:
    """The features in a file; None if it is missing or broken and has to be computed again.

    Args:
        keypoints, channels, global_channels: K, C and Cg.
    """
    try:
        with safe_open(path, framework="pt") as file:
            nodes, pooled = file.get_tensor("nodes"), file.get_tensor("global")
            expected = (file.metadata() or {}).get("sha256")
    except (FileNotFoundError, SafetensorError, OSError):
        return None
    fits = nodes.shape == (keypoints, channels) and pooled.shape == (global_channels,)
    if not fits or nodes.dtype != torch.float32 or pooled.dtype != torch.float32:
        return None
    return (nodes, pooled) if _checksum(nodes, pooled) == expected else None
