"""Image files: their size, and their pixels as the network sees them.

One treatment of each kind of picture, whatever program wrote it:

| kind | what is done |
|---|---|
| grey, palette, CMYK | converted to RGB; CMYK without a colour profile |
| transparency (alpha channel, or in a palette) | ignored: the colours count as they are stored |
| 16 bits per channel | colour: the upper 8 bits count. Grey and float, whose range is unknown: refused |
| animated, several pages | the first picture counts |
| EXIF orientation | not applied; `bbgm.data.readers.placed` refuses such images |
| truncated, more than `MOST_PIXELS`, not one of `FORMATS`, not a file at all | refused |
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from bbgm.base.reading.foreign import describe
from bbgm.data.images.similar import similar_file

FRAME = 256
"""Side of the network's input, px."""

Box = tuple[float, float, float, float]
"""Left, upper, right and lower border of a part of an image, px."""

FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
"""What is read, whatever the file is called: Pillow would start other programs for some formats, such as EPS."""
MOST_PIXELS = 89_478_485
"""Where Pillow begins to warn of decompression bombs; decoded, so many take 0.7 GB."""

_ORIENTATION, _UPRIGHT = 0x0112, 1  # EXIF tag and value; 2 to 8 mean rotated or mirrored


def image_size(path: Path) -> tuple[int, int]:
    """Width and height of an image file in px, read from its header.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the header is broken.
    """
    with _explained(path, "read"), _opened(path) as image:
        return image.size


def is_turned(path: Path) -> bool:
    """Whether an image's EXIF tag asks viewers to rotate or mirror it; `decode` reads it as it is stored."""
    with _explained(path, "read"), _opened(path) as image:
        try:
            exif = Image.Image.getexif(image)  # the method of a format may decode the whole image
        except Exception:  # damaged EXIF data raise all kinds of errors, and viewers ignore them
            return False
        return exif.get(_ORIENTATION, _UPRIGHT) in range(2, 9)


def decode(path: Path, box: Box | None = None) -> np.ndarray:
    """(FRAME, FRAME, 3) uint8 RGB: an image, or the part of it within a box, resized with bicubic interpolation.

    The aspect ratio is not kept. What is done with each kind of picture is above.

    Raises:
        FileNotFoundError: no such file.
        ValueError: as `read_rgb`; or the box is not within the image.
    """
    with _explained(path, "decoded"), _opened(path) as image:
        return framed(_as_rgb(path, image), box)


def read_rgb(path: Path, upright: bool = False) -> np.ndarray:
    """(H, W, 3) uint8 RGB: an image as it is stored. What is done with each kind of picture is above.

    Args:
        upright: as viewers show it instead: turned by its EXIF tag.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the file is truncated, not an image, too large, or of wide numbers of an unknown range (16-bit grey,
            float).
    """
    with _explained(path, "decoded"), _opened(path) as image:
        return np.array(_as_rgb(path, ImageOps.exif_transpose(image) if upright else image))


def framed(image: Image.Image, box: Box | None = None) -> np.ndarray:
    """(FRAME, FRAME, 3) uint8: an RGB image, or the part of it within a box, as the network gets it.

    Raises:
        ValueError: the box is not within the image.
    """
    return np.array(image.resize((FRAME, FRAME), Image.Resampling.BICUBIC, box))


def _as_rgb(path: Path, image: Image.Image) -> Image.Image:
    if image.mode[0] in "IF":  # Pillow would cut off what is above 255, and give a white image
        raise _Refused(
            f"image {path} has more than 8 bits per channel (mode {image.mode}): convert it to 8 bits, for example "
            f"with 'mogrify -auto-level -depth 8 {path.name}'"
        )
    with_palette = image.mode == "P" and "transparency" in image.info
    read = image.convert("RGBA") if with_palette else image  # the same colours, and Pillow does not warn
    return read if read.mode == "RGB" else read.convert("RGB")  # which would copy one that is RGB already


def warped(pixels: np.ndarray, view: tuple[float, ...]) -> np.ndarray:
    """The input (FRAME, FRAME, 3) uint8 under a map of ``KeypointImage.view``; what lies outside is its mean colour."""
    forward = np.array([view[:3], view[3:], (0, 0, 1)])
    back = np.linalg.inv(forward)[:2].ravel().tolist()  # Pillow asks for the place in the input of each output pixel
    outside = tuple(int(value) for value in pixels.mean(axis=(0, 1)))
    moved = Image.fromarray(pixels).transform(
        (FRAME, FRAME), Image.Transform.AFFINE, back, Image.Resampling.BICUBIC, fillcolor=outside
    )
    return np.array(moved)


def missing_image(path: Path) -> FileNotFoundError:
    """The error of a missing file, with the name that was probably meant."""
    other = similar_file(path)
    remedy = f"did you mean {other}? Correct the name, or rename the file" if other else "put it back"
    return FileNotFoundError(f"image {path} is missing: {remedy}")


class _Refused(ValueError):
    """Has its message already."""


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """An image file with its header read.

    Raises:
        ValueError: not a file, or more than `MOST_PIXELS`.
    """
    if path.exists() and not path.is_file():  # a pipe would wait for its writer, a device never end
        raise ValueError("it is not a file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # larger ones are refused
        image = Image.open(path, formats=FORMATS)
    with image:
        if image.width * image.height > MOST_PIXELS:
            raise _too_large(path, f"{image.width} x {image.height} px, the limit is {MOST_PIXELS} px")
        yield image


@contextmanager
def _explained(path: Path, done: str) -> Iterator[None]:
    """Say of a file that Pillow cannot open or decode what is wrong with it, and what helps."""
    try:
        yield
    except FileNotFoundError as error:
        raise missing_image(path) from error
    except _Refused:
        raise
    except Image.DecompressionBombError as error:
        raise _too_large(path, error) from error
    except Exception as error:  # Pillow raises about ten types for broken files
        fault = f"cannot be {done} ({error}): it is truncated or not an image; copy it again"
        raise ValueError(f"image {describe(path, fault)}") from error


def _too_large(path: Path, error: Exception | str) -> _Refused:
    return _Refused(f"image {path} is too large ({error}): scale it down, and its keypoints with it")
