"""Measured curves: kept, read again, and quoted."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bbgm.prose import effort_figures, fill, markers, record_effort, record_scaling, scaling_figures
from bbgm.prose.measured import read_measured

SCALING = pd.DataFrame(
    {
        "kind": ["dense", "sparse", "sparse"],
        "n": [25, 100, 10_000],
        "effort": "fast",
        "seconds": [0.000194, 0.0006, 2.576],
        "mib": [2.5, 3.4, 61.3],
        "problem_mib": [1.5, 0.3, 30.2],
        "terms": [7936, 8834, 860_877],
        "cost": [-96.065, -433.371, -24_542.88],
        "gap_percent": [0.0, 0.0, 0.0512],
    }
)
EFFORT = pd.DataFrame(
    [
        ("planted", "fast", np.nan, 0.0, 16, 0.21, 16),
        ("planted", "fast", 0.25, 1.5, 10, np.nan, 16),
        ("planted", "fast", 0.5, 0.0, 16, np.nan, 16),
        ("worms", "fast", np.nan, -0.0116, 0, 2989.0, 1),
        ("worms", "fast", 4096.0, -0.0116, 0, np.nan, 1),
    ],
    columns=["family", "effort", "after_ms", "gap_percent", "proofs", "ms", "runs"],
)


@pytest.mark.parametrize(
    ("rows", "record", "read"),
    [(SCALING, record_scaling, scaling_figures), (EFFORT, record_effort, effort_figures)],
    ids=["scaling", "effort"],
)
def test_figures_come_back_as_they_were_kept(
    rows: pd.DataFrame,
    record: Callable[[pd.DataFrame, Path], Path],
    read: Callable[[Path], pd.DataFrame],
    tmp_path: Path,
) -> None:
    for _ in range(2):  # a second recording replaces the first
        record(rows, tmp_path)
    pd.testing.assert_frame_equal(read(tmp_path)[list(rows.columns)], rows, check_dtype=False)


def test_a_shared_machine_and_the_command_are_noted(tmp_path: Path) -> None:
    assert record_scaling(SCALING, tmp_path, shared=True) == tmp_path / "instances" / "scaling.csv"
    kept = read_measured("instances/scaling", tmp_path)
    assert kept["hardware"].str.contains(r"\(1 of \d+ cores, shared\)").all()
    assert set(kept["source"]) == {"bbgm bench scaling --record"}


def test_other_sizes_and_efforts_stay(tmp_path: Path) -> None:
    record_scaling(SCALING, tmp_path)
    record_scaling(SCALING.iloc[:1].assign(seconds=1.0), tmp_path)
    record_scaling(SCALING.iloc[:1].assign(effort="default"), tmp_path)
    kept = scaling_figures(tmp_path).set_index(["kind", "n", "effort"])["seconds"]
    assert kept.loc[("dense", 25, "fast")] == 1.0
    assert kept.loc[("sparse", 10_000, "fast")] == 2.576
    assert len(kept) == 4


def test_prose_quotes_them_with_three_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record_scaling(SCALING, tmp_path)
    record_effort(EFFORT, tmp_path)
    monkeypatch.setattr(markers, "read_measured", lambda name: read_measured(name, tmp_path))
    for query, text in (
        ("instances/scaling method=sparse setting=n=10000;effort=fast column=seconds", "2.58"),
        ("instances/effort method=fast setting=worms column=ms", "2990"),
        ('instances/effort method=fast setting=planted column="gap % after 0.25 ms"', "1.5"),
    ):
        marker = f"<!-- measured: {query} -->"
        assert fill(f"{marker}x<!-- end -->") == f"{marker}{text}<!-- end -->"
