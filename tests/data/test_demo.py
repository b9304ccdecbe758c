"""The demo data on disk: complete, the same bytes for the same seed, whole or absent, safe for two processes."""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bbgm.base.atomic import WriteError
from bbgm.config import ProtocolConfig, make_data
from bbgm.data import make_demo, open_dataset
from bbgm.data.demo import MANIFEST, demo_root, manifest
from bbgm.data.demo.willow import mat_bytes, write_example
from bbgm.data.images.split import class_key
from bbgm.data.readers.willow import FOLDER, KEYPOINT_NAMES, read_points, read_willow
from bbgm.data.status import data_status

SEED, IMAGES = 3, 4
MAKE = "import sys; from pathlib import Path; from bbgm.data import make_demo; make_demo(Path(sys.argv[1]), {}, {})"


def digest(tree: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, the manifest left out."""
    files = sorted(file for file in tree.rglob("*") if file.is_file() and file.name != MANIFEST)
    return {str(file.relative_to(tree)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def start(folder: Path, seed: int, images: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", MAKE.format(seed, images), str(folder)])


def status() -> str:
    """The report, about the small demo data."""
    return data_status(demo_seed=SEED, demo_images_per_class=IMAGES).text


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small demo tree, made once."""
    return make_demo(tmp_path_factory.mktemp("demo"), SEED, IMAGES)


def test_tree_is_readable_as_willow(demo: Path) -> None:
    images, applied = read_willow(demo)
    assert list(images) == list(KEYPOINT_NAMES)
    assert applied == ()
    for members in images.values():
        assert [image.image_id.split("/")[1] for image in members] == [f"demo_{k:04d}" for k in range(IMAGES)]
        for image in members:
            assert all(256 <= side <= 400 for side in image.size)
            assert image.xy.shape == (10, 2)
            assert image.xy.min() > 4
            assert image.xy.max() < 252
            assert image.crop().std() > 15  # a picture, no plain area
    stored = json.loads((demo / MANIFEST).read_text())
    assert set(stored.pop("files")) == digest(demo).keys()
    assert stored == manifest(SEED, IMAGES)
    assert not [file for file in demo.parent.iterdir() if file.suffix == ".part"]


@pytest.mark.parametrize("cls", KEYPOINT_NAMES)
def test_same_bytes_for_the_same_seed_in_any_order(demo: Path, tmp_path: Path, cls: str) -> None:
    """One image by itself is what it was in the middle of the data set; another seed gives another one."""
    for number, seed in enumerate(([SEED, class_key(cls), 2], [SEED + 1, class_key(cls), 2])):
        write_example(tmp_path / f"{number}", cls, seed)
    for suffix in (".png", ".mat"):
        stored = (demo / cls / f"demo_0002{suffix}").read_bytes()
        assert (tmp_path / f"0{suffix}").read_bytes() == stored
        assert (tmp_path / f"1{suffix}").read_bytes() != stored


def test_made_once(demo: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in demo.rglob("*")}
    assert make_demo(demo.parent, SEED, IMAGES) == demo
    assert {file: file.stat().st_mtime_ns for file in demo.rglob("*")} == before


def test_killed_and_raced(demo: Path, tmp_path: Path) -> None:
    """A process killed half-way leaves the old tree; two at once then make the same new one, byte for byte."""
    old = tmp_path / FOLDER
    (old / "Car").mkdir(parents=True)
    (old / "Car" / "stale.png").write_bytes(b"of an older renderer")
    (old / MANIFEST).write_text(json.dumps({**manifest(SEED, IMAGES), "renderer": "older"}))
    killed = start(tmp_path, SEED, 1000)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob(f".{FOLDER}.*.part/*/*.png")):
        assert killed.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert (old / "Car" / "stale.png").is_file()

    both = [start(tmp_path, SEED, IMAGES) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert digest(old) == digest(demo)
    assert {file.name for file in tmp_path.iterdir()} == {FOLDER, ".demo.lock"}


def test_deleted_files_are_made_again(tmp_path: Path) -> None:
    tree = make_demo(tmp_path, SEED, 4)
    whole = digest(tree)
    (tree / "Car" / "demo_0001.png").unlink()
    shutil.rmtree(tree / "Duck")
    make_demo(tmp_path, SEED, 4)
    assert digest(tree) == whole


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    """The real data set, or anything else of that name, is never replaced."""
    (tmp_path / FOLDER / "Car").mkdir(parents=True)
    with pytest.raises(FileExistsError, match=r"exists and is no demo data: choose another folder"):
        make_demo(tmp_path, SEED, IMAGES)
    assert (tmp_path / FOLDER / "Car").is_dir()


def test_too_few_images(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"images_per_class is 3, must be at least 4"):
        make_demo(tmp_path, SEED, 3)
    with pytest.raises(ValueError, match="seed of the demo data is -1"):
        make_demo(tmp_path, -1, IMAGES)
    with pytest.raises(ValueError, match=r"have the formats \['willow', 'voc', 'spair'\], not 'coco'"):
        make_demo(tmp_path, SEED, IMAGES, "coco")
    assert not list(tmp_path.iterdir())


def test_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match=r"cannot write .*file"):
        make_demo(tmp_path / "file" / "folder", SEED, IMAGES)


def test_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of a file stops the writer as a full disk does."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000)); "
    code = limit + MAKE.format(SEED, IMAGES)
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    last = ended.stderr.strip().splitlines()[-1]
    assert "cannot write" in last
    assert "free some space" in last
    assert [file.name for file in tmp_path.iterdir()] == [".demo.lock"]


def test_open_dataset_makes_it_on_first_use(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path))
    data = make_data(source="demo", demo_seed=SEED, demo_images_per_class=IMAGES, classes=("Duck", "Car"))
    root = demo_root(SEED, IMAGES)
    assert root.is_relative_to(tmp_path)
    assert "missing" in status().split("Willow ObjectClass\n")[0]
    root.parent.mkdir(parents=True)
    demo.parent.rename(root)  # as if made here; moved back below
    try:
        dataset = open_dataset(data, ProtocolConfig(train_per_class=2))
        assert dataset.classes == ("Duck", "Car")
        assert len(dataset.images("Duck", "train")) == len(dataset.images("Duck", "test")) == 2
        report = status()
        assert f"willow    found, {5 * IMAGES} images" in report
        assert "voc       missing" in report
        assert "MIT" in report
    finally:
        root.rename(demo.parent)


def test_status_of_the_real_data(willow_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BBGM_DATA", str(willow_folder.parent))
    report = data_status().text
    assert "Car 40, Duck 50, Face 109, Motorbike 40, Winebottle 66" in report
    assert "ICCV 2013" in report
    monkeypatch.setenv("BBGM_DATA", str(tmp_path))
    assert f"expected  {tmp_path / FOLDER}" in data_status().text
    assert "https://" in data_status().text


def test_mat_bytes_carry_the_points_and_no_date(tmp_path: Path) -> None:
    xy = np.random.default_rng(0).uniform(1, 99, (10, 2))
    (tmp_path / "a.mat").write_bytes(mat_bytes(xy))
    Image.new("RGB", (100, 100)).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_points(tmp_path / "a.mat", 10, (100, 100)), xy.T)
    assert mat_bytes(xy)[:116].rstrip() == b"MATLAB 5.0 MAT-file"


def test_status_names_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    assert "missing" in status().split("backbone weights")[1]
    (tmp_path / "mine.safetensors").write_bytes(bytes(1_500_000))
    assert "mine.safetensors, 1.5 MB" in status().split("backbone weights")[1]
