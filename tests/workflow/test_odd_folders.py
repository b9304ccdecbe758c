"""The pipeline with results elsewhere, and in folders with odd names."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.checkout import snakemake, succeed

SMOKE = ["--cores", "2", "--config", "budget=smoke"]


def test_results_may_lie_anywhere(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty BBGM_RESULTS is none, ``~`` is the user's folder, and a name may hold what a shell would split at."""
    monkeypatch.setenv("HOME", str(tmp_path))
    plan = ("--dry-run", "--printshellcmds", "--config", "budget=smoke")
    for results, quoted in (
        ("", "results/smoke/demo_data/willow.json"),
        ("~/r", f"{tmp_path}/r/smoke/demo_data/willow.json"),
        ("a b's", f"""'{checkout}/a b'"'"'s/smoke/demo_data/willow.json'"""),
    ):
        output = snakemake(checkout, *plan, results=results).stdout
        assert f"bbgm data demo willow --budget smoke > {quoted} 2> " in output
    braces = snakemake(checkout, *plan, results="{a}")
    assert (
        f"BBGM_RESULTS is '{checkout}/{{a}}', and Snakemake takes what is between braces"
        in braces.stdout + braces.stderr
    )
    assert "Traceback" not in braces.stdout + braces.stderr
    wrong = snakemake(checkout, *plan, results="~nobody_of_that_name/r")
    assert "BBGM_RESULTS is '~nobody_of_that_name/r': there is no such user" in wrong.stdout + wrong.stderr


ODD = "-a b's (c) $e & ; ü"
"""The name of a folder, with what shells, make and Snakemake treat specially."""


@pytest.mark.slow  # starts a job, which reads or renders the demo data
def test_a_job_in_folders_with_odd_names(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkout, environment, cache and temporary files are in such folders, and the environment is not activated."""
    folder, braces = tmp_path / ODD, tmp_path / "{d}"
    shutil.copytree(checkout, braces, symlinks=True)
    refused = snakemake(braces, "--dry-run", *SMOKE)
    assert f"the checkout is in {braces}, and Snakemake takes what is between braces" in refused.stdout + refused.stderr
    braces.rename(folder)
    environment, used = folder / ".venv", Path(sys.prefix)
    (environment / "bin").mkdir(parents=True)
    for program in (used / "bin").iterdir():
        (environment / "bin" / program.name).symlink_to(program)
    for name in ("lib", "pyvenv.cfg"):
        if (used / name).exists():
            (environment / name).symlink_to(used / name)
    (folder / "temporary").mkdir()
    monkeypatch.setattr(sys, "executable", str(environment / "bin" / Path(sys.executable).name))
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("TMPDIR", str(folder / "temporary"))
    monkeypatch.setenv("BBGM_CACHE", str(folder / "cache"))
    made = "results/smoke/demo_data/willow.json"
    succeed(folder, made, *SMOKE)
    rendered = Path(json.loads((folder / made).read_text())["willow"]["folder"])
    assert rendered.is_relative_to(folder / "cache")
    assert list(rendered.rglob("*.png"))


def test_no_shell_runs_what_a_folder_is_called(checkout: Path) -> None:
    """A job, not only its plan: each of these characters would end a word, a command or a quotation."""
    results = "r; touch pwned; $(touch pwned) `touch pwned` 'a\" & |"
    target = str(checkout / results / "smoke/demo_data/willow.json")
    result = snakemake(checkout, "--cores", "1", "--config", "budget=smoke", "--", target, results=results)
    assert result.returncode == 0, (result.stdout + result.stderr)[-4000:]
    assert json.loads(Path(target).read_text())["willow"]
    assert not list(checkout.rglob("pwned"))
