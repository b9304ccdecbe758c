"""A user's picture: read from a file, an array or Pillow, and the part of it that the network sees.

Pictures are treated as `bbgm.data.images.pictures` treats those of data sets; one that its EXIF tag turns is refused as
there, because keypoints may fit the version as stored or as shown.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from bbgm.data.images.pictures import FRAME, Box, framed, is_turned, read_rgb

MARGIN = 0.1
"""Of the keypoints' extent, on each side of them: the default box."""
NARROW = 0.25
"""A default box is at least so wide, and so high, relative to its other side."""

PictureLike = str | Path | np.ndarray | Image.Image
"""What a user may give."""


@dataclass(frozen=True, eq=False)
class Picture:
    """One picture of one object.

    Attributes:
        name: the file's name, or what it is called in messages.
        pixels: (H, W, 3) uint8 RGB.
        box: left, upper, right and lower border of the object, px; the network sees this part.
    """

    name: str
    pixels: np.ndarray
    box: Box

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, px."""
        return self.pixels.shape[1], self.pixels.shape[0]

    def crop(self) -> np.ndarray:
        """(FRAME, FRAME, 3) uint8: the box as the network gets it."""
        return framed(Image.fromarray(self.pixels), self.box)

    def to_frame(self, xy: np.ndarray) -> np.ndarray:
        """Positions (n, 2) in px of the picture as px of the network's input.

        Raises:
            ValueError: one of them is outside of the box.
        """
        left, top, right, bottom = self.box
        if (outside := ((xy < (left, top)) | (xy > (right, bottom))).any(axis=1)).any():
            raise ValueError(
                f"{self.name}: {xy[outside].tolist()} is outside of the box {[round(side, 1) for side in self.box]} "
                "(left, top, right, bottom): give a larger box, or none, and it is made around the points"
            )
        return np.asarray((xy - (left, top)) * (FRAME / np.array([right - left, bottom - top])))


def read_pixels(given: PictureLike, what: str = "picture") -> tuple[str, np.ndarray]:
    """The name and the pixels (H, W, 3) uint8 RGB of a picture.

    Args:
        given: path of a file, an array (H, W, 3) uint8 RGB, or a Pillow image.
        what: how messages call it if it is not a file.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a picture, an array of another shape or type, or turned by an EXIF tag.
    """
    if isinstance(given, str | Path):
        path = Path(given)
        pixels = read_rgb(path)
        if is_turned(path):
            raise ValueError(
                f"image {path} has an EXIF tag that asks viewers to rotate or mirror it, so its points may fit either "
                f"version: store it upright ('mogrify -auto-orient {path.name}') and take its points there, or remove "
                "the tag if they fit the file as stored"
            )
        return path.name, pixels
    if isinstance(given, Image.Image):
        if given.getexif().get(0x0112, 1) in range(2, 9):
            raise ValueError(
                f"{what} has an EXIF tag that asks viewers to rotate or mirror it, so its points may fit either "
                "version: apply it with PIL.ImageOps.exif_transpose(image) and take the points there"
            )
        if given.mode[0] in "IF":
            raise ValueError(f"{what} has more than 8 bits per channel (mode {given.mode}): convert it to RGB first")
        return what, np.array(given.convert("RGBA" if given.mode == "P" else given.mode).convert("RGB"))
    shape, kind = np.shape(given), getattr(given, "dtype", type(given).__name__)
    if not isinstance(given, np.ndarray) or given.ndim != 3 or shape[2] != 3 or kind != np.uint8 or not given.size:
        raise ValueError(
            f"{what} has shape {shape} and type {kind}: give the path of a file, a Pillow image, or an array (H, W, 3) "
            "of uint8, red, green and blue"
        )
    return what, np.ascontiguousarray(given)


def box_around(xy: np.ndarray, size: tuple[int, int], margin: float = MARGIN) -> Box:
    """The box of keypoints (n, 2) with a margin, within a picture of that width and height, px."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    extent = np.maximum(high - low, NARROW * (high - low).max())
    middle, half = (low + high) / 2, (0.5 + margin) * extent
    left, top = np.maximum(middle - half, 0)
    right, bottom = np.minimum(middle + half, np.array(size, dtype=float))
    return float(left), float(top), float(right), float(bottom)


def check_box(box: Box, size: tuple[int, int], what: str) -> Box:
    """A box that a user gives, as numbers.

    Raises:
        ValueError: it is not four finite numbers, it has no area, or it is not within the picture.
    """
    try:
        left, top, right, bottom = map(float, box)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}: box {box!r} is not four numbers: give left, top, right, bottom in px") from error
    if not (0 <= left < right <= size[0] and 0 <= top < bottom <= size[1]):
        raise ValueError(
            f"{what}: box {[left, top, right, bottom]} (left, top, right, bottom) is not a part of the picture of "
            f"{size[0]} x {size[1]} px: correct it, or leave it out"
        )
    return left, top, right, bottom
