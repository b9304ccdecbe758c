"""Progress bars: on a terminal only, so that logs and notebooks stay clean."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")


def progress(items: Iterable[T], description: str, enabled: bool = True) -> Iterator[T]:
    """The items, with a bar on stderr if that is a terminal (in Jupyter, papermill and log files it is not)."""
    show = enabled and sys.stderr is not None and sys.stderr.isatty()
    return iter(tqdm(items, desc=description, disable=not show, leave=False, dynamic_ncols=True))
