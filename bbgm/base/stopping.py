"""How this process is told to stop: by SIGTERM, by Ctrl-C, or because the process that it works for has ended."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

TERMINATED = 128 + signal.SIGTERM
"""Exit status of a command that SIGTERM has stopped, as in a shell: 143."""
WORKS_FOR = "BBGM_WORKS_FOR"
"""Environment variable with the process id of the Snakemake that a command is a job of."""


class Terminated(BaseException):
    """SIGTERM: a scheduler, or somebody's ``kill``, wants this process to end soon."""

    def __init__(self) -> None:
        super().__init__("stopped by SIGTERM; a run resumes where it was when it is started again")


def _raise(signum: int, _frame: FrameType | None) -> None:
    signal.signal(signum, signal.SIG_IGN)  # a scheduler may repeat it: what it asks for is under way
    raise Terminated


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM raise `Terminated`, so that locks and temporary files are removed; undone at the end.

    Only the main thread gets signals. In another one nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class StopRequest:
    """Whether a signal has asked this process to stop."""

    signum: int | None = None

    def note(self, signum: int, _frame: FrameType | None) -> None:
        """Handle a signal: the first is noted; the user who presses Ctrl-C again does not want to wait."""
        if self.signum is not None and signum == signal.SIGINT:
            raise KeyboardInterrupt
        self.signum = signum


@contextmanager
def stop_later() -> Iterator[StopRequest]:
    """Let SIGTERM and Ctrl-C wait until the block ends, which looks at ``signum`` at moments that suit it.

    At the end, the signal has the effect that it would have had at once. Only the main thread gets signals.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before: dict[int, Any] = {one: signal.signal(one, request.note) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield request
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
    if request.signum is not None:
        signal.raise_signal(request.signum)


def end_with(pid: int, action: Callable[[], None] = lambda: None) -> None:
    """End this process at once when another one ends, also if that was killed; from now on, in a thread.

    Args:
        pid: id of the process.
        action: what to do before.
    """
    threading.Thread(target=_wait_and_end, args=(pid, action), daemon=True).start()


def _wait_and_end(pid: int, action: Callable[[], None]) -> None:
    _wait_for_end(pid)
    try:
        action()
    finally:
        os._exit(1)


def _wait_for_end(pid: int) -> None:
    if hasattr(os, "pidfd_open"):
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        except OSError:  # a kernel without it, or a container that forbids it
            pass
        else:
            select.select([handle], [], [])
            return
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        except PermissionError:
            pass
        time.sleep(0.5)
