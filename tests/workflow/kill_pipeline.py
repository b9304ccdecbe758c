"""A tool for developers: kill the processes of a small pipeline at random moments, and compare its results.

    python tests/workflow/kill_pipeline.py --kills 100            # or: make test-kills KILLS=100

The pipeline has five runs at the budget ``smoke``: BB-GM without a filter, with sets; DGMC with the inclusion filter;
pre-training on VOC and BB-GM on Willow that starts from it; Sinkhorn. It writes a checkpoint every two iterations.
It is first made undisturbed. Then it is made again, while random ones of its processes get SIGKILL or SIGTERM:
Snakemake, papermill, the notebook's kernel, or ``bbgm train``, which makes one of the runs before the pipeline gets to
it; or all of them at once, as from a scheduler. What was killed is started again until the pipeline is complete. It
must then have the same files with the same contents as the undisturbed one, and no process of it may be left. Needs
psutil, which comes with Snakemake.
"""

import argparse
import csv
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import yaml

from bbgm.base.paths import cache_root
from bbgm.runs.results import TIMING, VOLATILE

PROJECT = Path(__file__).resolve().parents[2]
COPIED = ("Snakefile", "environment.yml", "config", "workflow", "profiles", "notebooks", "bbgm", "figures")
EXPERIMENTS = {
    "voc": {"unfiltered": ["bbgm"], "inclusion": ["dgmc"]},
    "willow": {"intersection": ["bbgm_pt_wt", "sinkhorn"]},
}
RUNS = (
    ("bbgm", "voc", "unfiltered"),
    ("dgmc", "voc", "inclusion"),
    ("bbgm_pt_wt", "willow", "intersection"),
    ("sinkhorn", "willow", "intersection"),
)
VICTIMS = ("snakemake", "papermill", "kernel", "trainer", "all")
SIGNALS = (signal.SIGKILL, signal.SIGTERM)
KILLS_EACH = 20
"""Kills of one pipeline; then it is left alone until it is complete."""
PATIENCE = 600
"""How long, in s, processes may take to end after the one that they work for was killed; they need a second or two."""


class Pipeline:
    """A checkout in ``root`` with its own results, cache and temporary folders."""

    def __init__(self, root: Path) -> None:
        self.root, self.checkout = root, root / "checkout"
        if not self.checkout.is_dir():
            self._copy()
        self.environment = {
            **os.environ,
            **{"BBGM_ROOT": str(self.checkout), "BBGM_CACHE": str(root / "cache"), "BBGM_RESULTS": ""},
            **{"TMPDIR": str(root / "tmp"), "JUPYTER_RUNTIME_DIR": str(root / "jupyter"), "OMP_NUM_THREADS": "1"},
            "PYTHONPATH": str(self.checkout),  # the project may be edited in the meantime
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }

    def _copy(self) -> None:
        self.checkout.mkdir(parents=True)
        ignored = shutil.ignore_patterns(".*", "__pycache__", "smoke", "demo", "willow", "paper", "animals")
        for name in COPIED:
            source, target = PROJECT / name, self.checkout / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target, ignore=ignored) if source.is_dir() else shutil.copy(source, target)
        seeds = {data: {name: {"smoke": 1} for name in filters} for data, filters in EXPERIMENTS.items()}
        content = {"budget": "smoke", "experiments": EXPERIMENTS, "seeds": seeds}
        (self.checkout / "config/config.yaml").write_text(yaml.safe_dump(content))
        with (self.checkout / "config/budgets/smoke.yaml").open("a") as file:
            file.write("checkpoint_every: 2\n")
        if (cache_root() / "demo").is_dir():
            shutil.copytree(cache_root() / "demo", self.root / "cache/demo")
        for name in ("tmp", "jupyter"):
            (self.root / name).mkdir()

    def clean(self) -> None:
        """Delete what the pipeline made, but for the rendered images."""
        for name in ("checkout/results", "checkout/.snakemake", "cache/features"):
            shutil.rmtree(self.root / name, ignore_errors=True)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a command in the checkout; its output is added to the file ``log``."""
        with (self.root / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", *command], cwd=self.checkout, env=self.environment, stdout=log, stderr=log
            )

    def snakemake(self) -> subprocess.Popen[bytes]:
        """Start Snakemake, as ``make`` does: a killed one leaves its folder locked."""
        locks = self.checkout / ".snakemake/locks"
        if locks.is_dir() and any(locks.iterdir()):
            self.start("snakemake", "--unlock").wait()
        return self.start("snakemake", "tables", "--cores", "2", "--retries", "100")

    def train(self, run: tuple[str, str, str]) -> subprocess.Popen[bytes]:
        """Start ``bbgm train``."""
        method, dataset, name = run
        return self.start(
            *("bbgm", "train", "--budget", "smoke", "--method", method, "--dataset", dataset, "--filter", name)
        )

    def processes(self) -> list[psutil.Process]:
        """All that work in the checkout."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.cwd() == str(self.checkout) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def orphans(self) -> list[str]:
        """Processes that are still there some time after all should have ended; they are ended now."""
        until = time.time() + PATIENCE
        while (left := self.processes()) and time.time() < until:
            time.sleep(0.1)
        names = []
        for process in left:
            try:
                names.append(" ".join(process.cmdline())[:200])
                process.kill()
            except psutil.Error:
                continue
        return names

    def victims(self, kind: str) -> list[psutil.Process]:
        """Processes of a kind that are there now."""
        if kind == "all":
            return self.processes()
        part = {"snakemake": "snakemake", "papermill": "papermill.py", "kernel": "ipykernel", "trainer": "bbgm"}[kind]
        found = []
        for process in self.processes():
            try:
                command = process.cmdline()
            except psutil.Error:
                continue
            if "python" in Path(command[0] if command else "").name and any(part in word for word in command[1:3]):
                found.append(process)
        return found

    def outcome(self) -> dict[str, Any]:
        """Every file that the pipeline left, with its contents; without those that differ from time to time."""
        folders = (self.checkout / "results", self.root / "cache/features", self.root / "tmp", self.root / "jupyter")
        files = itertools.chain.from_iterable(folder.rglob("*") for folder in folders)
        return {file.relative_to(self.root).as_posix(): _content(file) for file in files if not file.is_dir()}


