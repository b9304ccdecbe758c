"""profiles/slurm on a real SLURM of one node: the pipeline, jobs that are cancelled and killed, GPUs, array jobs.

`make test-slurm` runs these; other commands leave them out. They take minutes, mostly for Snakemake to start in jobs.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbformat import v4

from bbgm.runs.results import TIMING, VOLATILE
from tests.support.checkout import copy_checkout, environment_of
from tests.workflow.slurm.cluster import missing_programs, start_cluster

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

PROFILE = ["--workflow-profile", "profiles/slurm", "--config", "budget=smoke"]
QUICK = ["--latency-wait", "5", "--slurm-init-seconds-before-status-checks", "3"]
RUNS = """
budget: smoke
experiments: {{willow: {{intersection: [{methods}]}}}}
seeds: {{willow: {{intersection: {{smoke: {seeds}}}}}}}
"""
PATIENCE = 1500
"""Seconds that a test waits for something: the machine may be busy."""


@pytest.fixture(scope="module")
def slurm() -> Iterator[dict[str, str]]:
    """Environment of a running cluster."""
    if missing := missing_programs():
        pytest.skip(f"no SLURM: {', '.join(missing)} not found (Debian: apt-get install slurm-wlm munge)")
    if find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("snakemake-executor-plugin-slurm is not installed: make test-slurm installs it")
    with start_cluster() as environment:
        yield environment


def make_checkout(project: Path, folder: Path, methods: str, seeds: int) -> Path:
    """A checkout whose smoke budget has only some runs on Willow."""
    copy_checkout(project, folder)
    (folder / "config/config.yaml").write_text(RUNS.format(methods=methods, seeds=seeds))
    return folder


class Pipeline:
    """Snakemake with profiles/slurm, in the background."""

    def __init__(self, folder: Path, slurm: dict[str, str], *arguments: str) -> None:
        self.folder, self.slurm, self.log = folder, slurm, folder / "snakemake.log"
        command = [sys.executable, "-m", "snakemake", *arguments, *PROFILE, *QUICK]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment_of(folder, slurm), stdout=log, stderr=log
            )

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:  # the test failed; on SIGTERM, Snakemake would wait for its jobs
            self.process.kill()
            self.process.wait()
            for job in self.jobs():
                command(self.slurm, "scancel", job)

    def wait_until(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for something to happen while Snakemake is at work."""
        for _ in range(PATIENCE * 3):
            if condition():
                return
            assert self.process.poll() is None, f"Snakemake ended before {what}:\n{self.output()}"
            time.sleep(0.3)
        raise AssertionError(f"{what} did not happen:\n{self.output()}")

    def finish(self) -> str:
        """Its output; it must succeed."""
        assert self.process.wait(PATIENCE) == 0, self.output()
        return self.output()

    def output(self) -> str:
        return self.log.read_text()[-20_000:]

    def jobs(self) -> dict[str, tuple[str, str]]:
        """State and comment of every job that SLURM remembers for this run of Snakemake, by number."""
        name = re.search(r"SLURM run ID: (\S+)", self.log.read_text())
        if name is None:
            return {}
        listing = command(self.slurm, "squeue", "--noheader", "--states=all", f"--name={name[1]}", "--format=%i|%T|%k")
        rows = [line.split("|") for line in listing.splitlines()]
        return {row[0]: (row[1], row[2]) for row in rows}


def command(environment: dict[str, str], *words: str) -> str:
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout


def test_the_pipeline_completes(project: Path, tmp_path: Path, slurm: dict[str, str]) -> None:
    """Runs, tables and notebooks; the two seeds of BB-GM in one job; logs where they are without a cluster."""
    folder = make_checkout(project, tmp_path, "bbgm, dgmc", 2)
    patient = ["--set-resources", "train_run:gpu=1", "train_run:runtime=600"]  # the machine may be busy
    with Pipeline(folder, slurm, *patient) as pipeline:
        pipeline.finish()
        jobs = pipeline.jobs()
    results = folder / "results/smoke"
    table = pd.read_csv(results / "tables/Willow.csv")
    obtained = table[table["row"] == "obtained"].set_index("method")["n"]
    assert obtained[["BB-GM", "DGMC*"]].tolist() == [2, 2]  # a notebook makes a run of its own, without training
    for name in ("notebooks/08_willow.ipynb", "notebooks/04_training.ipynb", "provenance.csv", "tables/Willow.html"):
        assert (results / name).stat().st_size > 0
    assert (folder / "figures/smoke/00_start_here.pdf").stat().st_size > 0
    for method in ("bbgm", "dgmc"):
        for seed in (0, 1):
            assert (results / f"willow/intersection/{method}/seed{seed}/metrics.json").is_file()
            log = results / f"logs/train_run/willow_intersection_{method}_seed{seed}.log"
            assert "papermill" in log.read_text() or "Executing" in log.read_text()
    assert {state for state, _ in jobs.values()} == {"COMPLETED"}
    training = sorted(comment.strip() for _, comment in jobs.values() if "train_" in comment)
    assert training == [f"rule_train_willow_intersection_{method}_train_run" for method in ("bbgm", "dgmc")]
    with Pipeline(folder, slurm) as again:
        assert "Nothing to be done" in again.finish()


