"""Tables: numbers recomputed by hand from a small tree of runs, and what must never be mixed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bbgm import tables
from bbgm.config import make_run
from bbgm.tables.specs import SPECS

AddRun = Callable[..., Path]

ACCURACY = {
    0: {"Car": 0.974, "Duck": 0.912, "Face": 1.0, "Motorbike": 0.992, "Winebottle": 0.992},
    1: {"Car": 0.964, "Duck": 0.932, "Face": 1.0, "Motorbike": 0.982, "Winebottle": 0.972},
    2: {"Car": 0.961, "Duck": 0.899, "Face": 0.999, "Motorbike": 0.971, "Winebottle": 0.962},
}
ALL = {"Car": 96.9, "Duck": 89.0, "Face": 100.0, "Motorbike": 99.2, "Winebottle": 98.8}  # paper, BB-GM, Pt=no;Wt=yes
VOC = {"dataset": "voc"}
TEN_CLASSES = {"car": 0.8, "bird": 0.6, "bus": 0.9, "dog": 0.7, "cat": 0.7, "cow": 0.5, "boat": 0.6, "sofa": 0.4,
               "train": 0.9, "person": 0.5}  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path, add_run: AddRun) -> Path:
    for seed, accuracy in ACCURACY.items():
        add_run(accuracy, seed)
    return tmp_path


def rows_of(table: tables.Table, method: str) -> list[str]:
    return table.frame.loc[table.frame["method"] == method, "row"].tolist()


def test_means_deviations_and_differences(tree: Path) -> None:
    table = tables.make_table("Willow", "willow", tree)
    assert table.columns == ("face", "motorbike", "car", "duck", "bottle", "mean")
    assert rows_of(table, "BB-GM") == ["obtained", "std", "pairs std", "published", "published std", "difference"]
    for folder, column in {"Car": "car", "Winebottle": "bottle"}.items():
        values = [100 * ACCURACY[seed][folder] for seed in ACCURACY]
        assert table.value("BB-GM", column) == pytest.approx(np.mean(values))
        assert table.value("BB-GM", column, "std") == pytest.approx(np.std(values, ddof=1))
        assert table.value("BB-GM", column, "published") == ALL[folder]
        assert table.value("BB-GM", column, "difference") == pytest.approx(np.mean(values) - ALL[folder])
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


def test_demo_data_show_only_the_published_mean(tmp_path: Path, add_run: AddRun) -> None:
    add_run({"Car": 0.9, "Face": 0.7, "Lamp": 0.5}, budget="demo", data={"source": "demo"})
    table = tables.make_table("Willow", "demo", tmp_path)
    assert table.columns == ("face", "car", "lamp", "mean")
    for method in ("BB-GM", "NGM"):
        assert np.isnan(table.value(method, "car", "published"))
    assert np.isnan(table.value("BB-GM", "car", "difference"))
    assert table.value("BB-GM", "mean", "published") == pytest.approx(96.78)
    assert table.value("BB-GM", "mean", "difference") == pytest.approx(70 - 96.78)
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
    with pytest.raises(ValueError, match=r"no finished run .*willow.*bbgm train --method dgmc_pt --budget willow"):
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


def test_other_protocols_are_not_compared(tree: Path, add_run: AddRun) -> None:
    add_run(ACCURACY[0], method="other", title="Other", protocol={"test_seed": 1})
    with pytest.raises(ValueError, match=r"cannot compare .*protocol\.test_seed is 123 and 1"):
        tables.make_table("Willow", "willow", tree)


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


def test_sampling_puts_two_filters_of_one_method_side_by_side(tmp_path: Path, add_run: AddRun) -> None:
    for name, accuracy in (("intersection", 0.7), ("inclusion", 0.6)):
        run = {"method": "dgmc", "title": "DGMC*", "protocol": {"filter": name}}
        add_run({"car": accuracy, "bird": 0.5}, budget="paper", data=VOC, **run)
    add_run({"car": 0.9, "bird": 0.9}, budget="paper", data=VOC, method="mine", title="Mine")
    table = tables.make_table("PascalVOCSampling", "paper", tmp_path)
    assert table.value("DGMC", "car", setting="filter=inclusion") == pytest.approx(60)
    assert table.value("DGMC", "car", "published", setting="filter=inclusion") == 85.6
    assert table.value("DGMC", "car", "published", setting="filter=intersection") == 82.5
    assert set(table.frame["method"]) == {"DGMC"}
    assert table.comparisons.empty
    assert not table.best


def test_ablation_calls_the_unchanged_method_as_the_paper_does(tmp_path: Path, add_run: AddRun) -> None:
    add_run(TEN_CLASSES, budget="paper", data=VOC)
    add_run({cls: 0.9 * value for cls, value in TEN_CLASSES.items()}, budget="paper", data=VOC, method="unary_costs",
            title="Unary Costs", network={"quadratic": False})  # fmt: skip
    add_run(TEN_CLASSES, budget="paper", data=VOC, method="dgmc", title="DGMC*")
    add_run(TEN_CLASSES, budget="paper", data=VOC | {"exclude_willow": "classes"}, method="bbgm_pretrain", title="P")
    ablation = tables.make_table("PascalVOCAblation", "paper", tmp_path)
    assert list(dict.fromkeys(ablation.frame["method"])) == ["Unmodified", "Unary Costs"]
    assert ablation.value("Unary Costs", "sofa", "published") == 73.3
    assert ablation.value("Unmodified", "sofa", "published") == 78.4
    big = tables.make_table("PascalVOCBig", "paper", tmp_path)
    expected = ["GMN-PL", "PCA-GM", "NGM+", "GLMNet", "CIE1-H", "DGMC*", "BB-GM"]
    assert list(dict.fromkeys(big.frame["method"])) == expected
    assert big.value("BB-GM", "sofa", "published") == 77.5
    assert big.value("NGM+", "mean", "published") == pytest.approx(
        np.mean([74.4, 59.5, 76.9, 62.2, 69.9, 62.3, 57.6, 63.3, 81.4, 47.8])
    )


def test_unfiltered_scores_pairs_and_sets_and_counts_unmatched_keypoints(tmp_path: Path, add_run: AddRun) -> None:
    run = {"budget": "paper", "data": VOC}
    for seed, gain in enumerate((0.04, 0.02)):
        sets = {"car": (0.6, 0.6 + gain), "person": (0.7, 0.7 + gain)}
        protocol = {"filter": "unfiltered", "test_sets_per_class": 40}
        add_run({"car": 0.5, "person": 0.5}, seed, sets=sets, protocol=protocol, **run)
        more = {"method": "bbgm_max", "title": "BB-GM-Max", "solver": {"full": True}}
        add_run({"car": 0.3, "person": 0.2}, seed, protocol={"filter": "unfiltered"}, **more, **run)
    table = tables.make_table("PascalVOCunfiltered", "paper", tmp_path)
    obtained = table.frame[table.frame["row"] == "obtained"]
    titles = ["BB-GM-Max", "BB-GM", "Unmatched (%)", "Unmatched, source (%)", *2 * ["BB-GM", "BB-GM-Multi"]]
    assert obtained["method"].tolist() == titles
    assert obtained["setting"].tolist() == 4 * ["pairs=test"] + 2 * ["pairs=first"] + 2 * ["pairs=all"]
    assert obtained["pairs"].tolist() == 4 * [200] + 2 * [80] + 2 * [240]

    def value(method: str, column: str, pairs: str, row: str = "obtained") -> float:
        return table.value(method, column, row, setting=f"pairs={pairs}")

    # Nothing wrong is matched here, so the precision is 1.
    assert value("BB-GM", "car", "test") == pytest.approx(100 * 2 * 0.5 / 1.5, abs=1e-3)
    assert value("BB-GM-Max", "mean", "test") == pytest.approx(50 * (0.6 / 1.3 + 0.4 / 1.2), abs=1e-3)
    assert value("BB-GM", "car", "all") == pytest.approx(100 * 2 * 0.6 / 1.6, abs=1e-3)
    multi = 100 * np.mean([2 * 0.74 / 1.74, 2 * 0.72 / 1.72])
    assert value("BB-GM-Multi", "person", "all") == pytest.approx(multi, abs=1e-3)
    assert value("Unmatched (%)", "mean", "test") == value("Unmatched, source (%)", "mean", "test") == 0
    published = {("BB-GM-Max", "test"): 25.6, ("BB-GM", "test"): 51.0, ("BB-GM-Multi", "first"): 54.2,
                 ("Unmatched (%)", "test"): 40.8, ("Unmatched, source (%)", "test"): 40.8}  # fmt: skip
    assert {key: value(key[0], "car", key[1], "published") for key in published} == published
    compared = table.comparisons[["setting", "method", "baseline"]].drop_duplicates()
    assert set(compared.itertuples(index=False, name=None)) == {
        ("pairs=test", "BB-GM", "BB-GM-Max"),
        ("pairs=first", "BB-GM-Multi", "BB-GM"),
        ("pairs=all", "BB-GM-Multi", "BB-GM"),
    }
    # Of the same networks: the deviation over the runs is that of the differences.
    line = tables.compare_methods(table, "BB-GM-Multi", "BB-GM", "pairs=all").loc["mean"]
    each = [50 * sum(2 * (a + gain) / (1 + a + gain) - 2 * a / (1 + a) for a in (0.6, 0.7)) for gain in (0.04, 0.02)]
    assert line["difference"] == pytest.approx(np.mean(each), abs=1e-3)
    reach = 12.706 * np.std(each, ddof=1) / np.sqrt(2)
    assert line["runs_high"] == pytest.approx(np.mean(each) + reach, abs=0.01)


def test_runs_without_sets_are_scored_pair_by_pair(tmp_path: Path, add_run: AddRun) -> None:
    add_run({"car": 0.5}, budget="paper", data=VOC, protocol={"filter": "unfiltered"})
    table = tables.make_table("PascalVOCunfiltered", "paper", tmp_path)
    assert set(table.frame["setting"]) == {"pairs=test"}
    assert any("The paper also ran BB-GM-Max, BB-GM-Multi:" in note for note in table.notes)


def test_willow_without_filter_is_shown_beside_the_papers_mean(tmp_path: Path, add_run: AddRun) -> None:
    sets = {"Car": (0.6, 0.7), "Face": (0.8, 0.9)}
    protocol = {"filter": "unfiltered", "test_sets_per_class": 40}
    add_run({"Car": 0.5, "Face": 0.5}, sets=sets, protocol=protocol, data={"hidden_keypoints": 0.25})
    table = tables.make_table("Willow-unfiltered", "willow", tmp_path)
    assert table.value("BB-GM-Multi", "mean", "published", setting="pairs=first") == 62.8
    assert np.isnan(table.value("BB-GM", "car", "published", setting="pairs=first"))
    assert any("25 % of the keypoints were left out" in note for note in table.notes)


def test_spair_groups_pairs_by_viewpoint_and_averages_classes(tmp_path: Path, add_run: AddRun) -> None:
    accuracy = {("car", 0): 0.9, ("car", 1): 0.6, ("bird", 0): 0.7, ("bird", 1): 0.5, ("bird", 2): 0.2}
    add_run(accuracy, budget="paper", data={"dataset": "spair"})
    table = tables.make_table("Spair", "paper", tmp_path)
    assert table.columns == ("easy", "medium", "hard", "all")
    assert [table.value("BB-GM", column) for column in table.columns] == pytest.approx(
        [80, 55, 20, 100 * (0.75 + 1.4 / 3) / 2], abs=1e-9
    )
    assert table.value("BB-GM", "hard", "published") == 70.6
    assert table.value("BB-GM", "all", "published") == 78.9
    assert table.value("BB-GM", "easy", "published std") == 0.1
    classes = tables.make_table("Spair-classes", "paper", tmp_path)
    assert classes.columns == ("bird", "car", "mean")
    assert classes.value("BB-GM", "mean") == pytest.approx(table.value("BB-GM", "all"))


def test_filters_do_not_mix(tree: Path) -> None:
    with pytest.raises(ValueError, match=r"Willow-unfiltered: no finished run .*willow/willow/unfiltered"):
        tables.make_table("Willow-unfiltered", "willow", tree)


def config(method: str, dataset: str = "voc", keypoint_filter: str = "intersection"):  # type: ignore[no-untyped-def]
    data = {"dataset": dataset, "source": "original"}
    content = {"method": method, "title": "T", "budget": "paper", "seed": 0, "data": data}
    return make_run({**content, "protocol": {"filter": keypoint_filter}})


@pytest.mark.parametrize(
    ("method", "dataset", "keypoint_filter", "shown"),
    [
        ("bbgm", "voc", "intersection", {"PascalVOCBig", "PascalVOCAblation"}),
        ("dgmc", "voc", "intersection", {"PascalVOCSampling", "PascalVOCBig"}),
        ("dgmc", "voc", "inclusion", {"PascalVOCSampling"}),
        ("sinkhorn", "voc", "intersection", {"PascalVOCAblation"}),
        ("bbgm_max", "voc", "unfiltered", {"PascalVOCunfiltered"}),
        ("bbgm_pretrain", "voc", "intersection", set()),
        ("dgmc_pt_wt", "willow", "intersection", {"Willow"}),
        ("sinkhorn", "willow", "intersection", {"Willow"}),
        ("bbgm", "willow", "unfiltered", {"Willow-unfiltered"}),
        ("dgmc", "spair", "intersection", {"Spair", "Spair-classes"}),
        # A method of a user's own joins every table of its data and filter that compares methods.
        ("mine", "voc", "intersection", {"PascalVOCBig", "PascalVOCAblation"}),
        ("mine", "voc", "unfiltered", {"PascalVOCunfiltered"}),
        ("mine", "willow", "intersection", {"Willow"}),
        ("mine", "spair", "intersection", {"Spair", "Spair-classes"}),
    ],
)
def test_each_run_is_shown_by_its_tables_only(method: str, dataset: str, keypoint_filter: str, shown: set[str]) -> None:
    run = config(method, dataset, keypoint_filter)
    assert {label for label, spec in SPECS.items() if spec.shows(run)} == shown


def test_a_table_ignores_the_runs_of_others(tmp_path: Path, add_run: AddRun) -> None:
    """Even where they could not be compared: a table must not depend on what it does not show."""
    add_run({"car": 0.9}, budget="paper", data=VOC)
    before = tables.make_table("PascalVOCBig", "paper", tmp_path).to_csv()
    add_run({"car": 0.9}, budget="paper", data=VOC, method="sinkhorn", title="Sinkhorn", protocol={"test_seed": 9})
    assert tables.make_table("PascalVOCBig", "paper", tmp_path).to_csv() == before
    with pytest.raises(ValueError, match="cannot compare"):
        tables.make_table("PascalVOCAblation", "paper", tmp_path)
