"""What a reader may do with a file, however damaged or hostile: return, or raise an error that names the file."""

import re
import resource
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SECONDS, BYTES = 10, 2**30
"""Processor time, and growth of the memory that is in use, that one file may cost."""


class Finding(AssertionError):
    """A reader did something with a file that it must not do."""


class TookTooLong(BaseException):
    """Not an Exception: a reader that turns all errors into its own must not hide this one."""


def _nothing(folder: Path) -> None:
    """Most readers need one file only."""


@dataclass(frozen=True)
class Subject:
    """A reader under test.

    Attributes:
        file: name of the file that is changed, below the folder of the test.
        read: reads it; given the folder.
        seeds: genuine files.
        prepare: writes what must be beside the file.
        words: what the format consists of.
        text: whether the format is text, whose words are exchanged.
        pack: from changed bytes to those of the file; repairs checksums, so that changes get past them.
        named: what the message of an error must contain, beside `errors` that the reader documents.
    """

    file: str
    read: Callable[[Path], object]
    seeds: Callable[[], list[bytes]]
    prepare: Callable[[Path], None] = _nothing
    words: tuple[bytes, ...] = ()
    text: bool = False
    pack: Callable[[bytes], bytes] = bytes
    named: str = ""
    errors: tuple[type[Exception], ...] = (ValueError, FileNotFoundError)


def check(subject: Subject, data: bytes, folder: Path) -> bool:
    """Read a file with this content.

    Args:
        folder: prepared by `Subject.prepare`.

    Returns:
        Whether the file was accepted.

    Raises:
        Finding: another error than the documented ones, a message without the file's name, or too much time or memory.
    """
    path = folder / subject.file
    path.write_bytes(subject.pack(data))
    before = _in_use()
    try:
        with _limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            subject.read(folder)
        accepted = True
    except subject.errors as error:
        accepted = False
        if (subject.named or path.name) not in str(error):
            raise Finding(f"the message does not name {path.name}: {type(error).__name__}: {error}") from error
    except TookTooLong as error:
        raise Finding(f"reading took more than {SECONDS} s") from error
    except BaseException as error:  # of compiled libraries, a panic is not an Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise Finding(f"{type(error).__name__}: {error}") from error
    if (grown := _in_use("VmHWM") - before) > BYTES:
        raise Finding(f"reading took {grown / 2**30:.1f} GiB")
    return accepted


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Processor time, not the clock's: the machine may be busy."""

    def stop(_signal: int, _frame: types.FrameType | None) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _in_use(which: str = "VmRSS") -> int:
    """Memory in use, bytes; ``VmHWM``: the most since the last call without it, or ever where that is unknown."""
    try:
        if which == "VmRSS":
            Path("/proc/self/clear_refs").write_text("5")  # the maximum starts again
        found = re.search(rf"{which}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    if found:
        return 1024 * int(found[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
