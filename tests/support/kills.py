"""A run whose process is killed at random moments, and started again, until it is complete."""

import multiprocessing
import random
import signal
import time
from collections import Counter
from pathlib import Path

import yaml

from bbgm.base.stopping import Terminated
from bbgm.config import RunConfig, make_run

PRELOADED = ["bbgm.runs.train", "bbgm.methods.bbgm", "bbgm.methods.dgmc", "bbgm.methods.soft", "bbgm.features.small"]
"""Imported once: a process that is forked afterwards begins to train at once."""


def _work(content: str, folder: Path) -> None:
    from bbgm.runs.train import run

    try:
        run(make_run(yaml.safe_load(content)), folder, progress=False)
    except Terminated:
        raise SystemExit(143) from None


def kill_again_and_again(
    config: RunConfig, folder: Path, kills: int, seconds: float, chance: random.Random
) -> Counter[str]:
    """Make a run, although its process gets SIGKILL or SIGTERM ``kills`` times.

    The first signal is sent as soon as there is a checkpoint, so that there is one however fast the machine is.

    Args:
        config: of the run.
        folder: of the run.
        kills: how many signals are sent at most; a run that ends before it gets one counts as none.
        seconds: about how long an undisturbed run takes; each later signal comes at a random moment up to then.
        chance: draws signals and moments.

    Returns:
        How many signals of each name ended a process.

    Raises:
        AssertionError: a process ended otherwise.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    counts: Counter[str] = Counter()
    for attempt in range(kills):
        process = context.Process(target=_work, args=(config.to_yaml(), folder))
        process.start()
        awaited, delay = (".lock", chance.uniform(0, seconds)) if attempt else ("checkpoint/*.json", 0.0)
        while process.is_alive() and not any(folder.glob(awaited)):
            time.sleep(0.002)
        process.join(delay)
        if process.is_alive():
            signum = chance.choice((signal.SIGKILL, signal.SIGTERM))
            process.kill() if signum == signal.SIGKILL else process.terminate()
            process.join()
            expected = (-signum,) if signum == signal.SIGKILL else (143, -signum)  # before the run has begun: -15
            if process.exitcode != 0:  # else it was just ready
                assert process.exitcode in expected, process.exitcode
                counts[signum.name] += 1
        else:
            assert process.exitcode == 0, process.exitcode
        if (folder / "metrics.json").exists():
            break
    process = context.Process(target=_work, args=(config.to_yaml(), folder))
    process.start()
    process.join()
    assert process.exitcode == 0, process.exitcode
    return counts
