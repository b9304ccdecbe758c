"""Tables of really trained and evaluated runs, on the demo data in the formats of VOC and SPair."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbgm.config import load_run
from bbgm.runs.results import RunRecord
from bbgm.runs.train import run
from bbgm.scoring.metrics import score_class
from bbgm.tables import compare_methods, make_table, read_table

TINY: dict[str, Any] = {
    "data": {"demo_images_per_class": 10},
    "optimiser": {"epochs": 1, "iterations_per_epoch": 1, "batch_size": 2},
}
PAIRS = {"test_pairs_per_class": 6}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def unfiltered(root: Path) -> dict[str, RunRecord]:
    """BB-GM with test sets, and BB-GM-Max, on VOC."""
    records = {}
    for method, sets in (("bbgm", 3), ("bbgm_max", 0)):
        protocol = PAIRS | {"test_sets_per_class": sets, "set_size": 3}
        config = load_run(method, "smoke", 0, dataset="voc", filter="unfiltered", protocol=protocol, **TINY)
        records[method] = run(config, root / config.folder)
    return records


def test_voc_without_a_filter_scores_pairs_and_sets(root: Path, unfiltered: dict[str, RunRecord]) -> None:
    table = make_table("PascalVOCunfiltered", "smoke", root)
    metrics = unfiltered["bbgm"].metrics
    for setting, scores in (
        ("pairs=test", metrics),
        ("pairs=first", metrics["sets"]["pairwise"]["first"]),
        ("pairs=all", metrics["sets"]["pairwise"]["all"]),
    ):
        assert table.value("BB-GM", "mean", setting=setting) == pytest.approx(100 * scores["mean"]["f1"])
        assert table.value("BB-GM", "car", setting=setting) == pytest.approx(100 * scores["per_class"]["car"]["f1"])
    joint = metrics["sets"]["joint"]["all"]["mean"]["f1"]
    assert table.value("BB-GM-Multi", "mean", setting="pairs=all") == pytest.approx(100 * joint)
    most = unfiltered["bbgm_max"].metrics["mean"]["f1"]
    assert table.value("BB-GM-Max", "mean") == pytest.approx(100 * most)
    for title, name in (("Unmatched (%)", ""), ("Unmatched, source (%)", "_source")):
        values = [scores[f"unmatched{name}_percent"] for scores in metrics["per_class"].values()]
        assert table.value(title, "mean") == pytest.approx(np.mean(values))
    assert compare_methods(table, "BB-GM", "BB-GM-Max")["verdict"].str.contains("too few runs to tell|equal").all()
    assert "BB-GM-Max" in read_table(table, "BB-GM", "BB-GM-Max", "pairs=test")


def test_spair_by_viewpoint_pools_the_pairs_of_each_class(root: Path) -> None:
    config = load_run("bbgm", "smoke", 0, dataset="spair", protocol={"test_pairs_per_class": 0}, **TINY)
    record = run(config, root / config.folder)
    table = make_table("Spair", "smoke", root)
    assert table.value("BB-GM", "all") == pytest.approx(100 * record.metrics["mean"]["accuracy"])
    for level, column in enumerate(("easy", "medium", "hard")):
        chosen = [item for item in record.predictions if f"viewpoint={level} " in item.difficulty]
        by_class = [
            score_class((x.assignment, x.truth, len(x.kept2)) for x in chosen if x.cls == cls)["accuracy"]
            for cls in {item.cls for item in chosen}
        ]
        assert table.value("BB-GM", column) == pytest.approx(100 * np.mean(by_class))
    classes = make_table("Spair-classes", "smoke", root)
    assert classes.columns == ("bird", "bottle", "car", "motorbike", "person", "mean")
    assert classes.value("BB-GM", "mean") == pytest.approx(table.value("BB-GM", "all"))
