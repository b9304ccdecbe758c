"""Every notebook runs at the budget `smoke`; its outputs tagged ``nbval-check-output`` are those of its file there."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.support.notebooks import EXPECTED, NOTEBOOKS, with_expected_outputs

HERE = Path(__file__).parent


def check(notebook: Path, results: Path) -> subprocess.CompletedProcess[str]:
    """Run a notebook in this environment and compare its outputs; its runs go to a folder of their own."""
    flags = ["--nbval-lax", "--nbval-current-env", "--nbval-sanitize-with", str(HERE / "sanitize.cfg")]
    # The options of pyproject.toml are for this project's own tests.
    plain = ["-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull, "--rootdir", str(notebook.parent)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plain, *flags, str(notebook)],
        env={**os.environ, "BBGM_RESULTS": str(results)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs(notebook: Path, results: Path, tmp_path: Path) -> None:
    nbformat.write(with_expected_outputs(notebook), tmp_path / notebook.name)
    result = check(tmp_path / notebook.name, results)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]


def test_there_are_no_outputs_of_other_notebooks() -> None:
    assert sorted(path.stem for path in EXPECTED.iterdir()) == [path.stem for path in NOTEBOOKS]


def test_wrong_notebook_fails(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is run by this Python, whatever kernel Jupyter would find first."""
    other = tmp_path / "kernels" / "python3"
    other.mkdir(parents=True)
    (other / "kernel.json").write_text('{"argv": ["/bin/false"], "display_name": "Python 3", "language": "python"}')
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    result = check(HERE / "wrong.ipynb", results)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "96.8" in result.stdout
    assert "97.5" in result.stdout
