"""Each kind of picture has one treatment, whatever program wrote it."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bbgm.data.images.crops import CropCache
from bbgm.data.images.pictures import decode, image_size

RED = (200, 10, 30)


def colour(path: Path) -> list[int]:
    """The colour of a picture of one colour, read without a warning, also through the cache."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pixels = decode(path)
        np.testing.assert_array_equal(CropCache(path.with_suffix(".crops")).crop(path), pixels)
    assert image_size(path) == (30, 20)
    (values,) = np.unique(pixels.reshape(-1, 3), axis=0)
    return [int(value) for value in values]


def test_transparency_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    for alpha in (0, 90, 255):
        Image.new("RGBA", (30, 20), (*RED, alpha)).save(path)
        assert colour(path) == list(RED)
    Image.new("LA", (30, 20), (77, 5)).save(path)
    assert colour(path) == [77, 77, 77]


@pytest.mark.parametrize("transparency", [0, b"\x00\x80\xff"])
def test_a_palette_with_transparency(tmp_path: Path, transparency: int | bytes) -> None:
    image = Image.new("P", (30, 20), 0)
    image.putpalette([*RED, 1, 2, 3, 4, 5, 6])
    image.save(tmp_path / "a.png", transparency=transparency)
    assert colour(tmp_path / "a.png") == list(RED)


def test_cmyk_is_converted_without_a_profile(tmp_path: Path) -> None:
    Image.new("CMYK", (30, 20), (0, 255, 255, 0)).save(tmp_path / "a.tif")
    assert colour(tmp_path / "a.tif") == [255, 0, 0]
    Image.new("CMYK", (30, 20), (0, 255, 255, 0)).save(tmp_path / "a.jpg", quality=100)
    red, green, blue = colour(tmp_path / "a.jpg")
    assert red > 250
    assert max(green, blue) < 5


@pytest.mark.parametrize("name", ["a.gif", "a.png", "a.webp", "a.tif"])
def test_of_an_animation_the_first_picture_counts(tmp_path: Path, name: str) -> None:
    frames = [Image.new("RGB", (30, 20), one) for one in (RED, (0, 0, 255), (0, 255, 0))]
    options: dict[str, Any] = {"lossless": True} if name == "a.webp" else {}
    frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:], **options)
    with Image.open(tmp_path / name) as image:
        assert image.n_frames == 3
    assert colour(tmp_path / name) == list(RED)


def test_sixteen_bits(tmp_path: Path) -> None:
    """Colour by its upper 8 bits; grey is refused, because its range is unknown."""
    wide = np.full((20, 30, 3), [200 * 256 + 99, 10 * 256 + 255, 30 * 256], np.uint16)
    header = b"P6 30 20 65535\n" + wide.astype(">u2").tobytes()
    (tmp_path / "a.ppm").write_bytes(header)
    red, green, blue = colour(tmp_path / "a.ppm")
    assert abs(red - 200) + abs(green - 10) + abs(blue - 30) <= 1
    for dtype, mode in ((np.uint16, "I;16"), (np.float32, "F")):
        path = tmp_path / "grey.tif"
        Image.fromarray(np.full((20, 30), 4000, dtype)).save(path)
        with pytest.raises(
            ValueError, match=rf"grey\.tif has more than 8 bits .* \(mode {mode}\): convert it .*mogrify"
        ):
            decode(path)


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.gif", "a.webp"])
def test_truncated_pictures_are_refused(tmp_path: Path, name: str) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (200, 300, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / name)
    content = (tmp_path / name).read_bytes()
    for size in (0, 9, len(content) // 2):
        (tmp_path / name).write_bytes(content[:size])
        with pytest.raises(ValueError, match=rf"image .*{name} cannot be decoded .*truncated .*copy it again"):
            decode(tmp_path / name)


def test_a_web_page_instead_of_a_picture(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_text("\n <HTML><body>404</body></HTML>")
    for read in (decode, image_size):
        with pytest.raises(ValueError, match=r"image .*a\.jpg is a web page \(HTML\) .*: download the file again"):
            read(tmp_path / "a.jpg")
