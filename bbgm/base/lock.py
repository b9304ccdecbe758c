"""One process at a time in a run's folder."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bbgm.base.atomic import WriteError, same_file, try_lock, write_error

LOCK = ".lock"
"""Name of the file in a folder; it stays there if the process that holds it is killed."""


class FolderLock:
    """The lock that this process holds on a folder."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path, self._handle = path, handle

    def check(self) -> None:
        """Check that the folder is still the one that was locked.

        If its disk is no longer mounted, the same path may be an empty folder of another disk, which can be written to.

        Raises:
            WriteError: it was deleted, or its disk is no longer there.
        """
        try:
            there = same_file(self._handle, self.path)
        except OSError as error:
            raise write_error(error, self.path.parent) from error
        if not there:
            raise write_error(
                OSError(errno.ENOENT, "it is no longer the folder that this run began in"), self.path.parent
            )

    def release(self) -> None:
        """Delete the file and the lock on it."""
        with suppress(OSError):  # the disk is no longer there, or read-only
            if same_file(self._handle, self.path):
                self.path.unlink()
        os.close(self._handle)


@contextmanager
def folder_lock(folder: Path) -> Iterator[FolderLock]:
    """Hold ``folder/.lock``; the system releases it when the process ends, for whatever reason.

    Raises:
        ValueError: another process holds it.
        WriteError: the folder cannot be made or written to, or its file system has no locks.
    """
    path = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _acquire(path)
    except OSError as error:
        raise error if isinstance(error, WriteError) else write_error(error, path) from error
    try:
        yield lock
    finally:
        lock.release()


def _acquire(path: Path) -> FolderLock:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        locked = try_lock(handle)
        if locked is None:
            path.unlink(missing_ok=True)
            os.close(handle)
            raise write_error(OSError(errno.ENOLCK, os.strerror(errno.ENOLCK)), path)
        # The previous holder deletes the file, and a lock on a deleted file would exclude nobody.
        if locked and same_file(handle, path):
            return FolderLock(path, handle)
        os.close(handle)
        if not locked:
            raise ValueError(
                f"{path.parent} is in use by another process (it holds {path.name}): wait for it, or stop it"
            )
