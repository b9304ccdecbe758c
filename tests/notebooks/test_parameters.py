"""Every notebook refuses wrong parameters, which papermill puts into it, before anything is computed."""

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from tests.support.notebooks import NOTEBOOKS

EACH = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)

WRONG: dict[Any, list[Any]] = {
    int: [1.0, "0", True, None],
    str: [3, 1.5, None],
    bool: [1, "yes", None],
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


OUT_OF_RANGE: list[tuple[str, dict[str, Any], str]] = [
    ("01_loss_landscape", {"points": 2}, "parameter points is 2: give 3 to 101"),
    ("02_graph_matching", {"size": 2}, "parameter size is 2: give 3 to 16"),
    ("02_graph_matching", {"seed": -1}, "parameter seed is -1: give 0 to "),
    ("03_architecture", {"category": 9}, r"parameter category is 9: give 0 to 4 \(0 = Car, "),
    ("03_architecture", {"node": 99}, "parameter node is 99: give 0 to 9"),
    ("05_keypoint_filtering", {"category": "dog"}, "parameter category is 'dog': give one of bird, "),
    ("13_beyond", {"dataset": "spair"}, "parameter dataset is 'spair': give one of voc, willow"),
    ("14_your_images", {"category": "Dog"}, "parameter category is 'Dog': give one of Car, Duck, "),
    ("15_unsaid", {"budget": "huge"}, "parameter budget is 'huge': give one of .*smoke"),
]


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


@pytest.mark.parametrize(("name", "parameters", "message"), OUT_OF_RANGE)
def test_values_out_of_range_name_the_range(name: str, parameters: dict[str, Any], message: str) -> None:
    """Before anything is trained: no cell gets as far as a run."""
    path = next(path for path in NOTEBOOKS if path.stem == name)
    content = parameterize_notebook(load_notebook_node(str(path)), {"budget": "smoke", **parameters})
    with pytest.raises(ValueError, match=message):
        execute_without_runs([cell.source for cell in content.cells if cell.cell_type == "code"])


def execute_without_runs(cells: list[str]) -> None:
    namespace: dict[str, Any] = {"In": [""]}
    for source in cells:
        namespace["In"].append(source)
        exec(source, namespace)
        if "run" in namespace:
            namespace["run"] = None
