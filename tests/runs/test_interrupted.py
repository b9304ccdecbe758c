"""Runs that are asked to stop, or whose disk fails: a clear error, and later the same numbers as undisturbed."""

import logging
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from bbgm.base.atomic import WriteError
from bbgm.base.lock import LOCK, folder_lock
from bbgm.base.stopping import Terminated, terminable
from bbgm.cli import main
from bbgm.config import RunConfig, load_run
from bbgm.data import open_dataset
from bbgm.methods.base import make_matcher
from bbgm.runs import fit as fitting
from bbgm.runs import train
from bbgm.runs.checkpoint import Checkpoints, History
from bbgm.runs.checks.checksums import RECORD
from bbgm.runs.fit import fit, make_optimiser
from bbgm.runs.results import FILES, TIMING, finished
from bbgm.runs.train import run
from tests.support.kills import kill_again_and_again
from tests.support.training import results_of

EPOCHS = {"epochs": 2, "iterations_per_epoch": 5, "batch_size": 2, "milestones": [1]}
SMALL = {"test_pairs_per_class": 2}
LITTLE = {"refine": False, "freeze_backbone": True}
"""A network whose checkpoints take 3 MB: three of them fit on a disk of 20 MB."""


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return load_run("bbgm", "smoke", 0, protocol=SMALL, optimiser=EPOCHS, network=LITTLE, checkpoint_every=2)