def test_a_run_that_is_cancelled_or_killed_resumes(project: Path, tmp_path: Path, slurm: dict[str, str]) -> None:
    """One run is cancelled, then killed for memory, then past its time; its numbers are those of a run left alone."""
    folder = make_checkout(project, tmp_path / "checkout", "bbgm", 1)
    budget = folder / "config/budgets/smoke.yaml"
    longer = budget.read_text().replace("epochs: 2, iterations_per_epoch: 5", "epochs: 8, iterations_per_epoch: 10")
    assert "epochs: 8" in longer
    budget.write_text(longer)
    add_hungry_process(folder / "notebooks/04_training.ipynb")
    run = "willow/intersection/bbgm/seed0"
    checkpoints = folder / f"results/smoke/{run}/checkpoint"
    ends: dict[str, str] = {}
    reached: list[int] = []
    small = ["--set-resources", "train_run:gpu=1", "train_run:mem_mb=2000", "train_run:runtime=60"]
    with Pipeline(folder, slurm, f"results/smoke/{run}/run.ipynb", *small) as pipeline:
        for fault in (cancel, exceed_memory, exceed_time):
            after = reached[-1] if reached else 0
            pipeline.wait_until(f"epoch {after + 1}", lambda after=after: last_epoch(checkpoints) > after)  # type: ignore[misc]
            (job,) = (
                number for number, (state, text) in pipeline.jobs().items() if "train" in text and state == "RUNNING"
            )
            kernels = kernels_of(job, folder)
            for kernel in kernels:  # the run stands still, so that it is not over before
                os.kill(int(kernel.name), signal.SIGSTOP)
            assert {visible_device(kernel) for kernel in kernels} in ({"0"}, {"1"})
            fault(folder, slurm, job)
            pipeline.wait_until(f"the end of job {job}", lambda job=job: pipeline.jobs()[job][0] not in LIVE)  # type: ignore[misc]
            (folder / HUNGRY).unlink(missing_ok=True)
            reached.append(last_epoch(checkpoints))  # SIGTERM lets the run go on until it has written a checkpoint
            ends[fault.__name__] = pipeline.jobs()[job][0]
        output = pipeline.finish()
        jobs = [state for state, text in pipeline.jobs().values() if "train" in text]
    assert ends["cancel"] == "CANCELLED"
    assert ends["exceed_memory"] in ("OUT_OF_MEMORY", "FAILED")
    assert ends["exceed_time"] == "TIMEOUT"
    assert len(jobs) == 4
    assert jobs.count("COMPLETED") == 1
    assert output.count("Trying to restart") == 3

    alone = environment_of(folder, results=str(tmp_path / "alone"))
    arguments = ["--method", "bbgm", "--budget", "smoke", "--dataset", "willow", "--seed", "0"]
    subprocess.run(
        [sys.executable, "-m", "bbgm", "train", *arguments], cwd=folder, env=alone, check=True, timeout=PATIENCE
    )
    disturbed, undisturbed = folder / "results/smoke" / run, tmp_path / "alone/smoke" / run
    assert scores(disturbed) == scores(undisturbed)
    assert learning_curve(disturbed).equals(learning_curve(undisturbed))
    assert (disturbed / "model.safetensors").read_bytes() == (undisturbed / "model.safetensors").read_bytes()


LIVE = ("PENDING", "RUNNING", "COMPLETING", "STOPPED", "SUSPENDED")


def last_epoch(checkpoints: Path) -> int:
    """The last complete epoch that has a checkpoint; 0: none. The name of one in the next epoch is 0003-000007.json."""
    return max((int(path.stem.partition("-")[0]) for path in checkpoints.glob("*.json")), default=0)


def cancel(_folder: Path, slurm: dict[str, str], job: str) -> None:
    command(slurm, "scancel", job)


