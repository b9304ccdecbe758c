"""``bbgm match`` on your own pictures: what it prints and writes, and one line for every mistake."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bbgm.cli import main
from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.data.images.keypoints import FRAME


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """a.png and b.png with named points a.json and b.json, and the same without names: a0.json and b0.json."""
    folder = tmp_path_factory.mktemp("own")
    config = load_run("bbgm", "smoke", 0, dataset="willow", data={"classes": ["Duck"]})
    for name, image in zip("ab", open_dataset(config.data, config.protocol).test["Duck"], strict=False):
        shutil.copy(image.path, folder / f"{name}.png")
        points = (image.xy * np.array(image.size) / FRAME).tolist()
        (folder / f"{name}.json").write_text(json.dumps(dict(zip(image.names, points, strict=True))))
        (folder / f"{name}0.json").write_text(json.dumps(points))
    return folder


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


PAIR = ("match", "a.png", "b.png", "--points", "a.json", "b.json")


def test_it_prints_draws_and_writes(here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figure, output = tmp_path / "m.png", tmp_path / "m.json"
    assert main([*PAIR, "--figure", str(figure), "--edges", "--output", str(output)]) == 0
    printed = capsys.readouterr().out.splitlines()
    record = json.loads(output.read_text())
    assert len(printed) == 13
    assert printed[10] == f"{record['right']} of 10 right"
    assert printed[11].startswith("cost -")
    assert printed[11].endswith("proved optimal")
    assert printed[12] == "model bbgm-toys (comes with bbgm; trained on rendered toys only, willow format)"
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert main([*PAIR, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == record


def test_without_names(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PAIR, "--json"]) == 0
    named = json.loads(capsys.readouterr().out)
    assert main(["match", "a.png", "b.png", "--points", "a0.json", "b0.json", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert [one["index"] for one in plain["matches"]] == [one["index"] for one in named["matches"]]
    assert "right" not in plain
    assert plain["matches"][3]["names"] == [str(k) for k in plain["matches"][3]["index"]]


def test_boxes_change_what_is_seen(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Image.open("a.png") as one, Image.open("b.png") as two:
        boxes = [["--box", "0", "0", *map(str, image.size)] for image in (one, two)]
    assert main([*PAIR, *boxes[0], *boxes[1], "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main([*PAIR, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unary"] != whole["unary"]
    assert whole["pictures"][0]["box"] == [0, 0, *whole["pictures"][0]["size"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("match", "a.png", "b.png"), "give two pictures and their points"),
        (("match", "a.png", "--points", "a.json", "b.json"), "give two pictures and their points"),
        (("match", "run", "a", "b", "--partial"), "--partial is for pictures of your own"),
        (("match", "c.png", "b.png", "--points", "a.json", "b.json"), "image c.png is missing"),
        (("match", "a.json", "b.png", "--points", "a.json", "b.json"), "truncated or not an image"),
        (("match", "a.png", "b.png", "--points", "c.json", "b.json"), "no points file c.json"),
        (("match", "a.png", "b.png", "--points", "a.png", "b.json"), "points file a.png is not valid JSON"),
        ((*PAIR, "--model", "c.safetensors"), "no model c.safetensors"),
        ((*PAIR, "--model", "a.png"), "is not a safetensors file"),
        ((*PAIR, "--model", "."), "is not the folder of a finished run"),
        ((*PAIR, "--box", "0", "0", "50", "50"), "--box is given 1 times"),
        ((*PAIR, *("--box", "0", "0", "9999", "50") * 2), "is not a part of the picture"),
        ((*PAIR, *("--box", "0", "0", "20", "20") * 2), "is outside of the box"),
        ((*PAIR, "--solver", "sync"), "solver 'sync' is not one of"),
        ((*PAIR, "--figure", "m.gif"), "figure m.gif has the suffix '.gif'"),
        ((*PAIR, "--output", "."), "it is not a file"),
    ],
)
def test_mistakes_are_one_line(
    here: Path, error_of: Callable[..., str], arguments: tuple[str, ...], message: str
) -> None:
    assert message in error_of(*arguments)
