"""One process at a time works in a folder."""

import errno
import fcntl
import multiprocessing
from pathlib import Path

import pytest

from bbgm.base.atomic import WriteError, atomic_write
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


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS without a lock service, which cannot be mounted here: the system's answer is its own."""

    def refuse(_handle: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(WriteError, match=r"run/\.lock: no locks available; its file system does not lock files"):
        folder_lock(tmp_path / "run").__enter__()
    assert list((tmp_path / "run").iterdir()) == []
    with atomic_write(tmp_path / "a", "w") as file:  # files need none
        file.write("x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "run"]


def test_a_folder_that_is_no_longer_the_one_that_was_locked(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with folder_lock(run) as lock:
        lock.check()
        run.rename(tmp_path / "moved")
        with pytest.raises(WriteError, match=r"cannot write .*run: .* the folder was deleted, or its disk"):
            lock.check()
        with folder_lock(run) as other:
            other.check()
            with pytest.raises(WriteError):
                lock.check()
    assert list(run.iterdir()) == []  # the lock of the other one was its own to delete
