"""Files that are either complete or absent.

A file is written under a temporary name in its own folder, flushed to disk and renamed. A reader never sees half of it,
and a crash, a SIGKILL or a full disk leaves the old file (or none) in place. A writer locks its temporary file, so that
the next one knows whether that is in use, or left by a writer that was killed; then it is written again.
"""

import errno
import fcntl
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
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
GONE = {errno.ENOENT, errno.ESTALE, errno.EIO, errno.ENODEV, errno.ENXIO, errno.ENOTCONN, errno.EHOSTDOWN}
SUFFIX = ".part"
ABANDONED = 3600
"""Age in s after which a temporary file is one that a killed writer left, where the file system has no locks."""


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
    elif error.errno in NO_LOCKS:
        remedy = (
            "its file system does not lock files, as NFS without a lock service: mount it with locks (NFS that only "
            "this computer uses: with local_lock=flock), or choose another folder with BBGM_RESULTS or BBGM_CACHE"
        )
    elif error.errno in GONE:
        remedy = (
            "the folder was deleted, or its disk is no longer there: mount it again, or choose another folder with "
            "BBGM_RESULTS or BBGM_CACHE, and start again"
        )
    elif error.errno == errno.EROFS:
        remedy = "mount it writable, or choose another folder with BBGM_RESULTS or BBGM_CACHE, and start again"
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
    try:
        # An existing file is replaced; a folder, device or pipe must not be.
        special = path.exists() and not path.is_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        if not special:
            temporary, handle = _open_temporary(path)
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
        os.close(handle)
        with suppress(OSError):  # it was renamed, or its disk is no longer there
            temporary.unlink()


def _open_temporary(path: Path) -> tuple[Path, int]:
    """An empty temporary file beside ``path``, and the descriptor that locks it while this process writes it."""
    temporary = path.with_name(f".{path.stem}{SUFFIX}{path.suffix}")
    while True:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT, 0o666)
        locked = try_lock(handle)
        if locked and same_file(handle, temporary):
            os.ftruncate(handle, 0)
            return temporary, handle
        if not locked:
            break
        os.close(handle)  # another process has just renamed it
    os.close(handle)
    if locked is None:  # without locks, nobody writes under this name
        temporary.unlink(missing_ok=True)
    # Another process is writing the same file.
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{SUFFIX}{path.suffix}")
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try_lock(handle)
    return temporary, handle


def try_lock(handle: int) -> bool | None:
    """Lock an open file, without waiting, until it is closed or the process ends.

    Returns: whether it is locked now; None if the file system has no locks.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return None
    return True


def same_file(handle: int, path: Path) -> bool:
    """Whether an open file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


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


def remove_leftovers(folder: Path) -> None:
    """Delete the temporary files of writers that were killed; those that are being written stay."""
    for file in folder.glob(f".*{SUFFIX}*"):
        with suppress(OSError):  # deleted by another process, or the folder is read-only
            handle = os.open(file, os.O_RDWR)
            try:
                locked = try_lock(handle)
                if locked or (locked is None and time.time() - file.stat().st_mtime > ABANDONED):
                    file.unlink()
            finally:
                os.close(handle)
