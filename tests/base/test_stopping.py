"""Processes that are asked to stop, or whose parent ends."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from bbgm.base.stopping import Terminated, stop_later, terminable


def test_sigterm_raises_where_it_may_and_only_there() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated, match="stopped by SIGTERM"), terminable():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(("signum", "raised"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
def test_a_signal_waits_for_the_end_of_the_block(signum: signal.Signals, raised: type[BaseException]) -> None:
    seen = []

    def work() -> None:
        with terminable(), stop_later() as stop:
            seen.append(stop.signum)
            signal.raise_signal(signum)
            seen.append(stop.signum)

    with pytest.raises(raised):
        work()
    assert seen == [None, signum]


def test_nobody_who_presses_ctrl_c_twice_has_to_wait() -> None:
    def work() -> None:
        with stop_later():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError

    with pytest.raises(KeyboardInterrupt):
        work()
    with stop_later() as stop:  # the handlers are back
        pass
    assert stop.signum is None


def test_an_error_in_the_block_comes_before_the_signal() -> None:
    def work() -> None:
        with stop_later():
            signal.raise_signal(signal.SIGTERM)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()


def test_other_threads_get_no_signals() -> None:
    found = []

    def work() -> None:
        with terminable(), stop_later() as stop:
            found.append(stop.signum)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [None]


END_WITH = """
import sys, time
from bbgm.base.stopping import end_with
end_with(int(sys.argv[1]), lambda: print("action", flush=True))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("killed_before", [False, True])
def test_a_process_ends_with_another_one_that_is_killed(killed_before: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        if killed_before:
            other.kill()
            other.wait()
        command = [sys.executable, "-c", END_WITH, str(other.pid)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            if not killed_before:
                assert process.stdout.readline() == "ready\n"
                time.sleep(0.1)
                assert process.poll() is None
                other.kill()  # and nobody waits for it: it is a zombie
            rest = process.stdout.read()
            assert process.wait(30) == 1
    assert "action" in rest
