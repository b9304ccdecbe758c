"""Tables: numbers recomputed by hand from a small tree of runs, and what must never be mixed."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bbgm import tables

AddRun = Callable[..., Path]

ACCURACY = {
    0: {"Car": 0.974, "Duck": 0.912, "Face": 1.0, "Motorbike": 0.992, "Winebottle": 0.992},
    1: {"Car": 0.964, "Duck": 0.932, "Face": 1.0, "Motorbike": 0.982, "Winebottle": 0.972},
    2: {"Car": 0.961, "Duck": 0.899, "Face": 0.999, "Motorbike": 0.971, "Winebottle": 0.962},
}
ALL = {"Car": 96.9, "Duck": 89.0, "Face": 100.0, "Motorbike": 99.2, "Winebottle": 98.8}  # paper, BB-GM, Pt=no;Wt=yes


@pytest.fixture
def tree(tmp_path: Path, add_run: AddRun) -> Path:
    for seed, accuracy in ACCURACY.items():
        add_run(accuracy, seed)
    return tmp_path


def rows_of(table: tables.Table, method: str) -> list[str]:
    return table.frame.loc[table.frame["method"] == method, "row"].tolist()


def test_rows_are_means_deviations_and_differences_of_the_runs(tree: Path) -> None:
    table = tables.make_table("Willow", "willow", tree)
    assert table.columns == ("face", "motorbike", "car", "duck", "bottle", "mean")
    assert rows_of(table, "BB-GM") == ["obtained", "std", "pairs std", "published", "published std", "difference"]
    for folder, column in {"Car": "car", "Winebottle": "bottle"}.items():
        values = [100 * ACCURACY[seed][folder] for seed in ACCURACY]
        assert table.value("BB-GM", column) == pytest.approx(np.mean(values))
        assert table.value("BB-GM", column, "std") == pytest.approx(np.std(values, ddof=1))
        assert table.value("BB-GM", column, "published") == ALL[folder]
        assert table.value("BB-GM", column, "difference") == pytest.approx(np.mean(values) - ALL[folder])
        assert table.runs[column].tolist() == pytest.approx(values)
    assert table.runs[["method", "setting", "seed"]].values.tolist() == [["BB-GM", "Pt=no;Wt=yes", k] for k in ACCURACY]
    means = [100 * np.mean(list(ACCURACY[seed].values())) for seed in ACCURACY]
    assert table.value("BB-GM", "mean") == pytest.approx(np.mean(means))
    assert table.value("BB-GM", "mean", "std") == pytest.approx(np.std(means, ddof=1))
    assert table.value("BB-GM", "mean", "published") == pytest.approx(np.mean(list(ALL.values())))
    assert np.isnan(table.value("BB-GM", "mean", "published std"))  # the paper prints no mean for Willow


def test_every_row_has_its_budget_and_counts(tree: Path) -> None:
    table = tables.make_table("Willow", "willow", tree)
    assert set(table.frame["budget"]) == {"willow"}
    assert "budget willow" in table.title
    counts = table.frame[table.frame["method"] == "BB-GM"].set_index("row")
    assert counts.loc["obtained", "n"] == 3
    assert counts.loc["obtained", "pairs"] == 500
    assert counts.loc["published", "n"] == 20


def test_quoted_rows_are_published_only(tree: Path) -> None:
    table = tables.make_table("Willow", "willow", tree)
    assert table.value("NGM", "duck", "published") == 77.4
    assert table.value("NGM", "mean", "published") == pytest.approx(np.mean([99.2, 82.1, 84.1, 77.4, 93.5]))
    assert rows_of(table, "NGM") == ["published"]
    assert "DGMC*" not in set(table.frame["method"])  # the paper ran it itself: absent, with a note
    note = next(note for note in table.notes if "there are no such runs" in note)
    assert "DGMC* (Pt=no, Wt=yes)" in note
    assert "BB-GM (Pt=no, Wt=yes)" not in note
    assert table.shown()["method"].tolist()[0] == "HARG-SSVM"  # the paper's order


def test_rows_compare_with_the_same_setting_only(tree: Path, add_run: AddRun) -> None:
    add_run(ACCURACY[0], method="bbgm_pt", setting="Pt=yes;Wt=no")
    table = tables.make_table("Willow", "willow", tree)
    assert table.value("BB-GM", "duck", "published", setting="Pt=yes;Wt=no") == 89.8
    assert table.value("BB-GM", "duck", "published", setting="Pt=no;Wt=yes") == 89.0
    shown = table.shown()
    assert shown.loc[shown["method"] == "BB-GM", "setting"].tolist() == ["Pt=yes, Wt=no", "Pt=no, Wt=yes"]
    assert table.comparisons.empty


def test_a_method_that_the_paper_lacks_has_no_published_row_and_comes_last(tree: Path, add_run: AddRun) -> None:
    add_run(ACCURACY[0], method="mine", title="A (untrained)", setting="Pt=no;Wt=no", optimiser={"epochs": 0})
    table = tables.make_table("Willow", "willow", tree)
    assert rows_of(table, "A (untrained)") == ["obtained", "std", "pairs std"]
    assert table.frame["method"].iloc[-1] == "A (untrained)"
    assert any(note.startswith("A (untrained): not trained on willow (vgg16_bn backbone)") for note in table.notes)


def test_two_methods_of_one_name_are_refused(tree: Path, add_run: AddRun) -> None:
    add_run(ACCURACY[0], method="mine")
    with pytest.raises(ValueError, match=r"'BB-GM' \(Pt=no;Wt=yes\) is the name of both bbgm and mine"):
        tables.make_table("Willow", "willow", tree)


def test_demo_data_stand_beside_the_published_numbers_of_photographs(tmp_path: Path, add_run: AddRun) -> None:
    """Class by class, where the paper has the class, and without differences."""
    add_run({"Car": 0.9, "Face": 0.7, "Lamp": 0.5}, budget="demo", data={"source": "demo"})
    table = tables.make_table("Willow", "demo", tmp_path)
    assert table.columns == ("face", "car", "lamp", "mean")
    assert table.value("NGM", "car", "published") == 84.1
    published = {column: table.value("BB-GM", column, "published") for column in table.columns}
    assert (published["face"], published["car"]) == (ALL["Face"], ALL["Car"])
    assert np.isnan(published["lamp"])
    assert published["mean"] == pytest.approx((ALL["Face"] + ALL["Car"]) / 2)
    assert rows_of(table, "BB-GM") == ["obtained", "std", "pairs std", "published", "published std"]
    assert set(table.shown()[""]) == {"obtained", "published (photographs)"}
    assert "difference" not in table.to_csv() + table.to_html() + table.to_latex()
    assert "demo data" in table.title
    assert any("rendered objects" in note for note in table.notes)


def test_one_run_has_no_deviation(tmp_path: Path, add_run: AddRun) -> None:
    add_run(ACCURACY[0])
    table = tables.make_table("Willow", "willow", tmp_path)
    assert np.isnan(table.value("BB-GM", "mean", "std"))
    shown = table.shown()
    assert shown["face"].tolist()[-3:] == ["100.0", "100.0 ± 0.0", "0.0"]


def test_some_classes_compare_with_the_mean_of_the_same_classes(tmp_path: Path, add_run: AddRun) -> None:
    add_run({"Car": 0.9, "Duck": 0.8})
    table = tables.make_table("Willow", "willow", tmp_path)
    assert table.columns == ("car", "duck", "mean")
    assert table.value("BB-GM", "mean", "published") == pytest.approx((96.9 + 89.0) / 2)


def test_methods_and_seeds_can_be_chosen(tree: Path) -> None:
    chosen = tables.make_table("Willow", "willow", tree, seeds=[0, 2]).frame
    assert chosen.loc[chosen["row"] == "obtained", "n"].tolist() == [2]
    with pytest.raises(ValueError, match=r"no finished run of .* with methods \['dgmc'\]"):
        tables.make_table("Willow", "willow", tree, methods=["dgmc"])


def test_unfinished_runs_are_not_counted(tree: Path, add_run: AddRun) -> None:
    (add_run(ACCURACY[0], 3) / "metrics.json").unlink()
    assert tables.make_table("Willow", "willow", tree).frame["n"].max() == 20
    frame = tables.make_table("Willow", "willow", tree).frame
    assert frame.loc[frame["row"] == "obtained", "n"].tolist() == [3]


def test_no_runs_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no finished run .*willow.*bbgm train --method gmn --budget willow"):
        tables.make_table("Willow", "willow", tmp_path)


def test_unknown_table_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"table 'Spoon' is not one of \['PascalVOCSampling'"):
        tables.make_table("Spoon", "willow", tmp_path)


def test_other_configurations_are_not_averaged(tree: Path, add_run: AddRun) -> None:
    add_run(ACCURACY[0], 3, optimiser={"epochs": 7})
    with pytest.raises(ValueError, match=r"cannot average .*seed0.*seed3: optimiser\.epochs is 2 and 7; delete"):
        tables.make_table("Willow", "willow", tree)
    frame = tables.make_table("Willow", "willow", tree, seeds=[0, 1, 2]).frame
    assert frame.loc[frame["row"] == "obtained", "n"].tolist() == [3]


def test_runs_with_and_without_a_parent_are_not_averaged(tree: Path, add_run: AddRun) -> None:
    """Whichever comes first, the difference is named."""
    start = {"method": "start", "title": "Start", "budget": "willow", "seed": 0, "keep_optimiser": True}
    add_run(ACCURACY[0], 3, parent={"run": start})
    with pytest.raises(ValueError, match=r"cannot average .*seed0.*seed3: parent\.run\.method is None and 'start'; "):
        tables.make_table("Willow", "willow", tree)


@pytest.mark.parametrize("budget", ["", "*", "will*", "willow/", "../willow", "Willow"])
def test_unknown_budget_names_the_known_ones(tree: Path, budget: str) -> None:
    """Also one that stands for several folders, or for one elsewhere."""
    with pytest.raises(
        ValueError,
        match=r"budget '.*' is not one of \['animals', 'animals_short', 'demo', 'paper', 'smoke', 'willow'\]",
    ):
        tables.make_table("Willow", budget, tree)


def test_other_protocols_are_not_compared(tree: Path, add_run: AddRun) -> None:
    add_run(ACCURACY[0], method="other", title="Other", protocol={"test_seed": 1})
    with pytest.raises(ValueError, match=r"cannot compare .*protocol\.test_seed is 123 and 1"):
        tables.make_table("Willow", "willow", tree)


def test_every_run_of_another_protocol_is_named(tree: Path, add_run: AddRun) -> None:
    other = [add_run(ACCURACY[0], seed, method="o", title="O", protocol={"min_keypoints": 3}) for seed in (0, 1)]
    first = tree / "willow/willow/intersection/bbgm/seed0"
    message = (
        f"cannot compare {first} and {other[0]}: protocol.min_keypoints is 2 and 3; nor {first} and {other[1]}; delete"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        tables.make_table("Willow", "willow", tree)


def test_filters_of_one_table_have_the_same_protocol_otherwise(tmp_path: Path, add_run: AddRun) -> None:
    for name, seed in (("intersection", 123), ("inclusion", 7)):
        protocol = {"filter": name, "test_seed": seed}
        add_run({"car": 0.5}, budget="paper", data={"dataset": "voc"}, method="dgmc", title="DGMC*", protocol=protocol)
    message = (
        "cannot put into one table .*intersection/dgmc/seed0 and .*inclusion/dgmc/seed0: protocol.test_seed is 123"
    )
    with pytest.raises(ValueError, match=message):
        tables.make_table("PascalVOCSampling", "paper", tmp_path)


def test_other_test_pairs_are_not_compared(tree: Path, add_run: AddRun) -> None:
    """As when the data were changed between two runs."""
    add_run(ACCURACY[0], method="other", title="Other", n_pairs=50)
    with pytest.raises(ValueError, match=r"cannot compare .*bbgm/seed0 and .*other/seed0: their test pairs differ"):
        tables.make_table("Willow", "willow", tree)
    add_run(ACCURACY[0], 3, n_pairs=50)
    with pytest.raises(ValueError, match=r"cannot average .*bbgm/seed0 and .*bbgm/seed3: their test pairs differ"):
        tables.make_table("Willow", "willow", tree, methods=["bbgm"])


def test_predictions_of_another_run_are_refused(tree: Path) -> None:
    runs = tree / "willow/willow/intersection/bbgm"
    shutil.copy(runs / "seed2/predictions.npz", runs / "seed0/predictions.npz")
    with pytest.raises(ValueError, match=r"seed0: predictions\.npz gives a mean accuracy of 0\.95\d+, metrics\.json"):
        tables.make_table("Willow", "willow", tree)


def test_metrics_of_another_configuration_are_refused(tree: Path) -> None:
    path = tree / "willow/willow/intersection/bbgm/seed1/metrics.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"config_hash": "0" * 16}))
    with pytest.raises(ValueError, match=r"seed1.*does not belong"):
        tables.make_table("Willow", "willow", tree)


@pytest.mark.parametrize("place", ["willow/willow/intersection/bbgm/seed0_old", "willow/willow/intersection/new/seed0"])
def test_a_copied_run_is_not_counted_twice(tree: Path, place: str) -> None:
    shutil.copytree(tree / "willow/willow/intersection/bbgm/seed0", tree / place)
    with pytest.raises(ValueError, match=rf"{place} is a copy: .* it is willow/willow/intersection/bbgm/seed0; move"):
        tables.make_table("Willow", "willow", tree)


def test_runs_of_another_budget_are_refused(tree: Path) -> None:
    (tree / "willow").rename(tree / "paper")
    with pytest.raises(ValueError, match=r"paper/.*/seed0 is a copy"):
        tables.make_table("Willow", "paper", tree)


def test_written_files_are_the_same_each_time_and_read_back(tree: Path, add_run: AddRun) -> None:
    add_run(ACCURACY[1], method="sinkhorn", title="Sinkhorn")
    made = tables.make_table("Willow", "willow", tree)
    paths = tables.write_table(made, tree)
    assert [path.name for path in paths] == ["Willow.csv", "Willow.tex", "Willow.html", "Willow.comparisons.csv"]
    assert {path.parent for path in paths} == {tree / "willow/tables"}
    before = [path.read_bytes() for path in paths]
    again = tables.make_table("Willow", "willow", tree)
    assert [path.read_bytes() for path in tables.write_table(again, tree)] == before
    read = pd.read_csv(paths[0])
    assert list(read.columns) == list(made.frame.columns)
    np.testing.assert_allclose(read["mean"], made.frame["mean"], atol=0.005)
    assert pd.read_csv(paths[-1])["column"].tolist() == list(made.columns)


def test_filters_do_not_mix(tree: Path) -> None:
    with pytest.raises(ValueError, match=r"Willow-unfiltered: no finished run .*willow/willow/unfiltered"):
        tables.make_table("Willow-unfiltered", "willow", tree)


def test_what_changes_training_pairs_only_is_compared(tree: Path, add_run: AddRun) -> None:
    add_run(ACCURACY[0], method="other", title="Other", protocol={"views": {"count": 8}, "wrong_labels": 0.1})
    assert "Other" in set(tables.make_table("Willow", "willow", tree).frame["method"])
