"""Every notebook refuses wrong parameters, which papermill puts into it, before anything is computed."""

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
EACH = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)

WRONG: dict[Any, list[Any]] = {
    int: [1.0, "0", True, None],
    str: [3, 1.5, None],
    list[float]: ["x", 1, [None]],
}
"""Values of other types, by the type of a parameter."""


def start(notebook: Path, parameters: dict[str, Any]) -> dict[str, Any]:
    """The namespace of a notebook that was given parameters, after its cell that checks them."""
    content = parameterize_notebook(load_notebook_node(str(notebook)), parameters)
    cells = [cell.source for cell in content.cells if cell.cell_type == "code"]
    checked = next(k for k, source in enumerate(cells) if source.startswith("check_parameters("))
    namespace: dict[str, Any] = {"In": [""]}
    for source in cells[:checked]:
        namespace["In"].append(source)
        exec(source, namespace)
    exec(cells[checked].splitlines()[0], namespace)
    return namespace


@EACH
def test_cells_before_the_check_only_import(notebook: Path) -> None:
    cells = [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    tags = [cell.metadata.get("tags", []) for cell in cells]
    before = cells[: next(k for k, names in enumerate(tags) if "parameters" in names)]
    lines = [node for cell in before for node in ast.parse(cell.source.replace("%", "#")).body]
    assert [ast.unparse(node) for node in lines if not isinstance(node, ast.Import | ast.ImportFrom)] == []


@EACH
def test_wrong_types_and_names_stop_a_notebook(notebook: Path) -> None:
    namespace = start(notebook, {"budget": "smoke"})
    assert namespace["budget"] == "smoke"
    for name, kind in namespace["__annotations__"].items():
        with pytest.raises(ValueError, match=f"no parameter '{name}s'"):
            start(notebook, {f"{name}s": namespace[name]})
        for value in WRONG[kind]:
            with pytest.raises(ValueError, match=f"parameter {name} is "):
                start(notebook, {name: value})
