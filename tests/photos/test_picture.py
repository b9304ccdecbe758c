"""Pictures in every form that users have them in, and the part of them that the network sees."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bbgm.data.images.pictures import FRAME, decode
from bbgm.photos.picture import MARGIN, NARROW, Picture, box_around, check_box, read_pixels

PIXELS = np.random.default_rng(0).integers(0, 255, (40, 60, 3), dtype=np.uint8)


def test_the_same_pixels_from_a_file_an_array_and_pillow(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(PIXELS).save(path)
    for form in (path, str(path), PIXELS, Image.fromarray(PIXELS), PIXELS[:, ::-1][:, ::-1]):
        np.testing.assert_array_equal(read_pixels(form)[1], PIXELS)
    assert read_pixels(path)[0] == "a.png"
    box = (3.5, 2.0, 50.0, 39.0)
    np.testing.assert_array_equal(Picture("a", PIXELS, box).crop(), decode(path, box))


@pytest.mark.parametrize("mode", ["L", "P", "CMYK", "RGBA", "1", "LA"])
def test_other_modes_are_read_as_from_a_file(mode: str, tmp_path: Path) -> None:
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    image = Image.fromarray(PIXELS).convert(mode)
    image.save(path)
    np.testing.assert_array_equal(read_pixels(path)[1], read_pixels(image)[1])
    np.testing.assert_array_equal(Image.fromarray(read_pixels(path)[1]).resize((FRAME, FRAME), 3), decode(path))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (PIXELS[..., 0], r"second picture has shape \(40, 60\) and type uint8: give the path"),
        (PIXELS.astype(float), "type float64"),
        (PIXELS.transpose(2, 0, 1), r"shape \(3, 40, 60\)"),
        (PIXELS[:0], r"shape \(0, 60, 3\)"),
        (PIXELS.tolist(), "type list"),
        (None, "type NoneType"),
        (Image.new("I;16", (5, 5)), "more than 8 bits per channel"),
    ],
)
def test_wrong_arrays(wrong: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_pixels(wrong, "second picture")


def test_turned_pictures_are_refused_as_by_the_readers(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "phone.jpg"
    Image.fromarray(PIXELS).save(path, exif=exif)
    with pytest.raises(ValueError, match=r"phone\.jpg has an EXIF tag .*mogrify -auto-orient phone\.jpg"):
        read_pixels(path)
    with Image.open(path) as image, pytest.raises(ValueError, match="exif_transpose"):
        read_pixels(image)
    exif[0x0112] = 1
    Image.fromarray(PIXELS).save(path, exif=exif)
    assert read_pixels(path)[1].shape == PIXELS.shape


def test_files_that_are_no_pictures(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.jpg is missing"):
        read_pixels(tmp_path / "none.jpg")
    text = tmp_path / "a.jpg"
    text.write_text("hello")
    with pytest.raises(ValueError, match="truncated or not an image"):
        read_pixels(text)
    Image.fromarray(PIXELS).save(text)
    text.write_bytes(text.read_bytes()[:600])
    with pytest.raises(ValueError, match="truncated or not an image"):
        read_pixels(text)
    with pytest.raises(ValueError, match="cannot be decoded"):
        read_pixels(tmp_path)


@given(st.integers(0, 2**32 - 1), st.integers(3, 12))
def test_the_default_box_is_around_the_points_and_in_the_picture(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    size = tuple(rng.integers(10, 500, 2).tolist())
    xy = rng.uniform(0, size, (n, 2))
    left, top, right, bottom = box = box_around(xy, size)
    assert check_box(box, size, "a") == box
    low, high = xy.min(axis=0), xy.max(axis=0)
    extent = high - low
    assert ((left, top) <= np.maximum(low - MARGIN * extent, 0) + 1e-9).all()
    assert ((right, bottom) >= np.minimum(high + MARGIN * extent, size) - 1e-9).all()
    inside = Picture("a", np.zeros((size[1], size[0], 3), np.uint8), box).to_frame(xy)
    assert (inside >= 0).all()
    assert (inside <= FRAME).all()


def test_the_box_of_a_narrow_object_is_not_a_slit() -> None:
    left, top, right, bottom = box_around(np.array([[50, 10], [51, 50], [50, 90]]), (100, 100), margin=0)
    assert (bottom - top, right - left) == (80, NARROW * 80)
    assert (left + right) / 2 == 50.5


@pytest.mark.parametrize(
    "box", [(0, 0, 61, 40), (-1, 0, 5, 5), (5, 5, 5, 9), (9, 0, 3, 5), (0, 0, float("nan"), 5), (1, 2, 3), "abcd", None]
)
def test_wrong_boxes(box: Any) -> None:
    with pytest.raises(ValueError, match=r"a\.jpg: box .* is not"):
        check_box(box, (60, 40), "a.jpg")


def test_points_outside_of_the_box() -> None:
    picture = Picture("a.jpg", PIXELS, (10.0, 10.0, 30.0, 30.0))
    np.testing.assert_allclose(picture.to_frame(np.array([[10, 20], [30, 30]])), [[0, 128], [256, 256]])
    with pytest.raises(ValueError, match=r"a\.jpg: \[\[31.0, 20.0\]\] is outside of the box \[10.0, .*larger box"):
        picture.to_frame(np.array([[20, 20], [31.0, 20]]))
