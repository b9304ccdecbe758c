"""The cache of decoded images: the right pixels, whoever fills it, whatever happened to it before."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bbgm.base.atomic import WriteError
from bbgm.data.images import crops as module
from bbgm.data.images.crops import CropCache
from bbgm.data.images.pictures import FRAME, Box, decode, image_size

BOX: Box = (3.25, 2.0, 31.5, 27.0)
FILL = """
import sys
from pathlib import Path
from bbgm.data.images.crops import CropCache
CropCache(Path(sys.argv[1])).fill([(path, None) for path in sorted(Path(sys.argv[2]).glob("*.jpg"))])
"""


def write_images(folder: Path, count: int = 6, side: int = 40) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{k:03d}.jpg" for k in range(count)]
    for k, path in enumerate(paths):
        pixels = np.random.default_rng(k).integers(0, 255, (side, side, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
    return paths


def start(file: Path, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", FILL, str(file), str(folder)])


def test_pixels_are_those_of_pillow(tmp_path: Path) -> None:
    path = write_images(tmp_path, 1)[0]
    with Image.open(path) as image:
        part = image.resize((FRAME, FRAME), Image.Resampling.BICUBIC, box=BOX)
    np.testing.assert_array_equal(decode(path, BOX), np.asarray(part))
    assert (decode(path, BOX) != decode(path)).any()
    assert image_size(path) == (40, 40)
    grey = tmp_path / "grey.png"
    Image.new("L", (5, 7), 99).save(grey)
    assert (decode(grey) == 99).all()
    assert decode(grey).shape == (FRAME, FRAME, 3)


def test_crops_come_from_the_file_and_are_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write_images(tmp_path / "images")
    wanted: list[tuple[Path, Box | None]] = [(path, box) for path in paths for box in (None, BOX)]
    expected = [decode(*one) for one in wanted]
    CropCache(tmp_path / "c" / "x.crops").fill(wanted)
    monkeypatch.setattr(module, "decode", lambda *_: pytest.fail("decoded again"))
    cache = CropCache(tmp_path / "c" / "x.crops")
    cache.fill(wanted)
    assert len(cache) == 12
    for one, pixels in zip(wanted, expected, strict=True):
        found = cache.crop(*one)
        np.testing.assert_array_equal(found, pixels)
        found[:] = 0
        np.testing.assert_array_equal(cache.crop(*one), pixels)


def test_a_single_crop_is_kept_too(tmp_path: Path) -> None:
    path = write_images(tmp_path)[0]
    first, second = CropCache(tmp_path / "x.crops"), CropCache(tmp_path / "x.crops")
    np.testing.assert_array_equal(first.crop(path), decode(path))
    assert (len(first), len(second)) == (1, 0)
    np.testing.assert_array_equal(second.crop(path), decode(path))  # which takes over what the first has written
    assert len(second) == 1
    assert (tmp_path / "x.crops").stat().st_size == module._TABLE + module._SLOT


@pytest.mark.parametrize("change", ["content", "time", "software"])
def test_what_a_crop_depends_on_makes_it_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    path = write_images(tmp_path)[0]
    cache = CropCache(tmp_path / "x.crops")
    cache.crop(path)
    if change == "content":
        Image.new("RGB", (9, 9), "red").save(path)
    elif change == "time":
        os.utime(path, ns=(0, 0))
    else:
        monkeypatch.setattr(module, "_DEPENDS", [2, FRAME, "bicubic", "9.9", "3"])
    np.testing.assert_array_equal(cache.crop(path), decode(path))
    assert len(cache) == 2


def test_damaged_crop_is_decoded_again(tmp_path: Path) -> None:
    """As after a power failure, which may keep a record without its pixels."""
    paths = write_images(tmp_path)
    file = tmp_path / "x.crops"
    CropCache(file).fill([(path, None) for path in paths])
    with file.open("r+b") as stream:
        stream.seek(module._TABLE + 2 * module._SLOT + 5000)
        stream.write(bytes(4096))
    for _ in range(2):  # this process, and one that finds the new copy in the file
        cache = CropCache(file)
        for path in paths:
            np.testing.assert_array_equal(cache.crop(path), decode(path))
    assert file.stat().st_size == module._TABLE + 7 * module._SLOT


@pytest.mark.parametrize("size", [0, 1000, module._TABLE, module._TABLE + module._SLOT + 1000])
def test_a_file_cut_short_is_filled_again(tmp_path: Path, size: int) -> None:
    paths = write_images(tmp_path)
    file = tmp_path / "x.crops"
    CropCache(file).fill([(path, None) for path in paths])
    os.truncate(file, size)
    cache = CropCache(file)
    assert len(cache) == (size > module._TABLE)
    cache.fill([(path, None) for path in paths])
    for path in paths:
        np.testing.assert_array_equal(cache.crop(path), decode(path))


def test_a_file_deleted_while_in_use_costs_nothing_but_time(tmp_path: Path) -> None:
    paths = write_images(tmp_path)
    file = tmp_path / "x.crops"
    cache = CropCache(file)
    cache.fill([(path, None) for path in paths[:3]])
    file.unlink()
    CropCache(file).crop(paths[5])
    for path in (*paths, *paths):
        np.testing.assert_array_equal(cache.crop(path), decode(path))


def test_full_table_only_costs_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CAPACITY", 2)
    monkeypatch.setattr(module, "_TABLE", 2 * module._RECORD.itemsize)
    cache = CropCache(tmp_path / "x.crops")
    paths = write_images(tmp_path)
    cache.fill([(path, None) for path in paths])
    assert len(cache) == 2
    for path in paths:
        np.testing.assert_array_equal(cache.crop(path), decode(path))


def test_killed_and_racing_writers_leave_the_right_pixels(tmp_path: Path) -> None:
    """A writer is killed; two others then fill the file together: each image once, and the right pixels."""
    file, folder = tmp_path / "x.crops", tmp_path / "images"
    paths = write_images(folder, 300, 200)
    killed = start(file, folder)
    deadline = time.monotonic() + 120
    while not file.is_file() or file.stat().st_size <= module._TABLE:
        assert killed.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    both = [start(file, folder) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert file.stat().st_size == module._TABLE + 300 * module._SLOT
    cache = CropCache(file)
    assert len(cache) == 300
    for path in paths[::7]:
        np.testing.assert_array_equal(cache.crop(path), decode(path))


def test_broken_and_missing_images_are_found_when_filling(tmp_path: Path) -> None:
    paths = write_images(tmp_path)
    whole = paths[3].read_bytes()
    paths[3].write_bytes(whole[: len(whole) // 2])
    cache = CropCache(tmp_path / "x.crops")
    with pytest.raises(ValueError, match=r"003\.jpg cannot be decoded .*truncated.*copy it again"):
        cache.fill([(path, None) for path in paths])
    paths[3].write_bytes(whole)
    cache.fill([(path, None) for path in paths])
    paths[1].unlink()
    for call in (cache.crop, decode, image_size):
        with pytest.raises(FileNotFoundError, match=r"001\.jpg is missing: put it back"):
            call(paths[1])
    with pytest.raises(ValueError, match=r"000\.jpg cannot be decoded \(.*[Bb]ox"):
        decode(paths[0], (0, 0, 41, 40))


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    paths = write_images(tmp_path)
    CropCache(tmp_path / "x.crops").crop(paths[0])
    (tmp_path / "file").write_text("in the way")
    cache = CropCache(tmp_path / "x.crops")
    cache.file = tmp_path / "file" / "x.crops"
    with pytest.raises(WriteError, match=r"cannot write .*x\.crops.*BBGM_CACHE"):
        cache.crop(paths[1])


def test_a_full_disk_is_named_and_what_is_there_stays_usable(tmp_path: Path) -> None:
    """A limit on the size of a file stops the writer as a full disk does; what is there stays usable."""
    write_images(tmp_path / "images")
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({module._TABLE + 300_000},) * 2)\n"
    command = [sys.executable, "-c", limit + FILL, str(tmp_path / "x.crops"), str(tmp_path / "images")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "free some space" in ended.stderr.splitlines()[-1]
    cache = CropCache(tmp_path / "x.crops")
    assert len(cache) == 1
    paths = sorted((tmp_path / "images").iterdir())
    cache.fill([(path, None) for path in paths])
    for path in paths:
        np.testing.assert_array_equal(cache.crop(path), decode(path))
