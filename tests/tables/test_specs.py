"""Each table of the paper: which runs it shows, under which names, beside which published rows."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bbgm import tables
from bbgm.config import RunConfig, make_run
from bbgm.tables.specs import SPECS

AddRun = Callable[..., Path]

VOC = {"dataset": "voc"}
TEN_CLASSES = {"car": 0.8, "bird": 0.6, "bus": 0.9, "dog": 0.7, "cat": 0.7, "cow": 0.5, "boat": 0.6, "sofa": 0.4,
               "train": 0.9, "person": 0.5}  # fmt: skip


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
    # By seed: right matches on cars alone, and what is gained jointly.
    shares = {0: (0.6, 0.04), 1: (0.5, 0.02), 2: (0.55, 0.03)}
    for seed, (car, gain) in shares.items():
        sets = {"car": (car, car + gain), "person": (0.7, 0.7 + gain)}
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
    assert value("BB-GM", "car", "all") == pytest.approx(100 * np.mean([1.2 / 1.6, 1.0 / 1.5, 1.1 / 1.55]), abs=1e-3)
    multi = 100 * np.mean([2 * 0.74 / 1.74, 2 * 0.72 / 1.72, 2 * 0.73 / 1.73])
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
    bold = {(name, column) for name, setting, column in table.best if setting == "pairs=test"}
    assert bold == {("BB-GM", column) for column in ("car", "person", "mean")}
    # Of the same networks: the deviation over the runs is that of the differences, though the runs differ by more.
    line = tables.compare_methods(table, "BB-GM-Multi", "BB-GM", "pairs=all").loc["mean"]
    each = [
        50 * sum(2 * (a + gain) / (1 + a + gain) - 2 * a / (1 + a) for a in (car, 0.7)) for car, gain in shares.values()
    ]
    assert line["difference"] == pytest.approx(np.mean(each), abs=1e-3)
    reach = 4.3027 * np.std(each, ddof=1) / np.sqrt(3)
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


def config(method: str, dataset: str = "voc", keypoint_filter: str = "intersection") -> RunConfig:
    data = {"dataset": dataset, "source": "original"}
    content = {"method": method, "title": "T", "budget": "paper", "seed": 0, "data": data}
    return make_run({**content, "protocol": {"filter": keypoint_filter}})


def studies(table: str) -> set[str]:
    return {f"{table}-gradients", f"{table}-labels", f"{table}-beyond"}


@pytest.mark.parametrize(
    ("method", "dataset", "keypoint_filter", "shown"),
    [
        ("bbgm", "voc", "intersection", {"PascalVOCBig", "PascalVOCAblation", *studies("PascalVOC")}),
        ("imle", "voc", "intersection", {"PascalVOC-gradients", "PascalVOC-labels"}),
        ("imle_wrong_10", "voc", "intersection", {"PascalVOC-labels"}),
        ("hinge", "willow", "intersection", {"Willow-gradients", "Willow-labels"}),
        ("dgmc", "voc", "intersection", {"PascalVOCSampling", "PascalVOCBig"}),
        ("dgmc", "voc", "inclusion", {"PascalVOCSampling"}),
        ("sinkhorn", "voc", "intersection", {"PascalVOCAblation", "PascalVOC-beyond"}),
        ("info_nce", "willow", "intersection", {"Willow-beyond"}),
        ("bbgm_max", "voc", "unfiltered", {"PascalVOCunfiltered"}),
        ("bbgm_pretrain", "voc", "intersection", set()),
        ("dgmc_pt_wt", "willow", "intersection", {"Willow"}),
        ("sinkhorn", "willow", "intersection", {"Willow", "Willow-beyond"}),
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


def test_a_table_of_gradients_needs_another_one_than_the_papers() -> None:
    spec = SPECS["PascalVOC-gradients"]
    assert not spec.made_of([config("bbgm", "voc", "intersection"), config("imle", "voc", "unfiltered")])
    assert spec.made_of([config("bbgm", "voc", "intersection"), config("imle", "voc", "intersection")])
    assert SPECS["PascalVOCBig"].made_of([config("bbgm", "voc", "intersection")])
    without = [config(method) for method in ("bbgm", "imle")]
    assert not SPECS["PascalVOC-labels"].made_of(without)
    assert SPECS["PascalVOC-labels"].made_of([*without, config("imle_wrong_10")])


def test_a_table_ignores_the_runs_of_others(tmp_path: Path, add_run: AddRun) -> None:
    """Even where they could not be compared: a table must not depend on what it does not show."""
    add_run({"car": 0.9}, budget="paper", data=VOC)
    before = tables.make_table("PascalVOCBig", "paper", tmp_path).to_csv()
    add_run({"car": 0.9}, budget="paper", data=VOC, method="sinkhorn", title="Sinkhorn", protocol={"test_seed": 9})
    assert tables.make_table("PascalVOCBig", "paper", tmp_path).to_csv() == before
    with pytest.raises(ValueError, match="cannot compare"):
        tables.make_table("PascalVOCAblation", "paper", tmp_path)
    (tmp_path / "paper/voc/intersection/sinkhorn/seed0/metrics.json").write_text("{")
    assert tables.make_table("PascalVOCBig", "paper", tmp_path).to_csv() == before