HUNGRY = "hungry"
"""The file that makes a process of the notebook take so many MiB as the file says."""


def add_hungry_process(notebook: Path) -> None:
    """Let a training notebook start a process that waits for the file `HUNGRY`, and ends with the notebook."""
    code = f"""
import os, pathlib, time
parent, file = os.getppid(), pathlib.Path({HUNGRY!r})
while os.getppid() == parent:
    if file.exists():
        taken = b"1" * (int(file.read_text()) * 2**20)
    time.sleep(0.3)
"""
    content = nbformat.read(notebook, 4)
    content.cells.insert(
        0, v4.new_code_cell(f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {code!r}]);")
    )
    nbformat.write(content, notebook)


def exceed_memory(folder: Path, slurm: dict[str, str], job: str) -> None:
    """A process that the run has started takes more than the job asked for."""
    asked = re.search(r"mem=(\d+)M", command(slurm, "scontrol", "show", "job", job))
    assert asked
    (folder / "taking").write_text(str(int(asked[1]) + 200))
    (folder / "taking").rename(folder / HUNGRY)


def exceed_time(_folder: Path, slurm: dict[str, str], job: str) -> None:
    """The shortest limit of SLURM, a minute, for a job that has stood still."""
    command(slurm, "scontrol", "update", f"JobId={job}", "TimeLimit=1")


def kernels_of(job: str, folder: Path) -> list[Path]:
    """The kernel of the training notebook in a job; another cluster on this machine may have a job of that number."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (
                f"SLURM_JOB_ID={job}\0" in (process / "environ").read_text()
                and "ipykernel" in (process / "cmdline").read_text()
                and (process / "cwd").resolve() == folder.resolve()
            ):
                found.append(process)
        except OSError:
            continue
    return found


def visible_device(process: Path) -> str:
    return dict(entry.split("=", 1) for entry in (process / "environ").read_text().split("\0") if "=" in entry).get(
        "CUDA_VISIBLE_DEVICES", "none"
    )


def scores(run: Path) -> dict[str, object]:
    metrics = json.loads((run / "metrics.json").read_text())
    return {name: value for name, value in metrics.items() if name not in VOLATILE}


def learning_curve(run: Path) -> pd.DataFrame:
    return pd.read_csv(run / "history.csv").drop(columns=list(TIMING))


def test_jobs_on_one_node_have_a_gpu_each(project: Path, tmp_path: Path, slurm: dict[str, str]) -> None:
    """SLURM chooses the GPUs, and the pipeline leaves its choice alone."""
    script = project / "workflow/scripts/one_gpu.py"
    seen = [tmp_path / "first", tmp_path / "second"]
    both = " && ".join(f"[ -s {file} ]" for file in seen)
    for file in seen:
        wrapped = (
            f"srun --ntasks=1 --gpus=1 {sys.executable} {script} printenv CUDA_VISIBLE_DEVICES > {file};"
            f" until {both}; do sleep 0.2; done"
        )
        command(slurm, "sbatch", "--gpus=1", "--mem=200", "--time=5", f"--output={file}.log", f"--wrap={wrapped}")
    for _ in range(600):
        if all(file.exists() and file.read_text() for file in seen):
            break
        time.sleep(0.1)
    assert {file.read_text().strip() for file in seen} == {"0", "1"}


def test_seeds_of_one_experiment_as_an_array(project: Path, tmp_path: Path, slurm: dict[str, str]) -> None:
    folder = make_checkout(project, tmp_path, "bbgm_untrained", 2)
    profile = folder / "profiles/slurm/profile.yaml"
    lines = profile.read_text().splitlines()
    alone = [line for line in lines if "train_{dataset}" not in line and line not in ("groups:", "group-components:")]
    profile.write_text("\n".join([*alone, "slurm-array-jobs: train_run"]))
    notebooks = [f"results/smoke/willow/intersection/bbgm_untrained/seed{seed}/run.ipynb" for seed in (0, 1)]
    with Pipeline(folder, slurm, *notebooks) as pipeline:
        pipeline.finish()
        tasks = {number: state for number, (state, _) in pipeline.jobs().items() if "_" in number}
    assert sorted(number.partition("_")[2] for number in tasks) == ["1", "2"]
    assert set(tasks.values()) == {"COMPLETED"}
    for notebook in notebooks:
        assert (folder / notebook).with_name("metrics.json").is_file()
    assert os.path.getsize(folder / "results/smoke/logs/train_run/willow_intersection_bbgm_untrained_seed1.log") > 0
