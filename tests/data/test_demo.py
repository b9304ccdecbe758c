"""bbgm and the demo data: read as Willow, made on first use, and a clear message where the renderer is missing."""

import subprocess
import sys
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pytest

from bbgm.base.atomic import WriteError
from bbgm.cli import main
from bbgm.config import ProtocolConfig, make_data
from bbgm.data import open_dataset
from bbgm.data.demo import demo_needs, demo_root, make_demo
from bbgm.data.readers.willow import FOLDER, KEYPOINT_NAMES, read_willow
from bbgm.data.status import data_status

SEED, IMAGES = 3, 4
HOW_TO_INSTALL = (
    "bbgm_demo, which is not installed: run 'pip install ./demo_src' in the checkout, or use a real data set"
)


def status() -> str:
    """The report, about the small demo data."""
    return data_status(demo_seed=SEED, demo_images_per_class=IMAGES).text


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small demo tree, made once."""
    return make_demo(["willow"], SEED, IMAGES, tmp_path_factory.mktemp("demo"))["willow"]


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


def test_pairs_of_spair_are_of_the_photographs_of_voc() -> None:
    assert {name: demo_needs(name) for name in ("willow", "voc", "spair")} == {
        "willow": (),
        "voc": (),
        "spair": ("voc",),
    }


def test_errors_of_writing_are_those_of_bbgm(tmp_path: Path) -> None:
    """They name the variable that moves the cache."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match=r"cannot write .*file/folder: not a directory; .*BBGM_CACHE$"):
        make_demo(["willow"], SEED, IMAGES, tmp_path / "file" / "folder")


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


def test_status_names_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    assert "missing" in status().split("backbone weights")[1]
    (tmp_path / "mine.safetensors").write_bytes(bytes(1_500_000))
    assert "mine.safetensors, 1.5 MB" in status().split("backbone weights")[1]


def test_the_renderer_is_loaded_only_for_demo_data() -> None:
    program = (
        "import sys, bbgm.data, bbgm.data.status, bbgm.runs.plan, bbgm.runs.train; print('bbgm_demo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "False\n"


@pytest.fixture
def no_renderer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Importing bbgm_demo fails as if it were not installed."""
    monkeypatch.setitem(sys.modules, "bbgm_demo", None)
    monkeypatch.delitem(sys.modules, "bbgm.features.pretrain", raising=False)
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("no_renderer")
@pytest.mark.parametrize("dataset", ["willow", "voc", "spair"])
def test_demo_data_without_the_renderer(dataset: str, tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=HOW_TO_INSTALL):
        open_dataset(make_data(dataset=dataset, source="demo"), ProtocolConfig())
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("no_renderer")
@pytest.mark.parametrize(
    "command",
    [
        ("data", "demo"),
        ("plan", "--budget", "demo"),
        ("train", "--budget", "smoke", "--folder", "run"),
        ("pretrain-backbone", "small.safetensors"),
    ],
    ids=lambda command: command[0],
)
def test_commands_that_need_the_renderer_say_so(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    error = capsys.readouterr().err
    assert HOW_TO_INSTALL in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("no_renderer")
def test_commands_that_do_not_need_the_renderer_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain = np.array([[0, 1], [1, 2]])
    gm.write_dd(tmp_path / "problem.dd", gm.Problem(-np.eye(3), chain, chain, -np.ones((2, 2))))
    for command in (("plan", "--budget", "willow"), ("solve", str(tmp_path / "problem.dd")), ("data", "status")):
        assert main(command) == 0, command
    assert HOW_TO_INSTALL in capsys.readouterr().out
