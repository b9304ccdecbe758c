"""Errors of writing, and a lock for processes that write the same tree."""

import errno
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class WriteError(OSError):
    """A file or folder could not be written: ``filename`` says which, ``strerror`` why."""

    def __str__(self) -> str:
        if self.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            remedy = "free some space there, or choose another folder"
        elif self.errno in (errno.EEXIST, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP):
            remedy = "a part of this path is a file, or its name is too long; choose another folder"
        else:
            remedy = "make the folder writable, or choose another one"
        return f"cannot write {self.filename}: {str(self.strerror).lower()}; {remedy}"


def write_error(error: OSError, path: Path) -> WriteError:
    """The operating system's error, for a path."""
    return WriteError(error.errno, error.strerror or str(error), str(path))


@contextmanager
def tree_lock(tree: Path) -> Iterator[None]:
    """Let one process at a time write a tree. The system releases the lock, even of a process that is killed.

    Raises:
        WriteError: the tree's parent folder cannot be made or written to.
    """
    try:
        tree.parent.mkdir(parents=True, exist_ok=True)
        file = (tree.parent / f".{tree.name}.lock").open("a")
    except OSError as error:
        raise write_error(error, tree.parent) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
