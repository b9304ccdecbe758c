"""Notebooks at the smallest budget, and the outputs that they must have there.

The notebooks of the repository are stored with the outputs of the budget `demo`, whose runs take minutes. The tests
execute them at `smoke`; what the cells tagged ``nbval-check-output`` show then is in `tests/notebooks/smoke`.

    python -m tests.support.notebooks 02_graph_matching     # store it again, of one notebook, or of all
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from bbgm.base.account import put_own_kernel_first
from bbgm.base.atomic import write_text
from tests.support.scripts import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EXPECTED = ROOT / "tests/notebooks/smoke"


def at_smoke(notebook: Path) -> Any:
    """A notebook with its parameters set for the budget `smoke`."""
    return parameterize_notebook(load_notebook_node(str(notebook)), {"budget": "smoke"})


def checked(content: Any) -> list[Any]:
    """The cells of a notebook whose outputs are compared."""
    return [cell for cell in content.cells if "nbval-check-output" in cell.metadata.get("tags", [])]


def expected_outputs(notebook: Path) -> list[Any]:
    """Of each of its checked cells."""
    found: list[Any] = json.loads((EXPECTED / f"{notebook.stem}.json").read_text(encoding="utf-8"))
    return found


def with_expected_outputs(notebook: Path) -> Any:
    """A notebook at `smoke`, whose checked cells have the outputs that they must have."""
    content = at_smoke(notebook)
    for cell, outputs in zip(checked(content), expected_outputs(notebook), strict=True):
        cell.outputs = [nbformat.from_dict(output) for output in outputs]
    return content


def store_outputs(notebook: Path) -> None:
    """Execute a notebook at `smoke`, and store what its checked cells show."""
    content = at_smoke(notebook)
    NotebookClient(content, timeout=None, kernel_name="python3", resources={"metadata": {"path": ROOT}}).execute()
    outputs = [cell.outputs for cell in checked(content)]
    text = json.dumps(outputs, indent=1, ensure_ascii=False, sort_keys=True)
    write_text(EXPECTED / f"{notebook.stem}.json", f"{text}\n")


if __name__ == "__main__":
    put_own_kernel_first()
    with tempfile.TemporaryDirectory() as results:
        os.environ["BBGM_RESULTS"] = results
        names = sys.argv[1:] or [path.stem for path in NOTEBOOKS]
        for name in names:
            store_outputs(ROOT / "notebooks" / f"{name}.ipynb")
            print(f"stored: {name}", flush=True)
