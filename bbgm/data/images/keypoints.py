"""Annotated images, pairs of them and data sets, whichever format they were read from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from bbgm.data.images.crops import CropCache
from bbgm.data.images.drops import DropReport
from bbgm.data.images.pictures import FRAME as FRAME
from bbgm.data.images.pictures import Box, decode, warped

Subset = Literal["train", "test"]
SUBSETS: tuple[Subset, ...] = ("train", "test")


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
        box: the part of the image that the input shows; None: the whole image.
        crops: where decoded inputs are kept; None: nowhere.
        view: (6,) row by row, the affine map (2, 3) from there to a view of it, px (`bbgm.data.images.views`); the
            keypoints are those of the view. None: as it is.
    """

    image_id: str
    cls: str
    path: Path
    size: tuple[int, int]
    names: tuple[str, ...]
    xy: np.ndarray
    box: Box | None = None
    crops: CropCache | None = field(default=None, repr=False)
    view: tuple[float, ...] | None = None

    @property
    def xy_in_file(self) -> np.ndarray:
        """The keypoints (K, 2) float64 in px of the image file; not for a view, whose keypoints have moved."""
        left, top, right, bottom = self.box or (0, 0, *self.size)
        return self.xy * (np.array([right - left, bottom - top]) / FRAME) + (left, top)

    def crop(self) -> np.ndarray:
        """The network's input, (FRAME, FRAME, 3) uint8 RGB: see `bbgm.data.images.crops.decode`.

        Raises:
            FileNotFoundError: the file no longer exists.
            ValueError: the file is truncated or not an image.
        """
        pixels = decode(self.path, self.box) if self.crops is None else self.crops.crop(self.path, self.box)
        return pixels if self.view is None else warped(pixels, self.view)


@dataclass(frozen=True, eq=False)
class ImagePair:
    """Two images of a class that may be matched.

    Attributes:
        names: the keypoints that the data set lists for this pair; None: those that the filter keeps.
        difficulty: label of the pair, empty where the data set has none.
    """

    source: KeypointImage
    target: KeypointImage
    names: frozenset[str] | None = None
    difficulty: str = ""


@dataclass(frozen=True, eq=False)
class ImagePairs:
    """The pairs of one class and part: those that the data set lists, or else any two distinct images."""

    images: tuple[KeypointImage, ...]
    listed: tuple[ImagePair, ...] | None = None

    def __len__(self) -> int:
        return len(self.images) * (len(self.images) - 1) if self.listed is None else len(self.listed)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Classes of images, split into a training and a test part.

    Attributes:
        name: of the data set.
        train, test: for each class its images, disjoint.
        errata_applied: identifiers of the annotation errors that were corrected on reading.
        listed: for each part and class the pairs of images, where the data set lists them (SPair-71k).
        dropped: what was left out.
        hidden: share of the keypoints that was left out of the images at random (`bbgm.data.images.hidden`).
    """

    name: str
    train: Mapping[str, tuple[KeypointImage, ...]]
    test: Mapping[str, tuple[KeypointImage, ...]]
    errata_applied: tuple[str, ...] = ()
    listed: Mapping[Subset, Mapping[str, tuple[ImagePair, ...]]] = field(default_factory=dict)
    dropped: DropReport = field(default_factory=DropReport)
    hidden: float = 0.0

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

    def pairs(self, cls: str, subset: Subset) -> ImagePairs:
        """The pairs of images of one class and part.

        Raises:
            ValueError: no such class or part.
        """
        return ImagePairs(self.images(cls, subset), self.listed[subset][cls] if self.listed else None)

    def decode(self) -> None:
        """Decode all images that are not in their cache yet (see `bbgm.data.images.crops.CropCache.fill`)."""
        wanted: dict[CropCache, list[tuple[Path, Box | None]]] = {}
        for image in (image for part in (self.train, self.test) for images in part.values() for image in images):
            if image.crops is not None:
                wanted.setdefault(image.crops, []).append((image.path, image.box))
        for crops, images in wanted.items():
            crops.fill(images, f"decoding the images of {self.name}")

    def split_record(self) -> dict[str, dict[str, list[str]]]:
        """Identifiers of both parts, ``{"train": {class: [image_id]}, "test": ...}``, for the record of a run."""
        return {
            name: {cls: [image.image_id for image in images] for cls, images in part.items()}
            for name, part in (("train", self.train), ("test", self.test))
        }