def _content(file: Path) -> Any:
    """What must be the same in two pipelines."""
    if file.name == "metrics.json":
        return {key: value for key, value in json.loads(file.read_text()).items() if key not in VOLATILE}
    if file.name == "history.csv":
        with file.open() as rows:
            return [{key: value for key, value in row.items() if key not in TIMING} for row in csv.DictReader(rows)]
    if file.suffix in (".safetensors", ".npz", ".pt", ".yaml", ".json") or file.name.endswith("comparisons.csv"):
        return file.read_bytes()
    if file.parent.name == "tables" and file.suffix in (".csv", ".tex") and ".runs." not in file.name:
        return file.read_bytes()
    return None  # logs, notebooks, times and dates


def disturb(pipeline: Pipeline, kinds: Sequence[tuple[str, int]], seconds: float, chance: random.Random) -> list[str]:
    """Make the pipeline while killing processes of some kinds; returns the orphans that were found."""
    orphans: list[str] = []
    main: subprocess.Popen[bytes] | None = None
    for kind, signum in kinds:
        if kind == "trainer":
            if main is not None:  # the trainer must not meet the pipeline's job for the same run
                main.kill()
                main.wait()
                orphans += pipeline.orphans()
                main = None
            process: subprocess.Popen[bytes] | None = pipeline.train(chance.choice(RUNS))
        elif main is not None and main.poll() == 0:
            break  # the pipeline is complete: nothing is left to be killed
        elif main is None or main.poll() is not None:
            process = main = pipeline.snakemake()
        else:
            process = main
        assert process is not None
        if not _kill(pipeline, process, kind, signum, chance.uniform(0, seconds)):
            continue
        print(f"  {signal.Signals(signum).name} to {kind}", flush=True)
        if process is not main or kind in ("snakemake", "all"):
            process.wait()
            orphans += pipeline.orphans()
    for _attempt in range(20):
        if main is None or main.poll() is not None:
            main = pipeline.snakemake()
        if main.wait() == 0:
            break
    return orphans + pipeline.orphans()


def _kill(pipeline: Pipeline, process: subprocess.Popen[bytes], kind: str, signum: int, delay: float) -> bool:
    """Send a signal to a process of a kind that has run for a while; False if it ended before."""
    while process.poll() is None and not pipeline.victims(kind):
        time.sleep(0.05)
    until = time.time() + delay
    while process.poll() is None and time.time() < until:
        time.sleep(0.01)
    while process.poll() is None:
        found = 0
        for victim in pipeline.victims(kind):
            try:
                victim.send_signal(signum)
                found += 1
            except psutil.Error:
                continue
            if kind != "all":
                break
        if found:
            COUNTS[kind, signal.Signals(signum).name] += 1
            return True
        time.sleep(0.05)
    return False


COUNTS: Counter[tuple[str, str]] = Counter()


def differences(expected: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a pipeline, one line each."""
    yield from (f"missing: {name}" for name in sorted(expected.keys() - found.keys()))
    yield from (f"stray: {name}" for name in sorted(found.keys() - expected.keys()))
    yield from (f"differs: {name}" for name in sorted(expected) if name in found and expected[name] != found[name])


def main() -> int:
    """Run the tool; returns 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100, help="signals to send (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of what is killed when (default %(default)s)")
    parser.add_argument(
        "--folder",
        type=Path,
        help="where to work, kept afterwards, and used again with what is in it; default: a temporary folder",
    )
    options = parser.parse_args()
    root = options.folder or Path(tempfile.mkdtemp(prefix="kills-"))
    pipeline, chance, wrong = Pipeline(root), random.Random(options.seed), 0

    began = time.time()
    if pipeline.snakemake().wait() != 0:
        print(f"the undisturbed pipeline failed: see {root}/log")
        return 1
    logs = (pipeline.checkout / "results/smoke/logs/train_run").glob("*.tsv")
    times = [float(next(csv.DictReader(log.open(), delimiter="\t"))["s"]) for log in logs]
    expected, seconds = pipeline.outcome(), sum(times) / len(times)
    print(f"undisturbed: {len(expected)} files in {time.time() - began:.0f} s, {seconds:.0f} s per run", flush=True)
    while COUNTS.total() < options.kills:
        number = min(KILLS_EACH, options.kills - COUNTS.total())
        pipeline.clean()
        kinds = [(chance.choice(VICTIMS), chance.choice(SIGNALS)) for _ in range(number)]
        # Trainers first: the pipeline goes on with what they leave.
        kinds.sort(key=lambda kind: kind[0] != "trainer")
        began = time.time()
        faults = [f"orphan: {name}" for name in disturb(pipeline, kinds, seconds, chance)]
        faults += differences(expected, pipeline.outcome())
        wrong += bool(faults)
        print(
            f"{COUNTS.total()} kills, {time.time() - began:.0f} s: {'; '.join(faults) or 'as undisturbed'}", flush=True
        )
    print(", ".join(f"{name} to {kind}: {count}" for (kind, name), count in sorted(COUNTS.items())))
    print("FAILED" if wrong else "passed", f"({wrong} pipelines were not as the undisturbed one)" if wrong else "")
    if not wrong and not options.folder:
        shutil.rmtree(root)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
