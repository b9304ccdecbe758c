"""The kept numbers: complete, and those of the runs that they were recorded from."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bbgm.config import load_run
from bbgm.prose import read_measured, record
from bbgm.prose.curves import AFTER, EFFORT, SCALING
from bbgm.prose.measured import COLUMNS, measured_root
from bbgm.prose.solvers import FIGURES, FOLDER, TABLE
from bbgm.runs.train import run
from bbgm.tables import SPECS, make_table

NAMES = sorted(file.relative_to(measured_root()).with_suffix("").as_posix() for file in measured_root().rglob("*.csv"))
OF_SOLVERS = {f"{FOLDER}/{TABLE}": FIGURES, f"{FOLDER}/scaling": SCALING, f"{FOLDER}/effort": EFFORT}
"""Files whose numbers are not accuracies, and the columns that each has."""
SMALL: dict[str, Any] = {"protocol": {"test_pairs_per_class": 2}, "optimiser": {"epochs": 1, "iterations_per_epoch": 1}}


@pytest.mark.parametrize("name", NAMES)
def test_kept_files_are_whole(name: str) -> None:
    frame = read_measured(name)
    assert not frame.duplicated(["method", "setting", "column", "hardware"]).any()
    assert set(frame["budget"]) == {name.partition("/")[0]}
    assert frame["date"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()
    assert (frame["source"] != "").all()
    if name in OF_SOLVERS:
        assert set(frame["column"].str.extract(f"^{AFTER}$")["figure"]) <= set(OF_SOLVERS[name])
        assert frame["std"].isna().all()
        return
    assert frame["value"].between(0, 100).all()
    assert set(frame["table"]) <= set(SPECS)
    one = frame["n"].eq(1).fillna(False)
    assert frame["std"].isna().equals(one.astype(bool))


@pytest.mark.parametrize("name", NAMES)
def test_means_are_those_of_the_classes(name: str) -> None:
    """Typed wrongly, a number would show here: classes and means were rounded to 0.1 at most."""
    frame = read_measured(name)
    for _, rows in frame.groupby(["method", "setting", "hardware"]):
        values = rows.set_index("column")["value"]
        if len(values) > 1 and "mean" in values.index:
            assert values["mean"] == pytest.approx(values.drop("mean").mean(), abs=0.1)


def test_recorded_numbers_are_those_of_the_runs(tmp_path: Path) -> None:
    configs = [load_run("bbgm", "smoke", seed, **SMALL) for seed in (0, 1)]
    records = [run(config, tmp_path / config.folder) for config in configs]
    for methods in (records[:1], records):  # a second recording replaces the first
        seeds = [one.config.seed for one in methods]
        path = record(make_table("Willow", "smoke", tmp_path, seeds=seeds), tmp_path, tmp_path / "kept")
    assert path == tmp_path / "kept" / "smoke" / "Willow.csv"
    frame = read_measured("smoke/Willow", tmp_path / "kept")
    assert list(frame.columns) == list(COLUMNS)
    mean = frame[frame["column"] == "mean"]
    accuracies = pd.Series([100 * one.metrics["mean"]["accuracy"] for one in records])
    assert mean["value"].item() == pytest.approx(accuracies.mean(), abs=1e-4)
    assert mean["std"].item() == pytest.approx(accuracies.std(), abs=1e-4)
    assert (mean["n"].item(), mean["pairs"].item()) == (2, 10)
    made = records[-1].metrics
    assert mean["commit"].item() == made["provenance"]["commit"]
    assert mean["date"].item() == made["provenance"]["finished"][:10]
    assert made["hardware"]["cpu"] in mean["hardware"].item()


def test_numbers_of_other_hardware_are_kept(tmp_path: Path) -> None:
    config = load_run("bbgm", "smoke", 0, **SMALL)
    run(config, tmp_path / config.folder)
    table = make_table("Willow", "smoke", tmp_path)
    path = record(table, tmp_path, tmp_path)
    here = path.read_text(encoding="utf-8")
    there = here.replace(str(read_measured("smoke/Willow", tmp_path)["hardware"][0]), "another, one")
    path.write_text(there, encoding="utf-8")
    record(table, tmp_path, tmp_path)
    assert path.read_text(encoding="utf-8").splitlines() == [*there.splitlines(), *here.splitlines()[1:]]
