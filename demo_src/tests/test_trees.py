"""Trees of demo data: the same bytes for the same seed, whole or absent, safe for two processes."""

import hashlib
import json
import pkgutil
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import bbgm_demo
import numpy as np
import pytest
from bbgm_demo import CLASSES, FORMATS, MANIFEST, WriteError, make_tree, make_trees, manifest
from bbgm_demo.__main__ import main
from bbgm_demo.formats.willow import FOLDER, mat_bytes, write_example
from bbgm_demo.seeds import key
from scipy.io import loadmat
from threadpoolctl import threadpool_info

SEED, IMAGES = 0, 8
"""Of the fixture ``trees``."""
FEW = 4
"""Images per class of the small trees."""

MAKE = """
import sys; from pathlib import Path; from bbgm_demo import make_tree; make_tree(Path(sys.argv[1]), 'willow', {}, {})
"""


def digests(tree: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, without the manifest."""
    files = sorted(file for file in tree.rglob("*") if file.is_file() and file.name != MANIFEST)
    return {file.relative_to(tree).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def first_few(trees: dict[str, Path]) -> dict[str, str]:
    """Digests of the first images of each class in Willow's format: those of a small tree with the same seed."""
    few = {f"demo_{index:04d}" for index in range(FEW)}
    return {name: digest for name, digest in digests(trees["willow"]).items() if Path(name).stem in few}


def start(folder: Path, seed: int, images: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", MAKE.format(seed, images), str(folder)])


BYTES = {
    "AVX-512": {
        "willow": "bb9c7272d32f69bae10d9bde541a35991daf385c8777c10ff1f627c115b32173",
        "voc": "ba8cf4b65aece747122b10015d7c2f44a5c2020cd23734a73f5c44555b19a950",
        "spair": "c57f0c57aa0b0926901fd8e67ab3f7556ea6c290971c16e206e1766cf9c14ce3",
    },
    "AVX2": {
        "willow": "55bdaa5ac4c22e01f3b8700f94f706454de2a183a3f2f5988b00b9ae46d31ffa",
        "voc": "d499870b77ed3b6daf0f70521d0a614b4407e56d9faa27471f961edf3730f034",
        "spair": "6b372ae5640995fd8237c79fd602c6bd1c4d6b1eae6de2bee9266b6b5c07aa85",
    },
}
"""Hash of each tree of the fixture: of the names and SHA-256 of its files, without the manifest. NumPy and OpenBLAS
round differently with other vector instructions, which changes the last digits of a pixel here and there."""
INSTRUCTIONS = {"SkylakeX": "AVX-512", "Haswell": "AVX2", "Zen": "AVX2"}
"""OpenBLAS's name of a processor -> vector instructions that it and NumPy use there."""
MADE_WITH = {"numpy": "2.4.6", "pillow": "13.0.0", "scipy": "1.17.1"}
"""Versions of what the bytes also depend on."""


@pytest.mark.parametrize("format", FORMATS)
def test_the_bytes_are_those_of_earlier_versions(trees: dict[str, Path], format: str) -> None:
    """Results on demo data can be compared between versions only as long as this holds."""
    if other := {name: version(name) for name, known in MADE_WITH.items() if version(name) != known}:
        pytest.skip(f"the bytes are known for {MADE_WITH}, these are {other}")
    processor = next((library.get("architecture") for library in threadpool_info()), None)
    if processor not in INSTRUCTIONS:
        pytest.skip(f"the bytes are known for processors like {list(INSTRUCTIONS)}, this one is {processor}")
    listing = json.dumps(digests(trees[format]), sort_keys=True)
    assert hashlib.sha256(listing.encode()).hexdigest() == BYTES[INSTRUCTIONS[processor]][format]


@pytest.mark.parametrize("format", FORMATS)
def test_manifest_lists_parameters_and_files(trees: dict[str, Path], format: str) -> None:
    stored = json.loads((trees[format] / MANIFEST).read_text())
    assert set(stored.pop("files")) == digests(trees[format]).keys()
    assert stored == manifest(format, SEED, IMAGES)
    assert not [file for file in trees[format].parent.iterdir() if file.suffix == ".part"]


@pytest.mark.parametrize("cls", CLASSES)
def test_an_image_does_not_depend_on_the_others(trees: dict[str, Path], tmp_path: Path, cls: str) -> None:
    """One image by itself is what it was in the middle of the data set; another seed gives another one."""
    for number, seed in enumerate(([SEED, key(cls), 2], [SEED + 1, key(cls), 2])):
        write_example(tmp_path / f"{number}", cls, seed)
    for suffix in (".png", ".mat"):
        stored = (trees["willow"] / cls / f"demo_0002{suffix}").read_bytes()
        assert (tmp_path / f"0{suffix}").read_bytes() == stored
        assert (tmp_path / f"1{suffix}").read_bytes() != stored


def test_made_once(trees: dict[str, Path]) -> None:
    before = {file: file.stat().st_mtime_ns for file in trees["willow"].rglob("*")}
    assert make_tree(trees["willow"].parent, "willow", SEED, IMAGES) == trees["willow"]
    assert {file: file.stat().st_mtime_ns for file in trees["willow"].rglob("*")} == before


def test_killed_and_raced(trees: dict[str, Path], tmp_path: Path) -> None:
    """A process killed half-way leaves the old tree; two at once then make the same new one, byte for byte."""
    old = tmp_path / FOLDER
    (old / "Car").mkdir(parents=True)
    (old / "Car" / "stale.png").write_bytes(b"of an older renderer")
    (old / MANIFEST).write_text(json.dumps({**manifest("willow", SEED, IMAGES), "renderer": "older"}))
    killed = start(tmp_path, SEED, 1000)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob(f".{FOLDER}.*.part/*/*.png")):
        assert killed.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert (old / "Car" / "stale.png").is_file()

    both = [start(tmp_path, SEED, FEW) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert digests(old) == first_few(trees)
    assert {file.name for file in tmp_path.iterdir()} == {FOLDER, f".{FOLDER}.lock"}


def test_deleted_files_are_made_again(trees: dict[str, Path], tmp_path: Path) -> None:
    tree = tmp_path / FOLDER
    shutil.copytree(trees["willow"], tree)
    stored = json.loads((tree / MANIFEST).read_text())
    few = first_few(trees)
    (tree / MANIFEST).write_text(json.dumps({**stored, "images_per_class": FEW, "files": list(few)}))
    (tree / "Car" / "demo_0001.png").unlink()
    shutil.rmtree(tree / "Duck")
    make_tree(tmp_path, "willow", SEED, FEW)
    assert digests(tree) == few


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    """The real data set, or anything else of that name, is never replaced."""
    (tmp_path / FOLDER / "Car").mkdir(parents=True)
    with pytest.raises(FileExistsError, match=r"exists and is no demo data: choose another folder"):
        make_tree(tmp_path, "willow", SEED, IMAGES)
    assert (tmp_path / FOLDER / "Car").is_dir()


def test_too_few_images(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"images_per_class is 3, must be at least 4"):
        make_tree(tmp_path, "willow", SEED, 3)
    with pytest.raises(ValueError, match="seed of the demo data is -1"):
        make_tree(tmp_path, "willow", -1, IMAGES)
    with pytest.raises(ValueError, match=r"have the formats \['willow', 'voc', 'spair'\], not 'coco'"):
        make_tree(tmp_path, "coco", SEED, IMAGES)
    assert not list(tmp_path.iterdir())


def test_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match=r"cannot write .*file"):
        make_tree(tmp_path / "file" / "folder", "willow", SEED, IMAGES)


def test_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of a file stops the writer as a full disk does."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000)); "
    code = limit + MAKE.format(SEED, IMAGES)
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    last = ended.stderr.strip().splitlines()[-1]
    assert "cannot write" in last
    assert "free some space" in last
    assert [file.name for file in tmp_path.iterdir()] == [f".{FOLDER}.lock"]


def test_mat_bytes_carry_the_points_and_no_date(tmp_path: Path) -> None:
    xy = np.random.default_rng(0).uniform(1, 99, (10, 2))
    (tmp_path / "a.mat").write_bytes(mat_bytes(xy))
    np.testing.assert_array_equal(loadmat(tmp_path / "a.mat")["pts_coord"], xy.T)
    assert mat_bytes(xy)[:116].rstrip() == b"MATLAB 5.0 MAT-file"


def test_command(trees: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "--formats", "willow", "--seed", str(SEED), "--images", str(FEW)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / FOLDER}\n"
    assert digests(tmp_path / FOLDER) == first_few(trees)
    assert main([str(tmp_path), "--images", "3"]) == 2
    assert capsys.readouterr().err.startswith("bbgm_demo: error: images_per_class is 3, must be at least 4")


def test_a_wrong_name_is_reported_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not 'coco'"):
        make_trees(tmp_path, ["willow", "coco"])
    assert not list(tmp_path.iterdir())


def test_it_knows_nothing_of_bbgm() -> None:
    """Every module can be imported where bbgm cannot."""
    names = [info.name for info in pkgutil.walk_packages(bbgm_demo.__path__, "bbgm_demo.")]
    assert len(names) > 20
    code = f"import sys, importlib; sys.modules['bbgm'] = None; [importlib.import_module(name) for name in {names}]"
    subprocess.run([sys.executable, "-c", code], check=True)
