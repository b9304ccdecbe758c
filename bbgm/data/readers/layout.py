"""A data set that was unpacked next door."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from bbgm.base.reading.foreign import is_companion

_DEPTH, _MOST = 5, 2000  # levels, and folders in all, that are looked at


def elsewhere(place: Path, within: Path, is_it: Callable[[Path], bool]) -> str:
    """Where else a missing folder is, to follow its name in a message; "" if it is not near.

    Args:
        place: where it belongs.
        within: the data root.
        is_it: whether a folder is the one.
    """
    for folder in _below(within):
        if is_it(folder):
            return f", but {folder} is such a folder: move it to {place}, or make that a link to it"
    return ""


def _below(root: Path) -> Iterator[Path]:
    """A folder and those below it, level by level."""
    level, seen = [root] if root.is_dir() else [], 0
    for _ in range(_DEPTH):
        following = []
        for folder in level:
            yield folder
            seen += 1
            if seen > _MOST:
                return
            try:
                with os.scandir(folder) as entries:
                    names = [entry.name for entry in entries if entry.is_dir()]
            except OSError:
                continue
            following += [folder / name for name in sorted(names) if not is_companion(Path(name))]
        level = following
