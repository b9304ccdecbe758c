"""Files that are either complete or absent.

A file is written under a temporary name in its own folder, flushed to disk and renamed. A reader never sees half of it,
and a crash, a SIGKILL or a full disk leaves the old file (or none) in place.
"""

import errno
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NO_PLACE = {errno.EEXIST, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP}
SUFFIX = ".part"


class WriteError(OSError):
    """A file could not be written; the message says which one, why, and what to do."""

    def __str__(self) -> str:
        return str(self.args[-1])


def write_error(error: OSError, path: Path) -> WriteError:
    """The operating system's error, with the path and a remedy."""
    reason = (error.strerror or str(error)).lower()
    if error.errno in NO_SPACE:
        remedy = "free some space there, or move the folder with BBGM_RESULTS or BBGM_CACHE, and start again"
    elif error.errno in NO_PLACE:
        remedy = (
            "part of this path is a file, or a name is too long: use another path, or set BBGM_RESULTS or BBGM_CACHE"
        )
    else:
        remedy = "make the folder writable, or choose another one with BBGM_RESULTS or BBGM_CACHE"
    return WriteError(error.errno, f"cannot write {path}: {reason}; {remedy}")


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` for a writer that needs a file name; it becomes ``path`` if the block succeeds.

    The temporary name keeps the suffix of ``path`` (writers choose a format by it). Missing folders are created.

    Raises:
        WriteError: the folder cannot be made or written to, the disk is full, or ``path`` is a folder, device or pipe.
            No half-written file is left.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{SUFFIX}{path.suffix}")
    try:
        # An existing file is replaced; a folder, device or pipe must not be.
        special = path.exists() and not path.is_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        if not special:
            temporary.touch(exist_ok=False)
    except OSError as error:
        raise write_error(error, path) from error
    if special:
        raise WriteError(errno.EINVAL, f"cannot write {path}: it is not a file; give the name of a file")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        # Other OSErrors may have been raised for another file, e.g. an input that is missing.
        ours = error.errno in NO_SPACE or error.filename in (str(temporary), str(path))
        if ours and not isinstance(error, WriteError):
            raise write_error(error, path) from error
        raise
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def atomic_write(path: Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """A file open for writing (``mode`` "wb", or "w" for UTF-8 text) that becomes ``path`` if the block succeeds.

    Raises:
        WriteError: the folder cannot be made or written to, or the disk is full. No half-written file is left.
    """
    if mode not in ("wb", "w"):
        raise ValueError(f"mode {mode!r} is not 'wb' or 'w'")
    with (
        atomic_path(path) as temporary,
        temporary.open(mode, encoding=None if "b" in mode else "utf-8", newline=None if "b" in mode else "") as file,
    ):
        yield file


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_write(path, "w") as file:
        file.write(text)


def write_json(path: Path, content: Any) -> None:
    """Write indented JSON atomically."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def check_writable(path: Path) -> None:
    """Check before a long computation that its result can be written; ``path`` is not changed.

    Raises:
        WriteError: as for :func:`atomic_path`.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise WriteError(errno.EINVAL, f"cannot write {path}: it is not a file; give the name of a file")
        trial = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{SUFFIX}")
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        raise error if isinstance(error, WriteError) else write_error(error, path) from error


def remove_leftovers(folder: Path, older_than: float | None = None) -> None:
    """Delete the temporary files of writers that were killed.

    Args:
        older_than: age in s; None deletes all of them, which is safe only if no other process writes to the folder.
    """
    now = time.time()
    for file in folder.glob(f".*{SUFFIX}*"):
        with suppress(OSError):  # deleted by another process, or the folder is read-only
            if older_than is None or now - file.stat().st_mtime > older_than:
                file.unlink()
