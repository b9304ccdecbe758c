"""A model in one file: it works without its run, half precision changes nothing but rounding, the card says so."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bbgm.cli import main
from bbgm.config import load_run
from bbgm.models import ModelInfo, evaluate_model, export, export_run, load_model, read_info, read_model_file
from bbgm.models.load import SHIPPED
from bbgm.runs.results import RunRecord, load
from bbgm.runs.train import load_matcher, run

FEW: dict[str, Any] = {"protocol": {"test_pairs_per_class": 6}, "optimiser": {"epochs": 1, "batch_size": 4}}


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return run(load_run("bbgm", "smoke", 0, **FEW), tmp_path_factory.mktemp("run"), progress=False)


@pytest.fixture(scope="module")
def exported(record: RunRecord, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ModelInfo]:
    path = tmp_path_factory.mktemp("model") / "cars.safetensors"
    return path, export_run(record, path, progress=False)


def test_parameters_are_rounded_and_nothing_else(record: RunRecord, exported: tuple[Path, ModelInfo]) -> None:
    _, tensors = read_model_file(exported[0])
    state = load_matcher(record).state_dict()
    assert set(tensors) == set(state)
    for name, tensor in tensors.items():
        assert tensor.dtype == torch.float16
        assert torch.equal(tensor, state[name].half())
    assert exported[0].stat().st_size < 0.51 * (record.folder / "model.safetensors").stat().st_size


def test_it_is_evaluated_without_the_run(
    record: RunRecord, exported: tuple[Path, ModelInfo], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path))
    path, info = exported
    found = evaluate_model(path, progress=False)
    stored = info.scores["stored"]
    assert found.mean["accuracy"] == stored["accuracy"]
    assert stored["accuracy_of_run"] == record.metrics["mean"]["accuracy"]
    different = [
        int((a.assignment != b.assignment).sum()) for a, b in zip(found.predictions, record.predictions, strict=True)
    ]
    assert stored["keypoints_matched_differently"] == sum(different)
    assert stored["pairs_matched_differently"] == np.count_nonzero(different)
    assert stored["pairs"] == 30
    assert abs(stored["accuracy"] - stored["accuracy_of_run"]) <= export.ROUNDING


def test_the_same_run_gives_the_same_bytes(record: RunRecord, exported: tuple[Path, ModelInfo], tmp_path: Path) -> None:
    again = tmp_path / "cars.safetensors"
    export_run(record, again, progress=False)
    assert again.read_bytes() == exported[0].read_bytes()


def test_half_precision_that_is_more_than_rounding_is_refused(
    record: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if half precision had two bits: matchings change, and the file is not written."""

    def round_to_two_bits(matcher: torch.nn.Module) -> dict[str, torch.Tensor]:
        with torch.no_grad():
            for parameter in matcher.parameters():
                parameter.copy_((parameter / parameter.abs().max()).round() * parameter.abs().max())
        return {}

    monkeypatch.setattr(export, "_round", round_to_two_bits)
    path = tmp_path / "bad.safetensors"
    with pytest.raises(ValueError, match=r"in half precision the accuracy is .* --precision single"):
        export_run(record, path, progress=False)
    assert not path.exists()
    info = export_run(record, path, precision="single", measure=False)
    assert info.scores["stored"]["precision"] == "single"
    state = load_matcher(record).state_dict()
    assert all(torch.equal(tensor, state[name]) for name, tensor in read_model_file(path)[1].items())
    assert "was not measured" in info.card


def test_numbers_that_half_precision_cannot_hold_stay(record: RunRecord) -> None:
    matcher = load_matcher(record)
    name, parameter = next(iter(matcher.named_parameters()))
    with torch.no_grad():
        parameter.view(-1)[0] = 1e6
    rounded = export._round(matcher)
    assert name not in rounded
    assert parameter.view(-1)[0] == 1e6
    assert len(rounded) == len(list(matcher.parameters())) - 1


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunRecord, Path]:
    """A run with a frozen backbone from a file below BBGM_WEIGHTS, which counts as large."""
    from bbgm.features.weights import demo_file

    weights = tmp_path_factory.mktemp("weights")
    shutil.copy(demo_file("small"), weights / "mine.safetensors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BBGM_WEIGHTS", str(weights))
        config = load_run("bbgm", "smoke", 0, network={"freeze_backbone": True, "weights": "mine.safetensors"}, **FEW)
        return run(config, tmp_path_factory.mktemp("run"), progress=False), weights


