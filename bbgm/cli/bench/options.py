"""What several subjects of ``bbgm bench`` share: arguments, their checks, threads."""

import argparse
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""How many threads libraries use, which they read when they are loaded."""


def use_one_thread() -> None:
    """Of the libraries that are loaded from now on: to be called before numpy is."""
    os.environ.update(dict.fromkeys(THREADS, "1"))


def add_folder(parser: argparse.ArgumentParser, *, repeats: int, records: str) -> None:
    """Add the folder of instances, ``--repeats`` and ``--json``."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of .dd and .dd.xz files")
    parser.add_argument(
        "--repeats",
        type=int,
        default=repeats,
        help="how often to solve each; the shortest time counts (default %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help=f"write {records} to this file")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--method``, ``--effort`` and ``--full``."""
    parser.add_argument(
        "--method",
        default="best",
        help="best, dual (the paper's) or exact; with several graphs best, dual or sync; default %(default)s",
    )
    parser.add_argument("--effort", default="default", help="fast, default or thorough (for 'best')")
    parser.add_argument(
        "--full",
        action="store_true",
        help="match as many nodes as possible, for costs that are all positive, such as QAPLIB's; two graphs only",
    )


@contextmanager
def ended_by_ctrl_c(method: str) -> Iterator[None]:
    """Let Ctrl-C end the process at once while HiGHS runs, which does not see Python's interrupts. No file is open."""
    if method != "exact":
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def check_folder(options: argparse.Namespace) -> None:
    """Report what cannot be measured or written before the measurement, not after it."""
    if options.repeats < 1:
        raise ValueError(f"--repeats is {options.repeats}, expected 1 or more")
    for name in ("json", "families"):
        path = getattr(options, name, None)
        if path is not None and path.exists() and not path.is_file():
            raise ValueError(f"--{name} {path} is not a file: give the name of a file to write")


def is_shared(began: os.times_result) -> bool:
    """Whether the machine did other work since: this process and those that it started had less than 0.9 of a core."""
    now = os.times()
    return sum(now[:4]) - sum(began[:4]) < 0.9 * (now.elapsed - began.elapsed)
