"""The pipeline's papermill: which Python runs a notebook, and what it writes where."""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

CELL = "import sys\nimport matplotlib.pyplot\nimport bbgm_solver\nsys.executable"


@pytest.mark.slow  # starts a kernel and imports matplotlib: 5 s
def test_this_python_runs_a_notebook_without_a_home_folder(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else is called python3; and nothing complains in the notebook."""
    (tmp_path / "kernels" / "python3").mkdir(parents=True)
    kernel = {"argv": ["/bin/false", "{connection_file}"], "display_name": "Python 3", "language": "python"}
    (tmp_path / "kernels" / "python3" / "kernel.json").write_text(json.dumps(kernel))
    for variable in ("JUPYTER_PATH", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    for variable in ("MPLCONFIGDIR", "IPYTHONDIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path / "cache"))
    notebook = v4.new_notebook(cells=[v4.new_code_cell(CELL)], metadata={"kernelspec": {"name": "python3"}})
    nbformat.write(notebook, tmp_path / "in.ipynb")
    command = [sys.executable, str(project / "workflow/scripts/papermill.py"), "in.ipynb", "out.ipynb"]
    done = subprocess.run(
        [*command, "--kernel", "python3", "--no-progress-bar"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outputs = nbformat.read(tmp_path / "out.ipynb", as_version=4).cells[0].outputs
    assert [output.output_type for output in outputs] == ["execute_result"], outputs
    assert outputs[0].data["text/plain"] == repr(sys.executable)
    assert not (tmp_path / "home").exists()