def test_a_large_frozen_backbone_is_named_and_not_copied(
    frozen: tuple[RunRecord, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, weights = frozen
    monkeypatch.setattr(export, "SMALL", 1000)
    monkeypatch.setenv("BBGM_WEIGHTS", str(weights))
    path = tmp_path / "head.safetensors"
    info = export_run(record, path, progress=False)
    assert info.backbone is not None
    assert (info.backbone["name"], info.backbone["weights"]) == ("small", "mine.safetensors")
    assert info.backbone["sha256"] in info.card
    assert not [name for name in read_model_file(path)[1] if name.startswith("backbone.")]
    backbone = load_matcher(record).state_dict()
    loaded = load_model(path).matcher.state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in backbone.items() if name.startswith("backbone."))
    assert evaluate_model(path, progress=False).mean["accuracy"] == info.scores["stored"]["accuracy"]

    other = tmp_path / "weights"
    other.mkdir()
    monkeypatch.setenv("BBGM_WEIGHTS", str(other))
    with pytest.raises(FileNotFoundError, match=r"needs the weights 'mine\.safetensors' of backbone small"):
        load_model(path)
    from safetensors.torch import load_file, save_file

    changed = load_file(weights / "mine.safetensors")
    next(iter(changed.values())).view(-1)[0] += 1
    save_file(changed, other / "mine.safetensors")
    with pytest.raises(ValueError, match="but those in BBGM_WEIGHTS have the fingerprint"):
        load_model(path)


def test_a_small_frozen_backbone_is_part_of_the_file(
    frozen: tuple[RunRecord, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, weights = frozen
    monkeypatch.setenv("BBGM_WEIGHTS", str(weights))
    info = export_run(record, tmp_path / "a.safetensors", progress=False)
    assert info.backbone is None
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path / "nowhere"))
    assert evaluate_model(tmp_path / "a.safetensors", 3, progress=False).mean["accuracy"] > 0


def test_the_card(exported: tuple[Path, ModelInfo], record: RunRecord) -> None:
    card = exported[1].card
    for cls, scores in record.metrics["per_class"].items():
        assert f"| {cls} | {100 * scores['accuracy']:.1f} |" in card
    assert "This model has seen rendered toys only, never a photograph." in card
    assert "Licence: MIT." in card
    assert record.metrics["provenance"]["commit"] in card
    assert (
        f"keypoints are matched differently, in {exported[1].scores['stored']['pairs_matched_differently']} of" in card
    )
    assert "--method bbgm --budget smoke --dataset willow --filter intersection --seed 0" in card


def test_other_methods_are_exported_too(tmp_path: Path) -> None:
    record = run(load_run("dgmc", "smoke", 0, **FEW), tmp_path / "run", progress=False)
    export_run(record, tmp_path / "d.safetensors", progress=False)
    assert evaluate_model(tmp_path / "d.safetensors", 3, progress=False).mean["accuracy"] > 0


def test_the_commands(
    record: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["model", "export", str(record.folder), "--licence", "CC0"]) == 0
    path = tmp_path / "willow-bbgm-smoke.safetensors"
    assert "keypoints matched differently" in capsys.readouterr().out
    assert main(["model", "show", str(path)]) == 0
    assert capsys.readouterr().out == read_info(path).card
    assert read_info(path).licence == "CC0"
    assert main(["evaluate", str(path)]) == 0
    assert f"{100 * read_info(path).scores['stored']['accuracy']:.1f}" in capsys.readouterr().out
    assert main(["model", "export", str(record.folder), "--output", "model.pt"]) == 2
    assert "has the suffix '.pt': call it model.safetensors" in capsys.readouterr().err
    assert main(["model", "export", str(path)]) == 2
    assert "is not the folder of a finished run" in capsys.readouterr().err


def test_the_model_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    """Small, from a demo run of a clean commit, and its card says that it has seen toys only."""
    assert SHIPPED.stat().st_size < 5_000_000
    info, _ = read_model_file(SHIPPED)
    assert info.config["budget"] == "demo"
    assert info.data["rendered"]
    stored = info.scores["stored"]
    assert abs(stored["accuracy"] - stored["accuracy_of_run"]) <= export.ROUNDING
    assert main(["model", "show"]) == 0
    assert "never a photograph" in capsys.readouterr().out
    model = load_model()
    assert model.description == f"bbgm-toys (comes with bbgm; trained on {info.data['title']})"
    assert not model.matcher.training


def test_the_folder_of_a_run_is_a_model(record: RunRecord) -> None:
    assert load_model(record.folder).config.hash() == load(record.folder).config.hash()


def test_the_card_of_the_shipped_model_names_a_commit_of_the_history(project: Path) -> None:
    """Else nobody could make it again: `bbgm train` from a checkout of that commit, then `bbgm model export`."""
    commit = read_info(SHIPPED).provenance["commit"]
    git = ["git", "-C", str(project)]
    if subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, check=False).returncode:
        pytest.skip("not a git checkout")
    shallow = subprocess.run([*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True, check=True)
    if shallow.stdout.strip() == "true":
        pytest.skip("a shallow clone has no history")
    assert re.fullmatch("[0-9a-f]{12}", commit), "made with changes that were not committed"
    found = subprocess.run([*git, "merge-base", "--is-ancestor", commit, "HEAD"], capture_output=True, check=False)
    assert found.returncode == 0, f"{commit} is not in the history"
