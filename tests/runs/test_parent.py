"""Runs that start from another one: pre-training, fine-tuning, and evaluation without training."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
import yaml

from bbgm.config import RunConfig, load_run, make_run
from bbgm.data import open_dataset
from bbgm.methods.base import make_matcher
from bbgm.runs.checkpoint import Checkpoints, read_model, read_optimiser
from bbgm.runs.fit import fit, make_optimiser
from bbgm.runs.results import FILES, TIMING, RunRecord, finished, load, run_folder
from bbgm.runs.train import run

SMALL = {
    "protocol": {"test_pairs_per_class": 2},
    "optimiser": {"epochs": 2, "iterations_per_epoch": 2, "batch_size": 2, "milestones": [1]},
}
EXPERIMENTS = {
    "start": {"title": "Start", "keep_optimiser": True, **SMALL},
    "on": {"title": "On", "parent": {"method": "start", "seed": 4}, **SMALL},
    "fresh": {"title": "Fresh", "parent": {"method": "start", "seed": 4, "optimiser_state": False}, **SMALL},
    "as_it_is": {
        "title": "As it is",
        "setting": "Pt=yes;Wt=no",
        "parent": {"method": "start", "seed": 4, "optimiser_state": False},
        "protocol": SMALL["protocol"],
        "optimiser": {"epochs": 0},
    },
}


@pytest.fixture(scope="module")
def folder(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration folder with the experiments above."""
    folder = tmp_path_factory.mktemp("parents") / "config"
    shutil.copytree(project / "config", folder)
    for name, content in EXPERIMENTS.items():
        (folder / "experiments" / f"{name}.yaml").write_text(yaml.safe_dump(content))
    return folder


