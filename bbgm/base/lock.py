"""One process at a time in a run's folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bbgm.base.atomic import write_error


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold ``folder/.lock``; the system releases it when the process ends, for whatever reason.

    Raises:
        ValueError: another process holds it.
        WriteError: the folder cannot be made or written to.
    """
    path = folder / ".lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(handle)
                raise ValueError(
                    f"{folder} is in use by another process (it holds {path.name}): wait for it, or stop it"
                ) from error
            # The previous holder deletes the file, and a lock on a deleted file would exclude nobody.
            if _same_file(handle, path):
                break
            os.close(handle)
    except OSError as error:
        raise write_error(error, path) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)
