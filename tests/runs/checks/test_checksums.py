"""One byte altered in any file of a finished run is noticed, by everything that reads the run, and named."""

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbgm.cli import main
from bbgm.config import RunConfig, load_run
from bbgm.runs.checks.checksums import RECORD, altered_files, write_record
from bbgm.runs.results import FILES, OPTIMISER, finished, load, stored_hash
from bbgm.runs.train import run
from bbgm.tables import make_table

OVERRIDES: dict[str, Any] = {
    "protocol": {"test_pairs_per_class": 3},
    "optimiser": {"epochs": 1, "iterations_per_epoch": 1, "batch_size": 2},
    "keep_optimiser": True,
}
ALL = (*FILES, OPTIMISER)


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return load_run("bbgm", "smoke", 0, **OVERRIDES)


@pytest.fixture(scope="module")
def original(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(config, tmp_path_factory.mktemp("original"), progress=False).folder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path))
    return tmp_path


@pytest.fixture
def folder(config: RunConfig, original: Path, root: Path) -> Path:
    """A copy of the run, where a table looks for it."""
    return Path(shutil.copytree(original, root / config.folder))


def flip(path: Path, place: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


@pytest.mark.parametrize("name", ALL)
def test_one_byte_of_each_file(folder: Path, config: RunConfig, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By loading, a table, `bbgm evaluate` and `bbgm verify`."""
    assert finished(config, folder) is not None
    flip(folder / name, (folder / name).stat().st_size // 2)
    assert list(altered_files(folder)) == [name]
    assert finished(config, folder) is None
    message = rf"{folder / name} was altered.* after the run was finished: restore it from a copy, or .*'bbgm train'"
    with pytest.raises(ValueError, match=message):
        load(folder)
    with pytest.raises(ValueError, match=message):
        make_table("Willow", "smoke", folder.parents[4])
    for command in (["evaluate", str(folder)], ["provenance", "--budget", "smoke"]):
        assert main(command) == 2
        assert f"{folder / name} was altered" in capsys.readouterr().err
    assert main(["verify", str(folder), "--files"]) == 1
    assert f"{folder}: differs\n  {name} was altered" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["config.yaml", "split.json", "history.csv", "test_pairs.json", RECORD])
def test_any_byte_of_a_text(folder: Path, name: str) -> None:
    """Some hundred random bits of each, the first and the last byte, and a byte that is added."""
    content = (folder / name).read_bytes()
    generator = np.random.default_rng(0)
    places = [0, len(content) - 1, *generator.integers(len(content), size=150).tolist()]
    for place in places:
        flip(folder / name, place, int(generator.integers(8)))
        assert name in altered_files(folder), (place, (folder / name).read_bytes()[max(0, place - 20) : place + 20])
        (folder / name).write_bytes(content)
    for changed in (content + b" ", b" " + content, content[:-1], content.replace(b"\n", b"\r\n")):
        (folder / name).write_bytes(changed)
        assert name in altered_files(folder)


def test_every_byte_of_the_checksums_themselves(folder: Path) -> None:
    """Their keys too, without which the record would look like that of an earlier version."""
    content = (folder / RECORD).read_bytes()
    for place in range(content.index(b'"checksums"'), len(content)):
        flip(folder / RECORD, place)
        assert RECORD in altered_files(folder), content[place - 10 : place + 10]
        (folder / RECORD).write_bytes(content)


def test_an_edited_score_is_not_printed_but_the_run_repeated(
    folder: Path, config: RunConfig, caplog: pytest.LogCaptureFixture
) -> None:
    """A digit of a class and of the mean; the altered run is kept, and the new one has the old results."""
    before = load(folder).metrics
    record = json.loads((folder / RECORD).read_text())
    record["mean"]["accuracy"] = 0.999
    (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n")
    again = run(config, folder, progress=False)
    assert again.metrics["mean"] == before["mean"]
    (moved,) = (folder / "superseded").iterdir()
    assert f"{folder} holds a damaged run ({RECORD} was altered): moved to {moved}" in caplog.text
    assert json.loads((moved / RECORD).read_text())["mean"]["accuracy"] == 0.999
    assert altered_files(folder) == {}


def test_a_removed_file_is_named(folder: Path) -> None:
    (folder / OPTIMISER).unlink()
    assert altered_files(folder) == {OPTIMISER: "was removed"}


def test_a_run_of_an_earlier_version_has_no_checksums_and_is_read(folder: Path, config: RunConfig) -> None:
    metrics = json.loads((folder / RECORD).read_text())
    del metrics["checksums"]
    (folder / RECORD).write_text(json.dumps(metrics))
    (folder / "history.csv").write_text((folder / "history.csv").read_text() + "\n")
    assert altered_files(folder) == {}
    assert finished(config, folder) is not None
    assert load(folder).metrics == metrics


def test_the_pipeline_reads_no_large_file_to_know_the_hash(
    folder: Path, config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path) -> str:
        raise AssertionError("a checksum was computed")

    monkeypatch.setattr("bbgm.runs.checks.checksums._digest", refuse)
    assert stored_hash(config) == config.hash()


def test_a_checksum_is_that_of_the_usual_tools(tmp_path: Path) -> None:
    """The SHA-256 of "abc" is in FIPS 180-2, B.1."""
    (tmp_path / "a").write_text("abc")
    write_record(tmp_path, {"x": 1}, ["a"])
    record = json.loads((tmp_path / RECORD).read_text())
    assert record["checksums"]["a"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert altered_files(tmp_path) == {}


def test_a_table_lists_runs_that_are_not_finished(
    folder: Path, root: Path, config: RunConfig, caplog: pytest.LogCaptureFixture
) -> None:
    lost = Path(shutil.copytree(folder, folder.with_name("seed1")))
    (lost / RECORD).unlink()
    caplog.set_level(logging.WARNING, "bbgm")
    table = make_table("Willow", "smoke", root)
    assert table.frame.loc[table.frame["row"] == "obtained", "n"].tolist() == [1]
    assert f"table Willow lacks {lost}, which has no {RECORD}: finish the run with 'bbgm train'" in caplog.text
