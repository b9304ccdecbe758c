"""What other programs leave in folders, and what servers send in place of a file."""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import TypeVar

AnyPath = TypeVar("AnyPath", bound=PurePath)

SHOWN = 20
"""Faults that a message lists."""

_START = 512  # bytes that are looked at


def is_companion(path: PurePath) -> bool:
    """Whether a Mac has put a file beside the user's own: ``._name``, ``.DS_Store``, and all below ``__MACOSX``."""
    return path.name.startswith("._") or path.name == ".DS_Store" or "__MACOSX" in path.parts


def without_companions(paths: Iterable[AnyPath]) -> list[AnyPath]:
    """The paths that are not `is_companion`, sorted."""
    return sorted(path for path in paths if not is_companion(path))


def joined(faults: Sequence[str]) -> str:
    """All faults of a file in one line; of very many the first, and how many follow."""
    more = f"; and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    return "; ".join(faults[:SHOWN]) + more


def describe(path: Path, fault: str) -> str:
    """A message about a file that cannot be read: its name, and what it is instead of the file, or else the fault.

    A server that wants a login, or has moved, sends a web page under the name of a file; Git without its LFS extension
    leaves a pointer.
    """
    return f"{path} {instead_of(path) or fault}"


def instead_of(path: Path) -> str:
    """What a file is instead of what its name says, and the remedy; "" if it may be what it says."""
    try:
        if not path.is_file():  # a pipe would wait for its writer
            return ""
        with path.open("rb") as file:
            start = file.read(_START).removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    except (OSError, ValueError):  # ValueError: a name with a null character, which no file has
        return ""
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "is a web page (HTML) that was saved under this name: download the file again, in a browser if need be"
    if start.startswith(b"version https://git-lfs"):
        return "is a pointer of Git LFS, not the file itself: run 'git lfs pull', or download the file again"
    return ""
