"""What the tracked files must not hold."""

import re
import subprocess
from pathlib import Path

import pytest

MACHINE_PATH = re.compile(rb"(?<![\w.:/-])/(?:home|Users|root|work|private|mnt|media)/[\w.]")
SHARED_FOLDER = re.compile(rb"[.]{2}/shared\b")
MAY_NAME_SHARED = {".ci/run", "tests/conftest.py"}


@pytest.fixture(scope="module")
def tracked(project: Path) -> list[Path]:
    """Text files under version control."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=project, capture_output=True, text=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout")
    files = [project / name for name in listing.stdout.split("\0") if name]
    return [file for file in files if file.is_file() and b"\0" not in file.read_bytes()[:8000]]


def places(files: list[Path], project: Path, pattern: re.Pattern[bytes]) -> list[str]:
    found = []
    for file in files:
        for number, line in enumerate(file.read_bytes().splitlines(), 1):
            if pattern.search(line):
                found.append(f"{file.relative_to(project)}:{number}")
    return found


def test_no_path_of_one_machine(tracked: list[Path], project: Path) -> None:
    assert places(tracked, project, MACHINE_PATH) == []


def test_real_data_are_found_by_their_variables_only(tracked: list[Path], project: Path) -> None:
    found = places(tracked, project, SHARED_FOLDER)
    assert [place for place in found if place.rsplit(":", 1)[0] not in MAY_NAME_SHARED] == []
