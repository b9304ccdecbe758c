"""Parameters of a notebook: a name that it does not have, or a value of another type, stops it at once."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bbgm.config import check_parameters, choose

CELL = 'budget: str = "smoke"\nseed: int = 0\nshares: list[float] = [0.5]\n'


def notebook(injected: str = "") -> dict[str, Any]:
    """The namespace of a notebook after its cell of parameters, and the cell that papermill added."""
    namespace: dict[str, Any] = {"In": ["", "import numpy as np", CELL, *([injected] if injected else [])]}
    for source in namespace["In"]:
        exec(source, namespace)
    return namespace


@pytest.mark.parametrize("injected", ["", '# Parameters\nbudget = "demo"\nseed = 3\nshares = [1, 0.25]\n'])
def test_parameters_of_the_right_names_and_types(injected: str) -> None:
    check_parameters(notebook(injected))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sed = 1", r"no parameter 'sed', but budget, seed, shares: did you mean 'seed'\?"),
        ("seed = 1.0", r"parameter seed is 1\.0, which is not of type int"),
        ("seed = True", "parameter seed is True"),
        ("seed = None", "parameter seed is None"),
        ("budget = 3", "parameter budget is 3, which is not of type str"),
        ('shares = ["x"]', r"parameter shares is \['x'\], which is not of type list\[float\]"),
        ("budgt = 1\nseed = '1'", "'budgt'.*; parameter seed is '1'"),
    ],
)
def test_wrong_names_and_types_are_named(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_parameters(notebook(f"# Parameters\n{line}\n"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("seed = 9", "parameter seed is 9: give 0 to 4"),
        ('budget = "demmo"', "parameter budget is 'demmo': give one of smoke, demo"),
        ("seed = 0.5", "parameter seed is 0.5, which is not of type int"),
    ],
)
def test_values_that_are_not_allowed_are_named(line: str, message: str) -> None:
    namespace = notebook(f"# Parameters\n{line}\n")
    with pytest.raises(ValueError, match=f"^{message}$"):
        check_parameters(namespace, seed=range(5), budget=("smoke", "demo"))


def test_a_parameter_chooses_by_position_or_name() -> None:
    classes = ("Car", "Duck")
    assert choose(classes, category=1) == "Duck"
    assert choose(classes, category="Car") == "Car"
    assert choose(range(7), node=3) == 3


@pytest.mark.parametrize(
    ("choices", "parameter", "message"),
    [
        (("Car", "Duck"), {"category": 9}, r"parameter category is 9: give 0 to 1 \(0 = Car, 1 = Duck\)"),
        (("Car", "Duck"), {"category": -1}, "parameter category is -1"),
        (("Car", "Duck"), {"category": "Dog"}, "parameter category is 'Dog': give one of Car, Duck"),
        (range(7), {"node": 99}, "^parameter node is 99: give 0 to 6$"),
    ],
)
def test_what_is_no_choice_is_named_with_the_choices(choices: Any, parameter: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose(choices, **parameter)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "message"),
    [(("sed", "1"), "did you mean 'seed'"), (("seed", "1.0"), "parameter seed is 1.0")],
)
def test_papermill_stops_before_anything_is_trained(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, str], message: str
) -> None:
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path / "results"))
    command = [
        sys.executable,
        "-m",
        "papermill",
        str(project / "notebooks/04_training.ipynb"),
        str(tmp_path / "out.ipynb"),
    ]
    done = subprocess.run([*command, "-p", *given], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode != 0
    assert message in done.stderr
    assert not (tmp_path / "results").exists()