@pytest.fixture(scope="module")
def undisturbed(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return results_of(run(config, tmp_path_factory.mktemp("undisturbed")).folder)


def _fit(
    config: RunConfig, folder: Path, stop_in: int | None = None
) -> tuple[dict[str, torch.Tensor], dict[str, Any], History]:
    """Train; SIGTERM arrives in the middle of an iteration, counted from 1."""
    matcher = make_matcher(config)
    loss, calls = matcher.loss, []

    def interrupted_loss(pairs: Any) -> torch.Tensor:
        calls.append(pairs)
        if len(calls) == stop_in:
            signal.raise_signal(signal.SIGTERM)
        return loss(pairs)

    matcher.loss = interrupted_loss  # type: ignore[method-assign]
    dataset, optimiser = open_dataset(config.data, config.protocol), make_optimiser(matcher, config)
    matcher.prepare(dataset)
    with terminable():
        history = fit(matcher, optimiser, dataset, config, Checkpoints(folder, config.hash()))
    rows = [{key: value for key, value in row.items() if key not in TIMING} for row in history]
    return matcher.state_dict(), optimiser.state_dict(), rows


def test_no_number_depends_on_how_often_checkpoints_are_written(config: RunConfig) -> None:
    assert config.checkpoint_every == 2
    assert config.hash() == load_run("bbgm", "smoke", 0, protocol=SMALL, optimiser=EPOCHS, network=LITTLE).hash()
    assert load_run("bbgm", "paper", 0).checkpoint_every == 200
    with pytest.raises(ValueError, match=r"checkpoint_every: Input should be greater than 0 \(given: 0\)"):
        load_run("bbgm", "smoke", 0, checkpoint_every=0)


@pytest.mark.parametrize("method", ["bbgm", "dgmc", "imle", "info_nce"])
def test_a_run_that_is_stopped_within_an_epoch_resumes_bit_for_bit(method: str, tmp_path: Path) -> None:
    """Whatever a method draws: noise of DGMC and of the solver, dropout; a teacher's moving average."""
    small = {**EPOCHS, "iterations_per_epoch": 4}
    config = load_run(method, "smoke", 0, protocol=SMALL, optimiser=small, checkpoint_every=3)
    model, optimiser, history = _fit(config, tmp_path / "whole")
    names = [path.name for path in sorted((tmp_path / "whole").glob("*.json"))]
    assert names == ["0001-000003.json", "0002.json"]
    with pytest.raises(Terminated):
        _fit(config, tmp_path / "stopped", stop_in=2)
    assert [path.name for path in (tmp_path / "stopped").glob("*.json")] == ["0000-000002.json"]
    with pytest.raises(Terminated):
        _fit(config, tmp_path / "stopped", stop_in=4)  # in the second epoch, after the first checkpoint of this start
    assert (tmp_path / "stopped/0001-000002.json").is_file()
    model2, optimiser2, history2 = _fit(config, tmp_path / "stopped")
    assert history == history2
    assert all(torch.equal(value, model2[name]) for name, value in model.items())
    assert str(optimiser) == str(optimiser2)


def test_a_checkpoint_of_an_earlier_version_is_resumed(config: RunConfig, tmp_path: Path) -> None:
    """Which had one at the end of each epoch, whose record lacks the number of the iteration."""
    _, _, history = _fit(config, tmp_path)
    (tmp_path / "0002.json").unlink()
    record = tmp_path / "0001.json"
    record.write_text(next(tmp_path.glob("0001-*.json")).read_text())
    assert _fit(config, tmp_path)[2] == history


def test_sigterm_ends_the_command_with_143_and_it_resumes(
    undisturbed: dict[str, Any],
    config: RunConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    step, calls = fitting.train_step, []

    def interrupted_step(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGTERM)
        return step(*arguments)

    monkeypatch.setattr(fitting, "train_step", interrupted_step)
    monkeypatch.setattr("bbgm.config.load_run", lambda *_, **__: config)
    with caplog.at_level(logging.INFO):
        assert main(["train", "--folder", str(tmp_path)]) == 143
    assert "bbgm: stopped by SIGTERM; a run resumes where it was" in capsys.readouterr().err
    assert "stopped after iteration 3, as asked" in caplog.text
    names = [path.name for path in sorted((tmp_path / "checkpoint").glob("*.json"))]
    assert names == ["0000-000002.json", "0000-000003.json"]
    assert not (tmp_path / ".lock").exists()
    with caplog.at_level(logging.INFO):
        assert main(["train", "--folder", str(tmp_path)]) == 0
    assert "resumed after iteration 3 of 10" in caplog.text
    assert len(calls) == 10
    assert results_of(tmp_path) == undisturbed


@pytest.mark.slow  # starts a process for each kill
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_results(
    config: RunConfig, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    chance, folder = random.Random(0), tmp_path / "run"
    kill_again_and_again(config, tmp_path / "once", 0, 0, chance)  # loads the modules
    began = time.perf_counter()
    kill_again_and_again(config, tmp_path / "twice", 0, 0, chance)
    counts = kill_again_and_again(config, folder, 5, time.perf_counter() - began, chance)
    assert counts.total() > 0
    assert results_of(folder) == undisturbed
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)


def test_what_is_left_of_a_process_that_was_killed_just_after_the_record(config: RunConfig, tmp_path: Path) -> None:
    """Its lock and checkpoints go when the run is next asked for, unless it is still at work."""
    record = run(config, tmp_path).folder / RECORD
    before = record.stat().st_mtime_ns
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint/0001.json").write_text("{}")
    with folder_lock(tmp_path):
        assert run(config, tmp_path).folder == tmp_path
        assert (tmp_path / "checkpoint/0001.json").is_file()
    (tmp_path / LOCK).touch()
    assert run(config, tmp_path).folder == tmp_path
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    assert record.stat().st_mtime_ns == before


def _mount(*arguments: str | Path) -> None:
    subprocess.run(list(map(str, arguments)), check=True, capture_output=True, text=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 20 MB, at the folder ``disk`` and at ``mounted``; skips where mounting is not permitted."""
    disk, mounted = tmp_path / "disk", tmp_path / "mounted"
    for folder in (disk, mounted):
        folder.mkdir()
    try:
        _mount("mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", disk)
        _mount("mount", "--bind", disk, mounted)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here: {error}")
    try:
        yield mounted
    finally:
        for folder in (mounted, disk):
            subprocess.run(["umount", "--lazy", folder], check=False, capture_output=True)


def _fill(disk: Path) -> None:
    """Write until the disk is full."""
    with (disk / "ballast").open("wb", buffering=0) as file:
        block = bytes(2**16)
        while block:
            try:
                file.write(block)
            except OSError:
                block = block[: len(block) // 2]


def _repair_full(disk: Path) -> None:
    (disk / "ballast").unlink()


def _make_read_only(disk: Path) -> None:
    """By another mount on top: one in which a file is open for writing, as the lock is, cannot be made read-only."""
    _mount("mount", "--bind", disk.parent / "disk", disk)
    _mount("mount", "-o", "remount,bind,ro", disk)


FAULTS: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any], str]] = {
    "full": (_fill, _repair_full, r"cannot write .*no space left on device; free some space there"),
    "read-only": (
        _make_read_only,
        lambda disk: _mount("umount", "--lazy", disk),
        r"cannot write .*read-only file system; mount it writable",
    ),
    "gone": (
        lambda disk: _mount("umount", "--lazy", disk),
        lambda disk: _mount("mount", "--bind", disk.parent / "disk", disk),
        r"cannot write .*run: .*; the folder was deleted, or its disk is no longer there: mount it again",
    ),
    "deleted": (
        lambda disk: shutil.rmtree(disk / "run"),
        lambda disk: None,
        r"cannot write .*run: .*; the folder was deleted",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_disk_that_fails_in_the_middle_of_a_run(
    fault: str,
    disk: Path,
    config: RunConfig,
    undisturbed: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """After the second checkpoint; nothing half-written is left, and the repaired disk has what is resumed from."""
    spoil, repair, message = FAULTS[fault]

    class Spoiled(Checkpoints):
        saved = 0

        def save(self, *arguments: Any) -> None:
            super().save(*arguments)
            self.saved += 1
            if self.saved == 2:
                spoil(disk)

    with monkeypatch.context() as patched:
        patched.setattr(train, "Checkpoints", Spoiled)
        with pytest.raises(WriteError, match=message):
            run(config, disk / "run")
    if fault in ("gone", "deleted"):  # nothing was written elsewhere
        assert list(disk.iterdir()) == []
    repair(disk)
    assert [path for path in disk.rglob("*") if ".part" in path.name] == []
    resumed = fault != "deleted"
    assert (disk / "run/checkpoint/0000-000004.json").is_file() == resumed
    with caplog.at_level(logging.INFO):
        run(config, disk / "run")
    assert ("resumed after iteration 4 of 10" in caplog.text) == resumed
    assert results_of(disk / "run") == undisturbed
    assert sorted(path.name for path in (disk / "run").iterdir()) == sorted(FILES)
    assert finished(config, disk / "run") is not None
