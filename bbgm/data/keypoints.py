"""Annotated images and data sets, whichever format they were read from."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

FRAME = 256
"""Side of the network's input, px."""

Subset = Literal["train", "test"]

# Pillow raises each of these for broken files.
_BROKEN = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)


@dataclass(frozen=True, eq=False)
class KeypointImage:
    """One image of one object, with its K keypoints.

    Attributes:
        image_id: unique in the data set, e.g. ``Car/Cars_000a``.
        cls: name of the object class.
        path: the image file.
        size: width and height of that file, px.
        names: (K,) meaning of each keypoint, unique within the image and the same throughout the class.
        xy: (K, 2) float64, px in the FRAME x FRAME input.
    """

    image_id: str
    cls: str
    path: Path
    size: tuple[int, int]
    names: tuple[str, ...]
    xy: np.ndarray

    def crop(self) -> np.ndarray:
        """The network's input, (FRAME, FRAME, 3) uint8 RGB: the whole image, resized with bicubic interpolation.

        The aspect ratio is not kept and the object's box is not cut out (authors' code; the paper says crop).

        Raises:
            FileNotFoundError: the file has gone.
            ValueError: the file is truncated or no image.
        """
        try:
            state = self.path.stat()
        except FileNotFoundError as error:
            raise FileNotFoundError(f"image {self.path} is missing: put it back") from error
        return _decode(self.path, state.st_mtime_ns, state.st_size).copy()


@lru_cache(maxsize=512)
def _decode(path: Path, changed_ns: int, n_bytes: int) -> np.ndarray:
    """The resized pixels of a file in the given state.

    The last 512 images (100 MB) stay in memory, since training meets each of them many times.
    """
    try:
        with Image.open(path) as image:
            small = image.convert("RGB").resize((FRAME, FRAME), Image.Resampling.BICUBIC)
    except _BROKEN as error:
        raise ValueError(f"image {path} cannot be decoded ({error}): truncated, or no image; copy it again") from error
    pixels = np.asarray(small)
    pixels.flags.writeable = False
    return pixels


def image_size(path: Path) -> tuple[int, int]:
    """Width and height of an image file in px, read from its header.

    Raises:
        ValueError: the header is broken.
    """
    try:
        with Image.open(path) as image:
            return image.size
    except _BROKEN as error:
        raise ValueError(f"image {path} cannot be read ({error}): truncated, or no image; copy it again") from error


@dataclass(frozen=True, eq=False)
class Dataset:
    """Classes of images, split into a training and a test part.

    Attributes:
        name: of the data set.
        train, test: for each class its images, disjoint.
        errata_applied: identifiers of the annotation errors that were corrected on reading.
    """

    name: str
    train: Mapping[str, tuple[KeypointImage, ...]]
    test: Mapping[str, tuple[KeypointImage, ...]]
    errata_applied: tuple[str, ...] = ()

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the configuration."""
        return tuple(self.train)

    def images(self, cls: str, subset: Subset) -> tuple[KeypointImage, ...]:
        """The images of one class and part, in the order of the split.

        Raises:
            ValueError: no such class or part.
        """
        if subset not in ("train", "test"):
            raise ValueError(f"subset {subset!r} is not one of ['test', 'train']")
        part = self.train if subset == "train" else self.test
        if cls not in part:
            raise ValueError(f"class {cls!r} is not one of {list(part)}")
        return part[cls]

    def split_record(self) -> dict[str, dict[str, list[str]]]:
        """Identifiers of both parts, ``{"train": {class: [image_id]}, "test": ...}``, for the record of a run."""
        return {
            name: {cls: [image.image_id for image in images] for cls, images in part.items()}
            for name, part in (("train", self.train), ("test", self.test))
        }
