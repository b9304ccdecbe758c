"""What ``config.yaml`` may list, and what each fault of it is told."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from bbgm.cli import main
from bbgm.config import list_runs

EXPERIMENTS = {"willow": {"intersection": ["bbgm", "bbgm_untrained"]}}


def listed(seeds: Any, experiments: Any = EXPERIMENTS) -> list[str]:
    runs = list_runs("smoke", {"experiments": experiments, "seeds": seeds})
    return [f"{run.method}{run.seed}" for run in runs]


def of_smoke(value: Any) -> dict[str, Any]:
    return {"willow": {"intersection": {"smoke": value}}}


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        (of_smoke(1), ["bbgm0", "bbgm_untrained0"]),
        (of_smoke("2"), ["bbgm0", "bbgm1", "bbgm_untrained0", "bbgm_untrained1"]),  # of Snakemake's --config
        (of_smoke({"bbgm": "2"}), ["bbgm0", "bbgm1"]),
        (of_smoke({"dgmc": 3, "others": 1}), ["bbgm0", "bbgm_untrained0"]),  # named, and not listed
        (of_smoke(0), []),
        ({"willow": {"intersection": {"demo": 1}}}, []),
        ({"willow": None}, []),
        (None, []),
    ],
)
def test_seeds_may_be_a_number_or_given_by_experiment(seeds: Any, expected: list[str]) -> None:
    assert listed(seeds) == expected


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        *((of_smoke(value), f"seeds.willow.intersection.smoke has {value!r}") for value in (-1, 1.5, True, "many")),
        *((of_smoke(value), f"seeds.willow.intersection.smoke has {value!r}") for value in ([0, 1], None, "-1")),
        (of_smoke({"bbgn": 1}), "experiment 'bbgn' is not one of ['aimle'"),
        ({"willow": {"intersection": 3}}, "seeds.willow.intersection is 3, expected a mapping"),
        (
            {"willow": {"intersection": {"tiny": 1}}},
            "budget 'tiny' is not one of ['animals', 'animals_short', 'demo', 'paper', 'smoke', 'willow']",
        ),
        ({"willow": [1]}, "seeds.willow is [1], expected a mapping"),
        ({"wilow": {}}, "data set 'wilow' is not one of"),
        ([1], "seeds is [1], expected a mapping"),
    ],
)
def test_faulty_seeds_are_named(seeds: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"config.yaml: {message}" if "is not" not in message else message)):
        listed(seeds)


@pytest.mark.parametrize("methods", ["bbgm", [3], [{"bbgm": 1}], {"bbgm": 1}])
def test_faulty_lists_of_experiments_are_named(methods: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"intersection is {methods!r}, expected a list of names")):
        listed(of_smoke(1), {"willow": {"intersection": methods}})


@pytest.mark.parametrize("content", [{}, {"experiments": None, "seeds": None}, {"experiments": {"voc": None}}])
def test_a_plan_of_nothing_says_so(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], content: Any
) -> None:
    shutil.copytree(project / "config", tmp_path / "config")
    (tmp_path / "Snakefile").touch()
    (tmp_path / "config/config.yaml").write_text(yaml.safe_dump(content))
    monkeypatch.setenv("BBGM_ROOT", str(tmp_path))
    assert main(["plan", "--budget", "smoke"]) == 2
    assert capsys.readouterr().err.startswith("bbgm: error: no run is listed for the budget 'smoke': see experiments")
