"""Notebooks are prose and calls: what a reader, a diff and the output check need."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import nbformat
import pytest

from tests.support.notebooks import NOTEBOOKS

EACH = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
LONGEST_CELL, MEDIAN_CELL = 15, 4
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\([^)]+\)")


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
    assert re.search(r'^budget: str = "demo"', cell.source, re.MULTILINE)
    cells = code(notebook)
    assert re.match(r"check_parameters\(globals\(\).*\)\n", cells[cells.index(cell) + 1].source)


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
def test_every_image_has_alternative_text(notebook: Path) -> None:
    """Figures in their output, pictures of the prose in Markdown or HTML; a word is not enough."""
    described = [
        out.metadata.get("image/png", {}).get("alt", "")
        for out in outputs(notebook)
        if "image/png" in out.get("data", {})
    ]
    for cell in read(notebook).cells:
        if cell.cell_type == "markdown":
            described += re.findall(r"!\[(.*?)\]\(", cell.source)
            described += [alt or "" for alt in map(html_alt, re.findall(r"<img\b[^>]*>", cell.source))]
    assert [text for text in described if len(text.split()) < 4] == []


def html_alt(tag: str) -> str | None:
    found = re.search(r"""\balt=(["'])(.*?)\1""", tag)
    return found and found[2]


@EACH
def test_links_look_like_links(notebook: Path) -> None:
    """Not like code, as which a theme shows what is between backquotes."""
    links = [
        link for cell in read(notebook).cells if cell.cell_type == "markdown" for link in LINK.findall(cell.source)
    ]
    assert [text for text in links if text.startswith("`")] == []


@EACH
def test_links_to_notebooks_lead_somewhere(notebook: Path) -> None:
    text = "\n".join(cell.source for cell in read(notebook).cells if cell.cell_type == "markdown")
    linked = re.findall(r"\]\(([^)#]+\.ipynb)", text)
    assert [name for name in linked if not (notebook.parent / name).is_file()] == []


@EACH
def test_widgets_are_stored_as_pictures(notebook: Path) -> None:
    """Their state belongs to a kernel that has ended; workflow/scripts/papermill.py leaves the picture."""
    kinds = [set(out.get("data", ())) for out in outputs(notebook)]
    assert not [kind for kind in kinds if "application/vnd.jupyter.widget-view+json" in kind]


@EACH
def test_saves_the_figure_that_the_workflow_expects(notebook: Path) -> None:
    """It has the notebook's name; a run's own notebook, 04_training, saves none."""
    sources = "\n".join(cell.source for cell in code(notebook))
    assert (f'/ "{notebook.stem}")' in sources) == (notebook.stem != "04_training")
