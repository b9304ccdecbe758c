"""Tables: numbers recomputed by hand from a small tree of runs, and what must never be mixed."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bbgm import results, tables
from bbgm.config import make_run
from bbgm.tables.render import _tex

ACCURACY = {
    0: {"Car": 0.974, "Duck": 0.912, "Face": 1.0, "Motorbike": 0.992, "Winebottle": 0.992},
    1: {"Car": 0.964, "Duck": 0.932, "Face": 1.0, "Motorbike": 0.982, "Winebottle": 0.972},
    2: {"Car": 0.961, "Duck": 0.899, "Face": 0.999, "Motorbike": 0.971, "Winebottle": 0.962},
}
ALL = {"Car": 96.9, "Duck": 89.0, "Face": 100.0, "Motorbike": 99.2, "Winebottle": 98.8}  # paper, BB-GM, Pt=no;Wt=yes


def add_run(root: Path, accuracy: Mapping[str, float], seed: int, **changes: Any) -> Path:
    """A finished run with given accuracies, as training leaves it."""
    content: dict[str, Any] = {
        "method": "bbgm",
        "title": "BB-GM",
        "budget": "willow",
        "seed": seed,
        "data": {"source": "original"},
        **changes,
    }
    config = make_run(content)
    folder = root / config.folder
    per_class = {
        cls: {"accuracy": value, "f1": value, "precision": value, "recall": value, "n_pairs": 1000}
        for cls, value in accuracy.items()
    }
    metrics = {
        "method": config.method,
        "n_pairs": 1000 * len(accuracy),
        "per_class": per_class,
        "mean": {"accuracy": float(np.mean(list(accuracy.values()))), "f1": 0.5},
        "config_hash": config.hash(),
    }
    results.write_text(folder / "config.yaml", config.to_yaml())
    results.write_json(folder / "split.json", {})
    results.write_json(folder / "test_pairs.json", {})
    results.write_history(folder / "history.csv", ["epoch"], [])
    results.write_predictions(folder / "predictions.npz", [])
    results.write_text(folder / "model.safetensors", "")
    results.write_json(folder / "metrics.json", metrics)
    return folder


def add_unfiltered_run(root: Path, f1: Mapping[tuple[str, str], Mapping[str, float]], seed: int, **data: Any) -> None:
    """A finished run with sets: F1 of each (solution, pairs) and class."""
    changes = {"budget": "demo", "data": {"source": "demo", **data}}
    protocol = {"filter": "unfiltered", "test_sets_per_class": 40}
    folder = add_run(root, {"Car": 0.5, "Face": 0.6}, seed, **changes, protocol=protocol)
    metrics = json.loads((folder / "metrics.json").read_text())
    metrics["sets"] = {"n_sets": 80, "set_size": 5, "pairwise": {}, "joint": {}}
    for (solution, pairs), values in f1.items():
        per_class = {cls: {"f1": value, "unmatched_percent": 20 + 10 * value} for cls, value in values.items()}
        metrics["sets"][solution][pairs] = {"per_class": per_class}
    results.write_json(folder / "metrics.json", metrics)


F1 = [
    {
        ("pairwise", "first"): {"Car": 0.60, "Face": 0.70},
        ("joint", "first"): {"Car": 0.64, "Face": 0.72},
        ("pairwise", "all"): {"Car": 0.61, "Face": 0.69},
        ("joint", "all"): {"Car": 0.63, "Face": 0.70},
    },
    {
        ("pairwise", "first"): {"Car": 0.50, "Face": 0.60},
        ("joint", "first"): {"Car": 0.52, "Face": 0.62},
        ("pairwise", "all"): {"Car": 0.51, "Face": 0.59},
        ("joint", "all"): {"Car": 0.54, "Face": 0.61},
    },
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for seed, accuracy in ACCURACY.items():
        add_run(tmp_path, accuracy, seed)
    return tmp_path


def test_means_deviations_and_differences(tree: Path) -> None:
    table = tables.make_table("Willow", "willow", tree)
    assert table.columns == ("face", "motorbike", "car", "duck", "bottle", "mean")
    assert table.frame["row"].tolist() == ["obtained", "std", "published", "published std", "difference"]
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
    counts = table.frame.set_index("row")
    assert counts.loc["obtained", "n"] == 3
    assert counts.loc["obtained", "pairs"] == 5000
    assert counts.loc["published", "n"] == 20


def test_rows_compare_with_the_same_setting_only(tree: Path) -> None:
    add_run(tree, ACCURACY[0], 0, method="bbgm_pt", setting="Pt=yes;Wt=no")
    table = tables.make_table("Willow", "willow", tree)
    assert table.value("BB-GM", "duck", "published", setting="Pt=yes;Wt=no") == 89.8
    assert table.value("BB-GM", "duck", "published", setting="Pt=no;Wt=yes") == 89.0
    assert table.shown()["setting"].tolist()[0] == "Pt=yes, Wt=no"  # the paper's order of rows


def test_a_method_that_the_paper_lacks_has_no_published_row_and_comes_last(tree: Path) -> None:
    add_run(
        tree, ACCURACY[0], 0, method="a_bbgm", title="A (untrained)", setting="Pt=no;Wt=no", optimiser={"epochs": 0}
    )
    table = tables.make_table("Willow", "willow", tree)
    assert table.frame.loc[table.frame["method"] == "A (untrained)", "row"].tolist() == ["obtained", "std"]
    assert table.frame["method"].iloc[-1] == "A (untrained)"
    assert any(note.startswith("A (untrained): untrained") for note in table.notes)


def test_demo_data_show_only_the_published_mean(tmp_path: Path) -> None:
    add_run(tmp_path, {"Car": 0.9, "Face": 0.7, "Lamp": 0.5}, 0, budget="demo", data={"source": "demo"})
    table = tables.make_table("Willow", "demo", tmp_path)
    assert table.columns == ("face", "car", "lamp", "mean")
    assert np.isnan(table.value("BB-GM", "car", "published"))
    assert np.isnan(table.value("BB-GM", "car", "difference"))
    assert table.value("BB-GM", "mean", "published") == pytest.approx(96.78)
    assert table.value("BB-GM", "mean", "difference") == pytest.approx(70 - 96.78)
    assert "demo data" in table.title
    assert any("rendered objects" in note for note in table.notes)


def test_one_run_has_no_deviation(tmp_path: Path) -> None:
    add_run(tmp_path, ACCURACY[0], 0)
    table = tables.make_table("Willow", "willow", tmp_path)
    assert np.isnan(table.value("BB-GM", "mean", "std"))
    assert table.shown()["face"].tolist() == ["100.0", "100.0 ± 0.0", "0.0"]


def test_some_classes_compare_with_the_mean_of_the_same_classes(tmp_path: Path) -> None:
    add_run(tmp_path, {"Car": 0.9, "Duck": 0.8}, 0)
    table = tables.make_table("Willow", "willow", tmp_path)
    assert table.columns == ("car", "duck", "mean")
    assert table.value("BB-GM", "mean", "published") == pytest.approx((96.9 + 89.0) / 2)


def test_methods_and_seeds_can_be_chosen(tree: Path) -> None:
    assert tables.make_table("Willow", "willow", tree, seeds=[0, 2]).frame["n"].iloc[0] == 2
    with pytest.raises(ValueError, match=r"no finished run with methods \['dgmc'\]"):
        tables.make_table("Willow", "willow", tree, methods=["dgmc"])


def test_unfinished_runs_are_not_counted(tree: Path) -> None:
    (add_run(tree, ACCURACY[0], 3) / "metrics.json").unlink()
    assert tables.make_table("Willow", "willow", tree).frame["n"].iloc[0] == 3


def test_no_runs_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no finished run below .*willow.*bbgm train --method bbgm --budget willow"):
        tables.make_table("Willow", "willow", tmp_path)


def test_unknown_table_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"table 'Spoon' is not one of \['Willow'"):
        tables.make_table("Spoon", "willow", tmp_path)


def test_other_configurations_are_not_averaged(tree: Path) -> None:
    add_run(tree, ACCURACY[0], 3, optimiser={"epochs": 7})
    with pytest.raises(ValueError, match=r"cannot average .*seed0.*seed3: optimiser\.epochs is 2 and 7; delete"):
        tables.make_table("Willow", "willow", tree)
    assert tables.make_table("Willow", "willow", tree, seeds=[0, 1, 2]).frame["n"].iloc[0] == 3


def test_other_protocols_are_not_compared(tree: Path) -> None:
    add_run(tree, ACCURACY[0], 0, method="other", title="Other", protocol={"test_seed": 1})
    with pytest.raises(ValueError, match=r"cannot compare .*protocol\.test_seed is 123 and 1"):
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


def test_written_files_are_the_same_each_time_and_read_back(tree: Path) -> None:
    made = tables.make_table("Willow", "willow", tree)
    paths = tables.write_table(made, tree)
    assert paths == (tree / "willow/tables/Willow.csv", tree / "willow/tables/Willow.tex")
    before = [path.read_bytes() for path in paths]
    again = tables.make_table("Willow", "willow", tree)
    assert [path.read_bytes() for path in tables.write_table(again, tree)] == before
    read = pd.read_csv(paths[0])
    assert list(read.columns) == list(made.frame.columns)
    np.testing.assert_allclose(read["mean"], made.frame["mean"], atol=0.005)
    assert read["n"].tolist()[0] == 3


def test_latex_is_balanced_and_escaped(tree: Path) -> None:
    add_run(tree, ACCURACY[0], 0, method="odd", title="A_B & 50%")
    tex = tables.make_table("Willow", "willow", tree).to_latex()
    assert r"A\_B \& 50\%" in tex
    body = [line for line in tex.splitlines() if line.endswith(r"\\")]
    # method, setting, row, six numbers, n, pairs
    assert {line.replace(r"\&", "").count("&") for line in body} == {10}
    for name in ("toprule", "bottomrule", "begin{tabular}", "end{tabular}", "caption", "label{tab:Willow-willow}"):
        assert f"\\{name}" in tex
    assert tex.count("{") == tex.count("}")
    assert tex.isascii()


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("-3.0 ± 3.5", r"$-3.0$ $\pm$ 3.5"),
        ("+0.5", "$+0.5$"),
        ("61.4 ± 1.0", r"61.4 $\pm$ 1.0"),
        ("-", "-"),
        ("DGMC*", "DGMC$^*$"),
        ("5 % of $1", r"5 \% of \$1"),
    ],
)
def test_latex_of_a_cell(text: str, latex: str) -> None:
    """Mathematics is never within mathematics."""
    assert _tex(text) == latex


def test_html_is_deterministic_and_escaped(tree: Path) -> None:
    add_run(tree, ACCURACY[0], 0, method="odd", title="<b>A</b>")
    table = tables.make_table("Willow", "willow", tree)
    assert table._repr_html_() == tables.make_table("Willow", "willow", tree)._repr_html_()
    assert "&lt;b&gt;A" in table._repr_html_()
    assert "budget willow" in table._repr_html_()
    assert "obtained" in str(table)


def test_unfiltered_compares_both_solutions_of_the_same_runs(tmp_path: Path) -> None:
    for seed, f1 in enumerate(F1):
        add_unfiltered_run(tmp_path, f1, seed, hidden_keypoints=0.25)
    table = tables.make_table("unfiltered", "demo", tmp_path)
    assert table.columns == ("face", "car", "mean")
    obtained = table.frame[table.frame["row"] == "obtained"]
    titles = ["BB-GM", "BB-GM-Multi", "BB-GM-Multi minus alone", "Unmatched (%)"]
    assert obtained["method"].tolist() == 2 * titles
    assert obtained["setting"].tolist() == 4 * ["pairs=first"] + 4 * ["pairs=all"]
    assert obtained["pairs"].tolist() == 4 * [80] + 4 * [800]
    assert set(obtained["n"]) == {2}

    def value(method: str, column: str, row: str = "obtained", pairs: str = "first") -> float:
        return table.value(method, column, row, setting=f"pairs={pairs}")

    assert value("BB-GM", "car") == pytest.approx(55)
    assert value("BB-GM-Multi", "mean") == pytest.approx(62.5)
    assert value("BB-GM-Multi", "mean", pairs="all") == pytest.approx(62)
    # The difference is taken in each run: its deviation is smaller than that of either row.
    assert value("BB-GM-Multi minus alone", "mean") == pytest.approx(2.5)
    assert value("BB-GM-Multi minus alone", "mean", "std") == pytest.approx(np.std([3, 2], ddof=1))
    assert value("Unmatched (%)", "face", pairs="all") == pytest.approx(20 + 10 * 0.64)
    published = {"BB-GM": 61.4, "BB-GM-Multi": 62.8, "Unmatched (%)": 22.7}
    assert {method: value(method, "mean", "published") for method in published} == published
    printed = table.frame[table.frame["row"] == "published"]
    assert set(printed["setting"]) == {"pairs=first"}  # what the authors score
    assert any("25 % of the keypoints were left out" in note for note in table.notes)
    assert any("first pair of each set" in note for note in table.notes)
    csv, tex = tables.write_table(table, tmp_path)
    assert csv == tmp_path / "demo/tables/unfiltered.csv"
    assert "BB-GM-Multi" in tex.read_text()


def test_filters_do_not_mix(tree: Path) -> None:
    with pytest.raises(
        ValueError, match=r"unfiltered: no finished run below .*willow/willow/unfiltered; .* --filter unfiltered --seed"
    ):
        tables.make_table("unfiltered", "willow", tree)
