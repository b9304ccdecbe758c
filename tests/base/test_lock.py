"""One process at a time works in a folder."""

import multiprocessing
from pathlib import Path

import pytest

from bbgm.base.atomic import WriteError
from bbgm.base.lock import folder_lock


def _hold(folder: Path, ready: "multiprocessing.synchronize.Event") -> None:
    with folder_lock(folder):
        ready.set()
        multiprocessing.Event().wait(60)


def test_lock_excludes_other_processes_until_they_die(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    holder = context.Process(target=_hold, args=(tmp_path, ready))
    holder.start()
    try:
        assert ready.wait(60)
        with pytest.raises(ValueError, match="in use by another process"), folder_lock(tmp_path):
            pass
    finally:
        holder.kill()
        holder.join()
    with folder_lock(tmp_path):
        assert (tmp_path / ".lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_lock_in_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="part of this path is a file"), folder_lock(tmp_path / "file" / "run"):
        pass
