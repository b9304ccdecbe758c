"""A computer with several GPUs: each run has its own, or they share them. `nvidia-smi` is a script that lists four."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

WAIT = "while [ ! -e {folder}/go ]; do sleep 0.05; done"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Four GPUs, and locks that only this test knows of."""
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\nfor k in 0 1 2 3; do echo "GPU $k: Some GPU (UUID: GPU-$k)"; done\n')
    tool.chmod(0o755)
    names = ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID", "BBGM_DEVICE")
    outer = {name: value for name, value in os.environ.items() if name not in names}
    return {**outer, "PATH": f"{tool.parent}:{outer['PATH']}", "TMPDIR": str(tmp_path)}


def start(project: Path, environment: dict[str, str], command: str, runs: int = 4) -> subprocess.Popen[str]:
    words = [sys.executable, str(project / "workflow/scripts/one_gpu.py"), "sh", "-c", command]
    return subprocess.Popen(
        words, env={**environment, "BBGM_RUNS_AT_ONCE": str(runs)}, stdout=subprocess.PIPE, text=True
    )


def device(project: Path, environment: dict[str, str], **change: str) -> str:
    """What a single command sees."""
    process = start(project, {**environment, **change}, 'echo "device=${CUDA_VISIBLE_DEVICES-unset}"')
    return process.communicate(timeout=60)[0].rpartition("device=")[2].strip()


def test_runs_at_the_same_time_have_different_gpus(project: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """Four at a time; a fifth waits, and gets the one that becomes free."""
    hold = "echo $CUDA_VISIBLE_DEVICES > {folder}/$CUDA_VISIBLE_DEVICES.seen; " + WAIT
    four = [start(project, environment, hold.format(folder=tmp_path)) for _ in range(4)]
    for _ in range(600):
        if len(list(tmp_path.glob("*.seen"))) == 4:
            break
        time.sleep(0.1)
    assert {file.read_text().strip() for file in tmp_path.glob("*.seen")} == {"0", "1", "2", "3"}
    fifth = start(project, environment, "echo device=$CUDA_VISIBLE_DEVICES")
    assert fifth.stdout is not None
    assert fifth.stdout.readline().startswith("waiting for one of the GPUs 0, 1, 2, 3")
    four[2].kill()  # the lock ends with the process, however it ends
    four[2].wait()
    output = fifth.communicate(timeout=60)[0]
    (tmp_path / "go").touch()
    for process in four:
        process.communicate(timeout=60)
    assert output.rpartition("device=")[2].strip() in {"0", "1", "2", "3"}
    assert fifth.returncode == 0


def test_more_runs_than_gpus_share_them_evenly(project: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """Three on two GPUs: each has one before one has two; a fourth finds the second place of the other."""
    hold = "echo $CUDA_VISIBLE_DEVICES > {folder}/{k}.seen; " + WAIT
    two, started = {**environment, "CUDA_VISIBLE_DEVICES": "0,1"}, []
    for k in range(4):
        started.append(start(project, two, hold.format(folder=tmp_path, k=k), runs=3))
        for _ in range(600):
            if (seen := tmp_path / f"{k}.seen").exists() and seen.read_text():
                break
            time.sleep(0.1)
    (tmp_path / "go").touch()
    for process in started:
        process.communicate(timeout=60)
    assert [(tmp_path / f"{k}.seen").read_text().strip() for k in range(4)] == ["0", "1", "0", "1"]


def test_only_the_visible_gpus_are_used(project: Path, environment: dict[str, str]) -> None:
    assert device(project, environment, CUDA_VISIBLE_DEVICES="3,1") == "3"


@pytest.mark.parametrize(
    ("set_before", "seen"),
    [
        ({"CUDA_VISIBLE_DEVICES": "2"}, "2"),  # as SLURM sets it
        ({"CUDA_VISIBLE_DEVICES": ""}, ""),
        ({"SLURM_JOB_ID": "7"}, "unset"),
        ({"BBGM_DEVICE": "cuda:3"}, "unset"),
        ({"PATH": "/usr/bin:/bin"}, "unset"),  # no nvidia-smi
    ],
)
def test_a_choice_that_was_made_is_left_alone(
    project: Path, environment: dict[str, str], set_before: dict[str, str], seen: str
) -> None:
    assert device(project, environment, **set_before) == seen


def test_the_exit_code_is_the_commands(project: Path, environment: dict[str, str]) -> None:
    process = start(project, environment, "exit 3")
    process.communicate(timeout=60)
    assert process.returncode == 3
