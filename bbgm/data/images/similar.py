"""A file whose name is nearly the one that an annotation gives: what other systems make of names."""

import os
import unicodedata
from functools import lru_cache
from pathlib import Path

_MOST = 100  # folders beside and below that are looked at


def similar_file(path: Path) -> Path | None:
    """The file that is probably meant by the name of a missing one; None if there is none.

    Windows writes ``\\`` for ``/``; a Mac writes accents as separate characters (NFD); some systems do not tell capital
    letters apart; and exporters leave out the folder of the images (``images/``), or add it.
    """
    path = Path(os.fspath(path).replace("\\", "/"))
    above, candidates = path.parent.parent / path.name, [path, *_beside(path)]
    if not path.parent.is_dir():  # it was added, or has another name; else it is the data set's, and no other is meant
        candidates += [above, *_beside(above)]
    elif path.parent.name == "images":
        candidates.append(above)
    for candidate in candidates:
        if found := _resolved(candidate):
            return found
    return None


def _beside(path: Path) -> list[Path]:
    """Files of that name in the folders beside it."""
    try:
        folders = sorted(entry.path for entry in os.scandir(path.parent) if entry.is_dir())
    except OSError:
        return []
    return [Path(folder) / path.name for folder in folders[:_MOST]]


def _resolved(path: Path) -> Path | None:
    """The file at a path whose parts need only be equal in normal form."""
    if path.is_file():
        return path
    found = Path(path.anchor or ".")
    for part in path.parts[1 if path.anchor else 0 :]:
        exact = found / part
        if exact.exists():
            found = exact
            continue
        names = _names(found, _changed(found))
        if _normal(part) not in names:
            return None
        found = found / names[_normal(part)]
    return found if found.is_file() else None


def _normal(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _changed(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=256)
def _names(folder: Path, _time: int) -> dict[str, str]:
    try:
        return {_normal(name): name for name in sorted(os.listdir(folder))}
    except OSError:
        return {}
