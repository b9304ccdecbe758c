"""Ctrl-C ends a solve at work: real signals, to processes of their own."""

import signal
import subprocess
import sys
import threading
import time

import bbgm_solver as gm
import numpy as np
import pytest
from support.problems import random_problem

FOREVER = '"dual", max_iterations=2**31 - 1, tolerance=0.0'
START = """
import signal, sys, threading
import bbgm_solver as gm, numpy as np
from bbgm_solver.selftest import random_problem
problem = random_problem(np.random.default_rng(0), {n}, {n})
print("begins", flush=True)
"""


def interrupted(script: str, n: int = 15, delay: float = 0.4) -> tuple[int, str]:
    """Exit status and output of a script that is sent SIGINT some time after it has begun."""
    command = [sys.executable, "-c", START.format(n=n) + script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=120)  # the machine may be busy
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail("SIGINT did not end the solve")
    return process.returncode, output


@pytest.mark.parametrize(
    "call",
    [
        f"gm.solve(problem, {FOREVER})",
        f"gm.solve(problem, {FOREVER}, full=True)",
        f"gm.trace(problem, {FOREVER})",
        f"gm.solve_batch([problem] * 3, {FOREVER}, threads=1)",
        f"gm.solve_batch([problem] * 3, {FOREVER}, threads=2)",
        # The main thread has nothing left to do and waits for the other.
        f"gm.solve_batch([gm.Problem([[1.0]], [], [], np.zeros((0, 0))), problem], {FOREVER}, threads=2)",
        'gm.solve_batch([problem] * 100_000, effort="thorough", threads=2)',
        'gm.solve_multi({(0, 1): problem, (0, 2): problem}, "dual", max_iterations=2**31 - 1, tolerance=0.0)',
        'gm.solve_multi({(p, q): problem for q in range(40) for p in range(q)}, effort="thorough")',
    ],
)
def test_ctrl_c_is_a_keyboard_interrupt(call: str) -> None:
    """Each of these calls would go on for days."""
    script = (
        f"try:\n    {call}\nexcept KeyboardInterrupt:\n    print('interrupted', gm.solve(problem, 'dual').iterations)"
    )
    assert interrupted(script) == (0, "interrupted 100\n")  # and the solver can be used again


def test_ctrl_c_ends_best_at_once() -> None:
    """Method best on a problem of which each step takes long."""
    script = "try:\n    gm.solve(problem, effort='thorough')\nexcept KeyboardInterrupt:\n    print('interrupted')"
    assert interrupted(script, n=60) == (0, "interrupted\n")


def test_a_handler_that_does_not_raise_ends_nothing() -> None:
    script = (
        "signal.signal(signal.SIGINT, lambda *_: print('handled', flush=True))\n"
        f"print(gm.solve(problem, {FOREVER.replace('2**31 - 1', '20_000')}).iterations)"
    )
    assert interrupted(script) == (0, "handled\n20000\n")


def test_a_solve_outside_the_main_thread_ends_by_itself() -> None:
    """The main thread is interrupted, the other one is not."""
    call = f"gm.solve(problem, {FOREVER.replace('2**31 - 1', '20_000')}).iterations"
    script = (
        f"import time; thread = threading.Thread(target=lambda: print({call}))\n"
        "thread.start()\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
        "thread.join()"
    )
    assert interrupted(script) == (0, "interrupted\n20000\n")


def test_threads_of_python_do_not_change_results() -> None:
    problem = random_problem(np.random.default_rng(1), 9, 9)
    expected = gm.solve(problem, effort="thorough")
    results: list[gm.Result] = []
    threads = [threading.Thread(target=lambda: results.append(gm.solve(problem, effort="thorough"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    for result in results:
        assert np.array_equal(result.assignment, expected.assignment)
        assert result[1:] == expected[1:]


@pytest.mark.parametrize("call", ["gm.solve(problem, {0})", "gm.solve_batch([easy, problem], {0}, threads=2)"])
def test_an_exception_while_the_signals_are_asked_for_ends_the_solve(call: str) -> None:
    """A handler may raise within any Python code, also in that by which the solver asks for signals.

    The easy problem is the larger one and begins: where the main thread has it, it soon waits for the other.
    """
    script = (
        "def raises():\n    raise KeyboardInterrupt\n"
        "ring = np.stack([np.arange(60), (np.arange(60) + 1) % 60], axis=1)\n"
        "easy = gm.Problem(np.ones((60, 60)), ring, ring, np.ones((60, 60)))\n"
        "threading.main_thread = raises\n"
        "for _ in range(10):\n"
        f"    try:\n        {call.format(FOREVER)}\n    except KeyboardInterrupt:\n        print('interrupted')"
    )
    done = subprocess.run(
        [sys.executable, "-c", START.format(n=15) + script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "begins\n" + 10 * "interrupted\n", "")
