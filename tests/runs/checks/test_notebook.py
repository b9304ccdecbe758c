"""The notebook of a run: one altered byte of it is noticed by `bbgm verify` and by tables, which do not need it."""

import logging
import shutil
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from bbgm.cli import main
from bbgm.config import RunConfig, load_run
from bbgm.runs.checks.notebook import KEY, NOTEBOOK, altered_notebook, is_sealed, seal_notebook
from bbgm.runs.checks.verify import verify_run
from bbgm.runs.results import FILES, finished
from bbgm.runs.train import run
from bbgm.tables import make_table

OVERRIDES: dict[str, Any] = {
    "protocol": {"test_pairs_per_class": 3},
    "optimiser": {"epochs": 1, "iterations_per_epoch": 1, "batch_size": 2},
}


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return load_run("bbgm", "smoke", 0, **OVERRIDES)


@pytest.fixture(scope="module")
def original(config: RunConfig, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, and beside it an executed notebook that has a checksum."""
    folder = run(config, tmp_path_factory.mktemp("original"), progress=False).folder
    shutil.copy(project / "notebooks/04_training.ipynb", folder / NOTEBOOK)
    seal_notebook(folder / NOTEBOOK)
    return folder


@pytest.fixture
def folder(config: RunConfig, original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the run, where a table looks for it."""
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path))
    return Path(shutil.copytree(original, tmp_path / config.folder))


def test_a_checksum_changes_nothing_else(folder: Path, project: Path) -> None:
    before, after = (nbformat.read(path, 4) for path in (project / "notebooks/04_training.ipynb", folder / NOTEBOOK))
    nbformat.validate(after)
    assert len(after.metadata.pop(KEY)["sha256"]) == 64
    assert before == after
    content = (folder / NOTEBOOK).read_bytes()
    seal_notebook(folder / NOTEBOOK)
    assert (folder / NOTEBOOK).read_bytes() == content


def test_any_byte(folder: Path) -> None:
    """Random bits, all those of the checksum itself, and a byte that is added or removed."""
    path = folder / NOTEBOOK
    content = path.read_bytes()
    assert is_sealed(folder)
    assert altered_notebook(folder) == ""
    generator, begin = np.random.default_rng(0), content.index(KEY.encode())
    places = [0, len(content) - 1, *generator.integers(len(content), size=300), *range(begin - 2, begin + 110)]
    changed = [bytearray(content) for _ in places]
    for place, one in zip(places, changed, strict=True):
        one[place] ^= 1 << int(generator.integers(8))
    for other in (
        *map(bytes, changed),
        content + b" ",
        b" " + content,
        content[:-1],
        content.replace(b"\n", b"\r\n"),
        b"",
        b"[]",
    ):
        path.write_bytes(other)
        assert altered_notebook(folder).startswith("was altered") or not is_sealed(folder), other[:200]
        assert len(other) < 100 or altered_notebook(folder)


def test_verify_finds_it_and_tables_warn(
    folder: Path, config: RunConfig, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "bbgm")
    table = make_table("Willow", "smoke", folder.parents[4])
    assert caplog.text == ""
    assert main(["verify", str(folder)]) == 0
    path = folder / NOTEBOOK
    content = bytearray(path.read_bytes())
    content[content.index(b"keypoint_filter") + 3] ^= 1
    path.write_bytes(content)
    assert main(["verify", str(folder)]) == 1
    assert f"{folder}: differs\n  {NOTEBOOK} was altered\n" in capsys.readouterr().out
    assert make_table("Willow", "smoke", folder.parents[4]).frame.equals(table.frame)
    assert f"{path} was altered since the run was made; no table depends on it: delete it" in caplog.text
    assert finished(config, folder) is not None  # the run itself is as good as before


def test_a_notebook_without_a_checksum_is_noted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """papermill alone wrote it, or an earlier version."""
    (folder / NOTEBOOK).write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    assert main(["verify", "--files", str(folder)]) == 0
    assert f"note: {NOTEBOOK} has no checksum" in capsys.readouterr().out
    for content in ("[]", '{"metadata": []}', "no JSON"):
        (folder / NOTEBOOK).write_text(content)
        with pytest.raises(ValueError, match=r"no metadata|Expecting value"):
            seal_notebook(folder / NOTEBOOK)


def test_several_bytes_of_every_file_in_the_folder(folder: Path) -> None:
    """Whatever files a run has: a new one without a checksum fails here."""
    generator = np.random.default_rng(1)
    assert verify_run(folder, repeat=False).wrong == ()
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == len(FILES) + 1
    for path in files:
        content = path.read_bytes()
        for place in generator.integers(len(content), size=5):
            changed = bytearray(content)
            changed[place] ^= 1 << int(generator.integers(8))
            path.write_bytes(changed)
            assert any(line.startswith(path.name) for line in verify_run(folder, repeat=False).wrong), (path, place)
        path.write_bytes(content)