@pytest.fixture(scope="module")
def parent(folder: Path) -> RunRecord:
    """The finished parent, made by a child that did not find it. Results of this module lie beside its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BBGM_RESULTS", str(folder.parent / "results"))
        config = load_run("on", "smoke", 0, folder)
        assert config.parent is not None
        assert finished(config.parent.run) is None
        run(config)
        return load(run_folder(config.parent.run))


@pytest.fixture(autouse=True)
def _results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBGM_RESULTS", str(folder.parent / "results"))


def child(name: str, folder: Path) -> RunConfig:
    return load_run(name, "smoke", 0, folder)


def test_the_configuration_of_a_child_holds_its_parents(folder: Path) -> None:
    config = child("on", folder)
    assert config.parent is not None
    assert config.parent.run == load_run("start", "smoke", 4, folder)
    again = make_run(yaml.safe_load(config.to_yaml()))
    assert again == config
    assert again.hash() == config.hash()


def test_the_hash_of_a_child_depends_on_its_parents(folder: Path, tmp_path: Path) -> None:
    before = child("on", folder).hash()
    assert child("fresh", folder).hash() != before
    shutil.copytree(folder, tmp_path / "config")
    file = tmp_path / "config/experiments/start.yaml"
    file.write_text(yaml.safe_dump({**EXPERIMENTS["start"], "title": "Other"}))
    assert child("on", tmp_path / "config").hash() == before
    file.write_text(yaml.safe_dump({**EXPERIMENTS["start"], "solver": {"margin": 0.5}}))
    assert child("on", tmp_path / "config").hash() != before


def test_parent_and_child_have_their_files_and_say_so(parent: RunRecord, folder: Path) -> None:
    assert sorted(path.name for path in parent.folder.iterdir()) == sorted([*FILES, "optimiser.pt"])
    record = load(run_folder(child("on", folder)))
    assert "optimiser.pt" not in [path.name for path in record.folder.iterdir()]
    assert record.metrics["parent"] == {
        "folder": "smoke/willow/intersection/start/seed4",
        "config_hash": parent.config.hash(),
    }
    assert "parent" not in parent.metrics


def test_without_training_the_parents_network_is_evaluated(parent: RunRecord, folder: Path, tmp_path: Path) -> None:
    record = run(child("as_it_is", folder), tmp_path)
    assert record.metrics["per_class"] == parent.metrics["per_class"]
    assert (tmp_path / "model.safetensors").read_bytes() == (parent.folder / "model.safetensors").read_bytes()
    assert record.metrics["setting"] == "Pt=yes;Wt=no"
    assert record.history.empty


def test_going_on_with_adam_is_one_long_training(parent: RunRecord, folder: Path) -> None:
    """Two epochs after a parent of two: parameters, moments, number of steps and learning rates go on."""
    config = child("on", folder)
    matcher = make_matcher(config)
    optimiser = make_optimiser(matcher, config, parent)
    stored = safetensors.torch.load_file(parent.folder / "model.safetensors")
    assert all(torch.equal(value, stored[name]) for name, value in matcher.state_dict().items())
    assert {int(state["step"]) for state in optimiser.state.values()} == {4}
    # The parent ended after its milestone: at half its rates, which are the child's first.
    history = load(run_folder(config)).history
    assert parent.history.lr_head.tolist() == [2e-3, 2e-3, 1e-3, 1e-3]
    assert history.lr_head.tolist() == [1e-3, 1e-3, 5e-4, 5e-4]
    assert np.allclose(history.lr_backbone, 0.1 * history.lr_head)

    moments = [state["exp_avg"].clone() for state in optimiser.state.values()]
    fresh = make_optimiser(make_matcher(config), child("fresh", folder), parent)
    assert not fresh.state
    assert [group["lr"] for group in fresh.param_groups] == pytest.approx([2e-3, 2e-4])
    assert any(moment.any() for moment in moments)


def test_resuming_a_child_is_the_same_as_not_stopping(parent: RunRecord, folder: Path, tmp_path: Path) -> None:
    config = child("on", folder)
    whole = load(run_folder(config))
    dataset = open_dataset(config.data, config.protocol)
    checkpoints = Checkpoints(tmp_path / "checkpoint", config.hash())
    matcher = make_matcher(config)
    fit(matcher, make_optimiser(matcher, config, parent), dataset, config, checkpoints)
    for file in (tmp_path / "checkpoint").glob("0002.*"):  # as if killed in the second epoch
        file.unlink()
    record = run(config, tmp_path)
    assert record.metrics["per_class"] == whole.metrics["per_class"]
    assert (tmp_path / "model.safetensors").read_bytes() == (whole.folder / "model.safetensors").read_bytes()
    timing = list(TIMING)
    assert record.history.drop(columns=timing).equals(whole.history.drop(columns=timing))


def test_what_does_not_fit_is_named(parent: RunRecord, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "config")

    def refused(message: str, method: str = "wrong", **content: object) -> None:
        (tmp_path / f"config/experiments/{method}.yaml").write_text(yaml.safe_dump({"title": "x", **content}))
        with pytest.raises(ValueError, match=message):
            load_run("wrong", "smoke", 0, tmp_path / "config")

    start = {"method": "start"}
    refused(r"wrong\.yaml sets parent\.epochs, which is not one of \['dataset',", parent={**start, "epochs": 3})
    refused(r"wrong\.yaml: parent has no method", parent={"seed": 3})
    refused(r"wrong\.yaml: parent is 3, expected a mapping", parent=3)
    refused(r"'strat' is not one of \[.*'start'", parent={"method": "strat"})
    refused(r"wrong\.yaml: its parent 'wrong' starts from it", parent={"method": "wrong"})
    refused(r"start has another network: its network\.refine is True", parent=start, network={"refine": False})
    refused(r"parent bbgm does not keep its optimiser state: set keep_optimiser: true", parent={"method": "bbgm"})
    refused(r"seed: Input should be greater than or equal to 0", parent={**start, "seed": -1})


def test_a_parent_in_a_section_and_none_at_all(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "config")

    def parent_of(**content: object) -> str | None:
        (tmp_path / "config/experiments/mine.yaml").write_text(yaml.safe_dump({"title": "x", **content}))
        parent = load_run("mine", "smoke", 0, tmp_path / "config").parent
        return f"{parent.run.method}{parent.run.seed}" if parent else None

    assert parent_of(parent={"method": "start"}) == "start0"
    assert parent_of(budgets={"smoke": {"parent": {"method": "start", "seed": 2}}}) == "start2"
    assert parent_of(budgets={"demo": {"parent": {"method": "start"}}}) is None
    assert parent_of(like="on") == "start4"
    assert parent_of(like="on", datasets={"willow": {"parent": {"seed": 5}}}) == "start5"
    assert parent_of(like="on", parent=None) is None
    assert parent_of(like="on", filters={"intersection": {"parent": None}}) is None
    with pytest.raises(ValueError, match=r"mine\.yaml: its parent 'mine' starts from it"):
        parent_of(filters={"intersection": {"parent": {"method": "mine"}}})


def test_broken_files_of_the_parent_are_named(parent: RunRecord, folder: Path, tmp_path: Path) -> None:
    matcher = make_matcher(parent.config)
    optimiser = make_optimiser(matcher, parent.config)
    path = tmp_path / "optimiser.pt"
    path.write_bytes((parent.folder / "optimiser.pt").read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"optimiser\.pt is not a state of this optimiser"):
        read_optimiser(path, optimiser)
    torch.save(torch.optim.Adam([torch.nn.Parameter(torch.zeros(2))]).state_dict(), path)
    with pytest.raises(ValueError, match=r"optimiser\.pt is not a state of this optimiser"):
        read_optimiser(path, optimiser)
    with pytest.raises(ValueError, match="does not fit the network"):
        read_model(parent.folder / "model.safetensors", torch.nn.Linear(2, 2))


def test_a_parent_without_its_optimiser_state_is_not_finished(parent: RunRecord, tmp_path: Path) -> None:
    shutil.copytree(parent.folder, tmp_path / "copy")
    assert finished(parent.config, tmp_path / "copy") is not None
    (tmp_path / "copy/optimiser.pt").unlink()
    assert finished(parent.config, tmp_path / "copy") is None
    assert json.loads((tmp_path / "copy/metrics.json").read_text())["config_hash"] == parent.config.hash()
