"""A run of another configuration is moved aside, named in the message, and brought back when it is wanted again."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from bbgm.config import RunConfig, hash_of, load_run
from bbgm.runs import fit as fit_module
from bbgm.runs.results import FILES
from bbgm.runs.superseded import make_room
from bbgm.runs.train import run

SMALL: dict[str, Any] = {"test_pairs_per_class": 3}
EPOCHS: dict[str, Any] = {"epochs": 2, "iterations_per_epoch": 1, "batch_size": 2}


def small(**overrides: Any) -> RunConfig:
    return load_run("bbgm", "smoke", 0, protocol=SMALL, optimiser=EPOCHS, **overrides)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_moved_aside_and_brought_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second = small(), small(solver={"lambda": 20})
    run(first, tmp_path)
    of_first = contents(tmp_path)
    run(second, tmp_path)
    place = tmp_path / "superseded" / first.hash()
    assert f"{tmp_path} holds a run of another configuration: moved to {place}" in caplog.text
    assert contents(place) == of_first
    of_second = contents(tmp_path)
    assert of_second.keys() == of_first.keys() == set(FILES)
    assert run(first, tmp_path).metrics["config_hash"] == first.hash()
    assert contents(tmp_path) == of_first  # timings and all: it was not trained again
    assert contents(tmp_path / "superseded" / second.hash()) == of_second
    assert not place.exists()


def test_what_cannot_be_read_is_kept_too(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("a: [")
    (tmp_path / "model.safetensors").write_bytes(b"old")
    make_room(tmp_path, small())
    assert contents(tmp_path / "superseded" / "unreadable").keys() == {"config.yaml", "model.safetensors"}
    (tmp_path / "config.yaml").write_text("b: [")
    make_room(tmp_path, small())
    assert contents(tmp_path / "superseded" / "unreadable-2") == {"config.yaml": b"b: ["}


def test_a_move_that_was_interrupted_is_taken_up_again(tmp_path: Path) -> None:
    other = small(solver={"lambda": 20})
    (tmp_path / "config.yaml").write_text(other.to_yaml())
    (tmp_path / "history.csv").touch()
    half = tmp_path / "superseded" / other.hash()
    half.mkdir(parents=True)
    (half / "model.safetensors").write_bytes(b"moved before")
    make_room(tmp_path, small())
    assert contents(half).keys() == {"config.yaml", "history.csv", "model.safetensors"}
    assert [path.name for path in tmp_path.iterdir()] == ["superseded"]


def test_a_killed_run_goes_on_although_settings_have_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its record and its checkpoints were written when configurations had the sections of all methods."""
    config = small()
    expected = contents(run(config, tmp_path / "undisturbed").folder)
    draw = fit_module.sample_training_batch

    def killed(dataset: Any, protocol: Any, seed: int, epoch: int, *rest: int) -> Any:
        if epoch == 1:
            raise KeyboardInterrupt
        return draw(dataset, protocol, seed, epoch, *rest)

    with monkeypatch.context() as context:
        context.setattr(fit_module, "sample_training_batch", killed)
        with pytest.raises(KeyboardInterrupt):
            run(config, tmp_path / "killed")
    stored = {**yaml.safe_load(config.to_yaml()), "dgmc": {"steps": 10, "dropout": 0.5}}
    (tmp_path / "killed" / "config.yaml").write_text(yaml.safe_dump(stored))
    (checkpoint,) = (tmp_path / "killed" / "checkpoint").glob("*.json")
    checkpoint.write_text(json.dumps({**json.loads(checkpoint.read_text()), "config_hash": hash_of(stored)}))
    caplog.set_level("INFO", "bbgm")
    record = run(config, tmp_path / "killed")
    assert "resumed after epoch 1 of 2" in caplog.text
    assert record.metrics["config_hash"] == hash_of(stored)
    for name in ("model.safetensors", "predictions.npz", "test_pairs.json"):
        assert (record.folder / name).read_bytes() == expected[name]
