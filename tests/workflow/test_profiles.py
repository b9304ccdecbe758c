"""Profiles, and what the workflow adds to Snakemake's executor for SLURM; `make test-slurm` tries the real one."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml


def test_no_profile_schedules_with_a_solver(project: Path) -> None:
    """It fails where TMPDIR has a blank in its name, says that the installation is broken, and leaves files there."""
    profiles = sorted((project / "profiles").glob("*/profile.yaml"))
    assert len(profiles) == 2
    assert [yaml.safe_load(path.read_text())["scheduler"] for path in profiles] == ["greedy", "greedy"]


@pytest.fixture
def questions(project: Path) -> dict[str, Any]:
    """What workflow/rules/slurm.smk defines."""
    defined: dict[str, Any] = {"workflow": SimpleNamespace(is_main_process=False)}
    exec((project / "workflow/rules/slurm.smk").read_text(), defined)
    defined["PAUSE"] = 0
    return defined


def executor(*answers: Any) -> tuple[SimpleNamespace, Iterator[Any]]:
    """A module that answers its questions one after the other, and the answers that are left."""
    left = iter(answers)

    async def query_job_status(_command: str, _logger: logging.Logger) -> Any:
        return next(left)

    return SimpleNamespace(get_min_job_age=lambda: next(left), query_job_status=query_job_status), left


def test_a_controller_that_is_slow_to_answer_is_asked_again(questions: dict[str, Any]) -> None:
    slurm, left = executor(None, None, 300, "not asked")
    questions["ask_until_answered"](slurm)
    assert [slurm.get_min_job_age() for _ in range(3)] == [300, 300, 300]  # asked once
    assert next(left) == "not asked"


def test_jobs_are_not_forgotten_when_nothing_is_heard_of_them(
    questions: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    slurm, _ = executor((None, None), (None, None), ({"7": "RUNNING"}, 0.1))
    questions["ask_until_answered"](slurm)
    logger = logging.getLogger("bbgm.test")
    assert asyncio.run(slurm.query_job_status("squeue --noheader", logger)) == ({"7": "RUNNING"}, 0.1)
    assert caplog.text.count("no answer to 'squeue': asking again") == 2


def test_a_cluster_that_never_says_how_long_it_remembers_jobs(questions: dict[str, Any]) -> None:
    """Then the executor takes sacct."""
    slurm, left = executor(*[None] * questions["ATTEMPTS"], "not asked")
    questions["ask_until_answered"](slurm)
    assert slurm.get_min_job_age() is None
    assert next(left) == "not asked"
