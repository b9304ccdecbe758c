"""Notebooks are prose and calls: what a reader, a diff and the output check need."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
EACH = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
LONGEST_CELL, MEDIAN_CELL = 15, 4


def read(notebook: Path) -> Any:
    content = nbformat.read(notebook, as_version=4)
    nbformat.validate(content)
    return content


def code(notebook: Path) -> list[Any]:
    return [cell for cell in read(notebook).cells if cell.cell_type == "code"]


def outputs(notebook: Path) -> Iterator[Any]:
    for cell in code(notebook):
        yield from cell.outputs


def source_without_magics(cell: Any) -> str:
    return "\n".join(line for line in cell.source.splitlines() if not line.lstrip().startswith("%"))


@EACH
def test_prose_and_calls(notebook: Path) -> None:
    cells = code(notebook)
    lengths = [len(cell.source.splitlines()) for cell in cells]
    assert max(lengths) <= LONGEST_CELL
    assert median(lengths) <= MEDIAN_CELL
    assert len(read(notebook).cells) - len(cells) >= len(cells) / 2, "more code than prose"
    for cell in cells:
        tree = ast.parse(source_without_magics(cell))
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)], cell.source


@EACH
def test_starts_with_a_title(notebook: Path) -> None:
    first = read(notebook).cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")


@EACH
def test_one_typed_and_commented_parameters_cell(notebook: Path) -> None:
    (cell,) = [cell for cell in code(notebook) if "parameters" in cell.metadata.get("tags", [])]
    for line in cell.source.splitlines():
        assert re.fullmatch(r"\w+: [\w\[\], |]+ = .+  # \S.*", line), f"not `name: type = value  # meaning`: {line}"
    assert re.search(r'^budget: str = "smoke"', cell.source, re.MULTILINE)
    cells = code(notebook)
    assert cells[cells.index(cell) + 1].source.startswith("check_parameters(globals())\n")


@EACH
def test_stored_with_outputs_of_a_whole_run(notebook: Path) -> None:
    cells = code(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert list(outputs(notebook))
    assert any("nbval-check-output" in cell.metadata.get("tags", []) for cell in cells), "no output is checked"


@EACH
def test_no_error_no_stderr(notebook: Path) -> None:
    assert [out for out in outputs(notebook) if out.output_type == "error" or out.get("name") == "stderr"] == []


@EACH
def test_no_traces_of_the_run(notebook: Path) -> None:
    content = read(notebook)
    assert content.metadata.kernelspec.name == "python3"
    assert "papermill" not in content.metadata
    assert "widgets" not in content.metadata
    for cell in content.cells:
        assert not {"papermill", "execution"} & set(cell.metadata)


@EACH
def test_widgets_are_stored_as_pictures(notebook: Path) -> None:
    """Their state belongs to a kernel that has ended; workflow/scripts/papermill.py leaves the picture."""
    kinds = [set(out.get("data", ())) for out in outputs(notebook)]
    assert not [kind for kind in kinds if "application/vnd.jupyter.widget-view+json" in kind]
