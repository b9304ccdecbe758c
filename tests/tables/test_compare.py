"""Which differences between rows are called real."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from bbgm.tables import compare_methods, describe_comparisons, list_comparisons, make_table
from bbgm.tables.compare import pairs_interval, runs_interval, signed, verdict

AddRun = Callable[..., Path]
CLASSES = ("Car", "Duck", "Face")


def accuracies(*values: float) -> dict[str, float]:
    return dict(zip(CLASSES, values, strict=True))


@pytest.mark.parametrize("paired", [True, False])
def test_interval_over_runs_is_scipys(paired: bool) -> None:
    generator = np.random.default_rng(0)
    ours, theirs = generator.normal(1, 1, (6, 3)), generator.normal(0, 3, (6 if paired else 4, 3))
    low, high = runs_interval(ours, theirs, paired)
    result = ttest_rel(ours, theirs) if paired else ttest_ind(ours, theirs, equal_var=False)
    expected = result.confidence_interval(0.95)
    np.testing.assert_allclose(low, expected.low)
    np.testing.assert_allclose(high, expected.high)


def test_interval_over_runs_that_do_not_vary() -> None:
    low, high = runs_interval(np.full((4, 1), 0.75), np.full((3, 1), 0.5), False)
    assert (low.item(), high.item()) == (0.25, 0.25)


@pytest.mark.parametrize("few", [1, 2])
def test_few_runs_have_no_interval(few: int) -> None:
    """Of either row. That of two runs would be 12.7 standard errors wide to each side."""
    for rows in ((few, 5), (5, few), (few, few)):
        scores, baseline = (np.zeros((runs, 2)) for runs in rows)
        assert np.isnan(runs_interval(scores, baseline, paired=rows == (few, few))).all()


def test_interval_over_pairs_ignores_resamples_without_a_pair() -> None:
    values = np.linspace(0, 100, 1001)[:, None]
    np.testing.assert_allclose(pairs_interval(values), [[2.5], [97.5]])
    np.testing.assert_allclose(pairs_interval(np.concatenate([values, [[np.nan]]])), [[2.5], [97.5]])


@pytest.mark.parametrize(
    ("difference", "pairs", "runs", "expected"),
    [
        (2.0, (1.0, 3.0), (0.5, 3.5), "better"),
        (-2.0, (-3.0, -1.0), (-3.5, -0.5), "worse"),
        (2.0, (1.0, 3.0), (-0.5, 4.5), "open: runs"),
        (2.0, (-1.0, 5.0), (1.0, 3.0), "open: test pairs"),
        (2.0, (-1.0, 5.0), (-1.0, 5.0), "open: test pairs, runs"),
        (2.0, (0.0, 5.0), (1.0, 3.0), "open: test pairs"),
        (2.0, (1.0, 3.0), (np.nan, np.nan), "too few runs to tell"),
        (2.0, (-1.0, 3.0), (np.nan, np.nan), "too few runs to tell"),
        (0.0, (0.0, 0.0), (0.0, 0.0), "equal"),
    ],
)
def test_a_difference_is_real_where_neither_interval_holds_zero(
    difference: float, pairs: tuple[float, float], runs: tuple[float, float], expected: str
) -> None:
    assert verdict(difference, pairs, runs) == expected


def test_compared_methods_differ_by_their_means(tmp_path: Path, add_run: AddRun) -> None:
    for seed in range(3):
        jitter = 0.01 * seed
        add_run(accuracies(0.9 + jitter, 0.6 + jitter, 0.80), seed)
        add_run(accuracies(0.5 + jitter, 0.6 + jitter, 0.81), seed, method="other", title="Mine")
    table = make_table("Willow", "willow", tmp_path)
    frame = compare_methods(table, "BB-GM", "Mine")
    assert frame.index.tolist() == ["face", "car", "duck", "mean"]
    assert frame["difference"].tolist() == pytest.approx([-1, 40, 0, 13])
    assert frame.loc["car", "verdict"] == "better"
    assert frame.loc["mean", "verdict"] == "better"
    assert frame.loc["face", "verdict"] == "open: test pairs"  # always 1 point, over the runs without deviation
    assert frame.loc["duck", "verdict"] == "open: test pairs, runs"
    car = frame.loc["car"]
    assert 34 < car["pairs_low"] < 40 < car["pairs_high"] < 46
    expected = ttest_ind([90, 91, 92], [50, 51, 52], equal_var=False).confidence_interval(0.95)
    assert [car["runs_low"], car["runs_high"]] == pytest.approx([expected.low, expected.high])
    turned = compare_methods(table, "Mine", "BB-GM")
    assert turned.loc["car", "verdict"] == "worse"
    assert turned.loc["face", "verdict"] == "open: test pairs"
    assert turned.loc["car", "pairs_low"] == pytest.approx(-car["pairs_high"])
    assert turned.loc["car", "runs_low"] == pytest.approx(-car["runs_high"])
    listed = list_comparisons(table).loc[("Pt=no;Wt=yes", "Mine", "BB-GM", "mean")]
    assert (listed["difference"], listed["verdict"]) == (-13.0, "worse")
    assert re.fullmatch(r"-1[3-9]\.\d to -1[0-2]\.\d", listed["pairs"])
    assert listed["runs"] == "-14.5 to -11.5"  # Welch's, of 0.67 points of deviation in both rows
    assert list_comparisons(table, ["car", "duck"])["difference"].tolist() == [-40.0, 0.0]
    assert list_comparisons(make_table("Willow", "willow", tmp_path, methods=["other"])).empty
    (line,) = describe_comparisons(table)
    assert line.startswith("Mine minus BB-GM (Pt=no, Wt=yes): -13.0 points; other test pairs -")
    assert line.endswith("(95 %): worse")
    # Bold: the best of a column and what is not shown to be less.
    key = "Pt=no;Wt=yes"
    assert table.best == {
        *(("BB-GM", key, column) for column in table.columns),
        *(("Mine", key, column) for column in ("face", "duck")),
    }


def test_the_same_predictions_under_two_names_are_equal(tmp_path: Path, add_run: AddRun) -> None:
    for seed in range(3):
        for method in ("mine", "copy"):  # names of one length: the same keypoints are right
            add_run(accuracies(0.9, 0.6, 0.8), seed, method=method, title=method)
    frame = compare_methods(make_table("Willow", "willow", tmp_path), "mine", "copy")
    assert set(frame["verdict"]) == {"equal"}
    assert (frame[["difference", "pairs_low", "pairs_high", "runs_low", "runs_high"]] == 0).all(axis=None)


@pytest.mark.parametrize(("points", "text"), [(-0.04, "+0.0"), (0.0, "+0.0"), (-0.06, "-0.1"), (1.25, "+1.2")])
def test_points_are_signed_unless_they_round_to_zero(points: float, text: str) -> None:
    assert signed(points) == text


def test_rows_that_are_not_compared_are_named(tmp_path: Path, add_run: AddRun) -> None:
    add_run(accuracies(0.9, 0.6, 0.8))
    add_run(accuracies(0.9, 0.6, 0.8), method="bbgm_untrained", title="Untrained", setting="Pt=no;Wt=no")
    add_run(accuracies(0.9, 0.6, 0.8), method="mine", title="Mine")
    table = make_table("Willow", "willow", tmp_path)
    with pytest.raises(ValueError, match=r"0 comparisons of 'BB-GM' with 'Untrained'.*'Pt=no;Wt=yes / Mine / BB-GM'"):
        compare_methods(table, "BB-GM", "Untrained")


def test_a_row_of_few_runs_has_no_verdict_and_is_not_bold(tmp_path: Path, add_run: AddRun) -> None:
    """However far above the others it is."""
    for seed in range(3):
        add_run(accuracies(0.90, 0.60, 0.80), seed)
        add_run(accuracies(0.50, 0.20, 0.40), seed, method="other", title="Other")
        if seed < 2:
            add_run(accuracies(1.0, 1.0, 1.0), seed, method="mine", title="Mine")
    table = make_table("Willow", "willow", tmp_path)
    assert set(compare_methods(table, "Mine", "BB-GM")["verdict"]) == {"too few runs to tell"}
    assert set(compare_methods(table, "BB-GM", "Mine")["verdict"]) == {"too few runs to tell"}
    assert set(compare_methods(table, "Other", "BB-GM")["verdict"]) == {"worse"}
    assert {method for method, _, _ in table.best} == {"BB-GM"}
    listed = list_comparisons(table).loc[("Pt=no;Wt=yes", "Mine", "BB-GM", "mean")]
    assert (listed["runs"], listed["verdict"]) == ("too few", "too few runs to tell")
    assert "other runs" not in next(line for line in describe_comparisons(table) if line.startswith("Mine minus BB-GM"))
    few = make_table("Willow", "willow", tmp_path, seeds=[0, 1])
    assert not few.best
    assert not [note for note in few.notes if note.startswith("Bold")]


def test_single_columns_are_listed_only_with_enough_runs_of_both_rows(tmp_path: Path, add_run: AddRun) -> None:
    for seed in range(3):
        add_run(accuracies(0.90, 0.60, 0.80), seed)
        add_run(accuracies(0.50, 0.20, 0.40), seed, method="other", title="Other")
    add_run(accuracies(0.7, 0.7, 0.7), 0, method="mine", title="Mine")
    table = make_table("Willow", "willow", tmp_path)
    listed = list_comparisons(table, table.columns).reset_index()
    columns = {key: part["column"].tolist() for key, part in listed.groupby(["method", "baseline"])}
    assert columns == {
        ("Other", "BB-GM"): ["face", "car", "duck", "mean"],
        ("Mine", "BB-GM"): ["mean"],
        ("Other", "Mine"): ["mean"],
    }
