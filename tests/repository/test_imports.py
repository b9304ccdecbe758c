"""Folders of the package: no import climbs from a lower one to a higher one, and none of them is too full."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = 12
"""The most that a folder may hold, so that one look finds a file."""

LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of ``folder/pyproject.toml`` on ``folder/bbgm``."""
    command = [sys.executable, "-c", LINT, "--no-cache", "--no-logo", "pyproject.toml"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_no_import_climbs(project: Path) -> None:
    result = lint(project)
    assert result.returncode == 0, result.stdout + result.stderr
    assert " 0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("bbgm/base/atomic.py", "from bbgm.config import RunConfig"),
        ("bbgm/graphs/delaunay.py", "def lazy() -> None:\n    import bbgm.methods.losses"),
        ("bbgm/scoring/cycles.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import bbgm.runs.fit"),
        ("bbgm/data/images/split.py", "import bbgm.data.readers.voc"),
        ("bbgm_demo/seeds.py", "import bbgm.base"),
        ("bbgm/fresh/__init__.py", '"""A folder without a place in the contract."""'),
    ],
    ids=["plain", "lazy", "for_type_checks", "inside_data", "demo", "new_folder"],
)
def test_an_import_that_climbs_is_found(project: Path, tmp_path: Path, module: str, line: str) -> None:
    for package in (project / "bbgm", project / "demo_src" / "bbgm_demo"):
        shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(project / "pyproject.toml", tmp_path)
    file = tmp_path / module
    file.parent.mkdir(exist_ok=True)
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"\n{line}\n")
    result = lint(tmp_path)
    assert result.returncode == 1
    named = module.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
    assert named in result.stdout or named.rsplit(".", 1)[1] in result.stdout


def test_no_folder_has_more_modules_than_one_look_takes_in(project: Path) -> None:
    packages = (project / "bbgm", project / "demo_src" / "bbgm_demo")
    folders = [file.parent for package in packages for file in package.rglob("__init__.py")]
    count = {
        str(folder.relative_to(project)): len([file for file in folder.glob("*.py") if file.name != "__init__.py"])
        for folder in folders
    }
    assert len(count) > 10
    assert {folder: modules for folder, modules in count.items() if modules > MODULES} == {}
