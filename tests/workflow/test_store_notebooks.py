"""Outputs of executed notebooks in the notebooks of the repository."""

import copy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from tests.support.scripts import load_script


@pytest.fixture(scope="module")
def store() -> Any:
    return load_script("workflow/scripts/store_notebooks.py")


@pytest.fixture
def stored() -> Any:
    old = [new_output("stream", name="stdout", text="old")]
    cells = [
        new_code_cell('budget: str = "demo"  # which', metadata={"tags": ["parameters"]}, execution_count=1),
        new_markdown_cell("Text."),
        new_code_cell("print(budget)", execution_count=2, outputs=old),
    ]
    return new_notebook(
        cells=cells, metadata={"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    )


@pytest.fixture
def fresh(stored: Any, tmp_path: Path) -> Any:
    """As papermill leaves it, without running it."""
    nbformat.write(stored, tmp_path / "n.ipynb")
    content = parameterize_notebook(load_notebook_node(str(tmp_path / "n.ipynb")), {"budget": "demo"})
    result = {"text/plain": "new"}
    content.cells[-1].execution_count = 3
    content.cells[-1].outputs = [
        new_output("stream", name="stderr", text="noise"),
        new_output("execute_result", data=result, execution_count=3),
    ]
    return content


def test_outputs_are_taken_over_without_traces_of_papermill(store: Any, stored: Any, fresh: Any) -> None:
    result = store.with_outputs(copy.deepcopy(stored), fresh, "n")
    assert [cell.source for cell in result.cells] == [cell.source for cell in stored.cells]
    assert result.metadata == stored.metadata
    assert [cell.execution_count for cell in result.cells if cell.cell_type == "code"] == [1, 2]
    (output,) = result.cells[-1].outputs
    assert (output.data, output.execution_count) == ({"text/plain": "new"}, 2)
    assert store.with_outputs(copy.deepcopy(result), fresh, "n") == result


def test_another_or_a_failed_notebook_is_refused(store: Any, stored: Any, fresh: Any) -> None:
    changed = copy.deepcopy(stored)
    changed.cells[1].source = "Another text."
    store.with_outputs(copy.deepcopy(changed), copy.deepcopy(fresh), "n")
    changed.cells[-1].source = "print(budget, 1)"
    with pytest.raises(ValueError, match=r"n was changed after it was executed: run snakemake --cores all again"):
        store.with_outputs(changed, fresh, "n")
    fresh.cells[-1].outputs.append(new_output("error", ename="ValueError", evalue="bad", traceback=[]))
    with pytest.raises(ValueError, match="n ended with an error"):
        store.with_outputs(stored, fresh, "n")
