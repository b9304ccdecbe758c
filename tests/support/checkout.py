"""A checkout of the workflow's files, and Snakemake in it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

BUDGETS = ["smoke", "demo", "willow", "paper"]
NEEDED = ["Snakefile", "environment.yml", "config", "workflow", "profiles", "notebooks", "bbgm/published", "figures"]
NEEDED_WHOLE = "measured"  # its folders are named after budgets


def copy_checkout(project: Path, folder: Path) -> None:
    """Copy the workflow's files to a folder, without any result."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NEEDED:
        source = project / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns(".*", "__pycache__", *BUDGETS))
        else:
            shutil.copy(source, folder / name)
    shutil.copytree(project / NEEDED_WHOLE, folder / NEEDED_WHOLE)
    for budget in BUDGETS:
        assert (folder / f"config/budgets/{budget}.yaml").exists()


def environment_of(folder: Path, outer: Mapping[str, str] = os.environ, results: str = "") -> dict[str, str]:
    """For programs in a checkout: results inside it or below ``results``, the demo data of this project's cache."""
    environment = {key: value for key, value in outer.items() if key not in ("BBGM_RESULTS", "OMP_NUM_THREADS")}
    cache = os.environ.get("BBGM_CACHE", str(Path(__file__).parents[2] / "cache"))
    return {**environment, "BBGM_ROOT": str(folder), "BBGM_CACHE": cache, "BBGM_RESULTS": results}


def snakemake(folder: Path, *arguments: str, results: str = "") -> subprocess.CompletedProcess[str]:
    """Run Snakemake in a checkout."""
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        env=environment_of(folder, results=results),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def succeed(folder: Path, *arguments: str) -> str:
    """Run Snakemake, which must succeed; returns its output."""
    result = snakemake(folder, *arguments)
    output = result.stdout + result.stderr
    assert result.returncode == 0, output[-8000:]
    return output
