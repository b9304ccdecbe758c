"""The notes of a table: how runs were trained, and what is not as in the paper."""

from collections.abc import Callable
from pathlib import Path

from bbgm.config import load_run
from bbgm.tables import make_table
from bbgm.tables.notes import describe_training, paper_differences

AddRun = Callable[..., Path]


def test_training_names_backbone_iterations_and_parent() -> None:
    assert describe_training(load_run("bbgm", "paper", 0)) == "200 iterations of 8 pairs, vgg16_bn backbone"
    assert describe_training(load_run("bbgm", "willow", 0)).endswith("vgg16 backbone frozen")
    untrained = describe_training(load_run("bbgm_untrained", "paper", 0))
    assert untrained == "not trained on willow (vgg16_bn backbone)"
    pretraining = "20000 iterations of 8 pairs, vgg16_bn backbone on voc (bbgm_pretrain)"
    assert describe_training(load_run("bbgm_pt", "paper", 0)) == f"not trained on willow, after {pretraining}"
    both = describe_training(load_run("bbgm_pt_wt", "paper", 0))
    assert both == f"400 iterations of 8 pairs, vgg16_bn backbone, after {pretraining}"


def test_notes_name_the_settings_that_differ_from_the_papers() -> None:
    assert paper_differences(load_run("bbgm_pt_wt", "paper", 3)) == []
    found = paper_differences(load_run("bbgm", "willow", 0)) or []
    assert "network.freeze_backbone yes (no)" in found
    assert "protocol.test_pairs_per_class 1000 (100)" in found
    assert not any(text.startswith(("budget", "threads", "seed")) for text in found)
    less = paper_differences(load_run("bbgm", "paper", 0, dataset="voc", optimiser={"epochs": 2, "milestones": []}))
    assert less == ["optimiser.epochs 2 (10)", "optimiser.milestones none ([2, 4, 6, 8])"]


def test_shared_differences_are_printed_once(tmp_path: Path, add_run: AddRun) -> None:
    paper = load_run("bbgm", "paper", 0).model_dump(mode="json", by_alias=True, include={"data", "protocol", "network"})
    less = paper | {"budget": "paper", "optimiser": {"epochs": 1}}
    add_run({"Car": 0.9}, **less)
    add_run({"Car": 0.8}, method="unary_costs", title="Unary Costs", **less | {"network": {"quadratic": True}})
    notes = make_table("Willow", "paper", tmp_path).notes
    assert sum("optimiser.epochs 1 (2)" in note for note in notes) == 1
    shared = next(note for note in notes if note.startswith("Not as at the paper's budget"))
    assert "BB-GM" not in shared
    assert "Unary Costs: also network.quadratic yes (no)." in notes


def test_an_experiment_whose_file_is_gone_is_told(tmp_path: Path, add_run: AddRun) -> None:
    """It hides no difference that the others share."""
    add_run({"Car": 0.9})
    add_run({"Car": 0.8}, method="gone", title="Gone")
    notes = make_table("Willow", "willow", tmp_path).notes
    assert sum(note.startswith("Not as at the paper's budget") for note in notes) == 1
    assert [note for note in notes if note.startswith("Gone: not compared with the paper's budget, for no file")]


def test_methods_of_one_title_are_told_apart(tmp_path: Path, add_run: AddRun) -> None:
    add_run({"Car": 0.9})
    add_run({"Car": 0.8}, method="bbgm_pt", setting="Pt=yes;Wt=no", optimiser={"epochs": 0})
    notes = make_table("Willow", "willow", tmp_path).notes
    assert "BB-GM (Pt=yes, Wt=no): not trained on willow (vgg16_bn backbone)." in notes
    assert "BB-GM (Pt=no, Wt=yes): 200 iterations of 8 pairs, vgg16_bn backbone." in notes
