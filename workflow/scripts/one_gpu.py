"""Run a command on one of several GPUs: python one_gpu.py COMMAND [ARGUMENT ...]

All runs would otherwise compute on the first. As many such commands of the same user run at a time as
``BBGM_RUNS_AT_ONCE`` says, spread evenly: with no more of them than GPUs each has its own, else some share one. A place
on a GPU is locked until the command ends, and that GPU is the only one that the command sees. While all places are
taken, it waits.

Nothing is chosen where somebody else has done so: where one GPU is visible, or none; in a job of SLURM, which sets
``CUDA_VISIBLE_DEVICES`` itself; and where ``BBGM_DEVICE`` names a device.
"""

import fcntl
import getpass
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path


def visible_gpus() -> list[str]:
    """Names of the GPUs to choose from, as in ``CUDA_VISIBLE_DEVICES``."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is not None:
        return [name.strip() for name in listed.split(",") if name.strip()]
    if "SLURM_JOB_ID" in os.environ:
        return []
    try:
        found = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return [str(number) for number in range(len(found.strip().splitlines()))]


def lock_one(names: Sequence[str], runs: int, folder: Path) -> str:
    """Lock the first free place; the lock is released when this process ends, also if it has become another program.

    First places come before second ones, so a GPU is shared only when all are in use.
    """
    folder.mkdir(parents=True, exist_ok=True)
    places = range(-(-runs // len(names)))
    told = False
    while True:
        for place, name in product(places, names):
            file = name.replace("/", "_") + (f".{place + 1}" if place else "")
            handle = os.open(folder / file, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                continue
            os.set_inheritable(handle, True)
            return name
        if not told:
            others = f"other runs have them (locks in {folder})"
            print(f"waiting for one of the GPUs {', '.join(names)}: {others}", flush=True)
            told = True
        time.sleep(1)


def main() -> None:
    """Choose a GPU if there are several, then become the command."""
    command, runs = sys.argv[1:], int(os.environ.get("BBGM_RUNS_AT_ONCE", "1"))
    names = [] if os.environ.get("BBGM_DEVICE") else visible_gpus()
    if len(names) > 1:
        chosen = lock_one(names, runs, Path(tempfile.gettempdir()) / f"bbgm-gpus-{getpass.getuser()}")
        os.environ["CUDA_VISIBLE_DEVICES"] = chosen
        print(f"runs on GPU {chosen} of {', '.join(names)}", flush=True)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
