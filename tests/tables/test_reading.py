"""The paragraph below a table says what its numbers say."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bbgm.tables import Table, make_table, read_table

AddRun = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path, add_run: AddRun) -> Callable[..., Table]:
    """The Willow table of runs of BB-GM, of another method and of the untrained network."""

    def build(n: int = 3, **more: object) -> Table:
        for seed in range(n):
            wobble = 0.01 * seed
            add_run({"Face": 0.95 + wobble, "Duck": 0.9 + wobble}, seed, **more)
            add_run({"Face": 0.6, "Duck": 0.5 + wobble}, seed, method="other", title="Other", **more)
            add_run({"Face": 0.95 + wobble, "Duck": 0.895}, seed, method="close_by", title="Close", **more)
            add_run({"Face": 0.3, "Duck": 0.4}, seed, method="bbgm_untrained", title="Untrained",
                    setting="Pt=no;Wt=no", **more)  # fmt: skip
        return make_table("Willow", str(more.get("budget", "willow")), tmp_path)

    return build


def test_the_text_has_the_numbers_of_the_table(make: Callable[..., Table]) -> None:
    table = make()
    text = read_table(table, "BB-GM", baseline="Other")
    frame = table.comparisons.set_index(["method", "baseline", "column"])
    line = frame.loc[("Other", "BB-GM", "mean")]
    for part in (
        "At the **willow** budget BB-GM finds **93.5 %** of the true matches",
        "3 runs",
        "best is face with 96.0 %, worst duck with 91.0 %",
        "38.0 points more than Other (55.5 %)",
        f"with other test pairs {-line['pairs_high']:+.1f} to {-line['pairs_low']:+.1f}",
        f"with other runs {-line['runs_high']:+.1f} to {-line['runs_low']:+.1f} (95 %)",
        "1.0 point below the published mean; the largest difference of a column is -4.0 (face)",
        "tested on 200 pairs",
        f"±{table.value('BB-GM', 'mean', 'pairs std'):.1f} points",
        "standard deviation is 1.0 points",
    ):
        assert part in text, (part, text)
    assert "open" not in text


def test_what_stays_open_is_said(make: Callable[..., Table]) -> None:
    assert "whether there is a difference stays open (test pairs, runs)" in read_table(make(), "BB-GM", "Close")


def test_a_baseline_that_was_trained_otherwise_has_no_verdict(make: Callable[..., Table]) -> None:
    text = read_table(make(), "BB-GM", "Untrained")
    assert "58.5 points more than Untrained (35.0 %), which was trained otherwise." in text


def test_demo_data_are_not_compared_with_photographs(make: Callable[..., Table]) -> None:
    assert "published" not in read_table(make(budget="demo", data={"source": "demo"}), "BB-GM")


def test_one_run_has_no_deviation(make: Callable[..., Table]) -> None:
    text = read_table(make(1), "BB-GM", "Other")
    assert "1 run;" in text
    assert "Between the runs" not in text


@pytest.mark.parametrize("n", [1, 2])
def test_of_few_runs_nothing_is_concluded(make: Callable[..., Table], n: int) -> None:
    text = read_table(make(n), "BB-GM", "Other")
    assert "(95 %); too few runs to tell whether the methods differ." in text
    assert "with other runs" not in text


def test_a_row_without_published_numbers_mentions_none(make: Callable[..., Table]) -> None:
    assert "published" not in read_table(make(), "Untrained")


def test_an_unknown_method_is_named(make: Callable[..., Table]) -> None:
    with pytest.raises(ValueError, match="DGMC"):
        read_table(make(), "DGMC")


def test_a_baseline_that_is_not_there_is_left_out(make: Callable[..., Table]) -> None:
    table = make()
    assert read_table(table, "BB-GM", baseline="DGMC") == read_table(table, "BB-GM")


def test_f1_and_viewpoints_are_called_by_their_names(tmp_path: Path, add_run: AddRun) -> None:
    unfiltered = {"filter": "unfiltered", "test_sets_per_class": 40}
    sets = {"car": (0.6, 0.7), "bird": (0.5, 0.5)}
    add_run({"car": 0.5}, sets=sets, budget="paper", data={"dataset": "voc"}, protocol=unfiltered)
    table = make_table("PascalVOCunfiltered", "paper", tmp_path)
    text = read_table(table, "BB-GM-Multi", "BB-GM", "pairs=all")
    assert "BB-GM-Multi reaches an F1 score of **" in text
    assert "more than BB-GM (" in text
    with pytest.raises(ValueError, match="any setting"):
        read_table(table, "BB-GM-Multi")
    add_run({("car", 0): 0.9, ("car", 2): 0.4}, budget="paper", data={"dataset": "spair"})
    text = read_table(make_table("Spair", "paper", tmp_path), "BB-GM")
    assert "best is easy with 90.0 %, worst hard with 40.0 %" in text
