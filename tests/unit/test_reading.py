"""The paragraph below a table says what its numbers say."""

import pandas as pd
import pytest

from bbgm.tables import Table
from bbgm.tables.reading import read_table

NAN = float("nan")


def _table(*, demo: bool = False, n: int = 5) -> Table:
    published = [NAN, NAN, 96.8] if demo else [100.0, 89.0, 96.8]
    difference = [NAN, NAN, -0.8] if demo else [-0.5, 3.25, -0.8]
    rows = [
        ["BB-GM", "obtained", 99.5, 92.25, 96.0, n, 2000],
        ["BB-GM", "std", 0.1, 1.4, 0.7, n, 2000],
        ["BB-GM", "published", *published, 20, pd.NA],
        ["BB-GM", "difference", *difference, pd.NA, pd.NA],
        ["BB-GM (untrained)", "obtained", 60.0, 50.0, 55.0, n, 2000],
        ["BB-GM (untrained)", "std", 1.0, 1.0, 1.0, n, 2000],
    ]
    frame = pd.DataFrame(rows, columns=["method", "row", "face", "duck", "mean", "n", "pairs"])
    frame.insert(0, "setting", "Pt=no;Wt=yes")
    frame.insert(0, "budget", "willow")
    return Table("Willow", "title", ("face", "duck", "mean"), frame.astype({"n": "Int64", "pairs": "Int64"}), ())


def test_all_its_numbers() -> None:
    text = read_table(_table(), "BB-GM", baseline="BB-GM (untrained)")
    for part in (
        "the **willow** budget BB-GM finds **96.0 %**",
        "5 runs",
        "best is face with 99.5 %, worst duck with 92.2 %",
        "41.0 points more than BB-GM (untrained) (55.0 %)",
        "0.8 points below the published mean",
        "+3.2 (duck)",
        "2000 pairs",
        "±0.1 points",  # 100 sqrt(0.96 * 0.04 / 20000) = 0.14
        "standard deviation is 0.7 points",
    ):
        assert part in text, part


def test_demo_data_are_no_reproduction() -> None:
    assert "no measure of the reproduction" in read_table(_table(demo=True), "BB-GM")


def test_one_run_has_no_deviation() -> None:
    text = read_table(_table(n=1), "BB-GM")
    assert "1 run;" in text
    assert "Between the runs" not in text


def test_a_row_without_published_numbers() -> None:
    assert "published" not in read_table(_table(), "BB-GM (untrained)")


def test_unknown_method() -> None:
    with pytest.raises(ValueError, match="DGMC"):
        read_table(_table(), "DGMC")


def test_a_baseline_that_is_not_there_is_left_out() -> None:
    assert read_table(_table(), "BB-GM", baseline="DGMC") == read_table(_table(), "BB-GM")
