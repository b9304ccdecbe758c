"""A run of another configuration is moved aside, named in the message, and brought back when it is wanted again."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from bbgm.config import RunConfig, hash_of, load_run
from bbgm.runs import fit as fit_module
from bbgm.runs.results import FILES, finished
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
    """Also a record without a configuration, and one whose parent is none; nothing is overwritten."""
    for number, files in enumerate(
        ({"config.yaml": b"a: ["}, {"history.csv": b"1"}, {"history.csv": b"2"}, {"config.yaml": b"parent: {run: 3}"}),
        1,
    ):
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        make_room(tmp_path, small())
        name = "unreadable" if number == 1 else f"unreadable-{number}"
        assert contents(tmp_path / "superseded" / name) == files
        assert contents(tmp_path) == {}


@pytest.mark.parametrize("kill_at", range(1, len(FILES) + 1))
@pytest.mark.parametrize("wanted", ["same", "other"])
def test_a_move_that_was_killed_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_at: int, wanted: str
) -> None:
    """Killed while it was moved aside, or while it was brought back: no file is lost, and each run is found again."""
    first, second = small(), small(solver={"lambda": 20})
    for folder, config in ((tmp_path, first), (tmp_path / "superseded" / second.hash(), second)):
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (folder / name).write_text(f"{name} of {config.hash()}")
        (folder / "config.yaml").write_text(config.to_yaml())
        metrics = {"config_hash": config.hash(), "n_pairs": 0, "per_class": {}, "mean": {"accuracy": 1, "f1": 1}}
        (folder / "metrics.json").write_text(json.dumps(metrics))
    rename, moved = Path.rename, []

    def killed(self: Path, target: Path) -> Path:
        moved.append(self)
        if len(moved) == kill_at + (len(FILES) if wanted == "other" else 0):
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as context:
        context.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            make_room(tmp_path, second)
    for config in (first, second, first) if wanted == "same" else (second, first):
        make_room(tmp_path, config)
        assert finished(config, tmp_path) is not None
        other = second if config is first else first
        assert finished(other, tmp_path / "superseded" / other.hash()) is not None
        assert (tmp_path / "history.csv").read_text() == f"history.csv of {config.hash()}"
    assert sorted(path.name for path in (tmp_path / "superseded").iterdir()) == [second.hash()]


def test_an_edited_record_is_moved_aside_before_the_run_is_repeated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = small()
    run(config, tmp_path)
    (tmp_path / "metrics.json").write_text("{}")
    edited = contents(tmp_path)
    run(config, tmp_path)
    assert f"{tmp_path} holds a damaged run: moved to {tmp_path / 'superseded'}" in caplog.text
    assert contents(tmp_path / "superseded" / config.hash()) == edited


def test_a_run_that_cannot_start_moves_nothing(tmp_path: Path) -> None:
    run(small(), tmp_path)
    before = contents(tmp_path)
    with pytest.raises(ValueError, match="class 'Nosuch' is not one of"):
        run(small(data={"classes": ["Nosuch"]}), tmp_path)
    assert contents(tmp_path) == before


def test_a_note_of_the_users_stays_where_it_is(tmp_path: Path) -> None:
    first, second = small(), small(solver={"lambda": 20})
    run(first, tmp_path)
    run(second, tmp_path)
    (tmp_path / "superseded" / first.hash() / "note.txt").write_text("mine")
    run(first, tmp_path)
    assert contents(tmp_path / "superseded" / first.hash()) == {"note.txt": b"mine"}


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
    assert "resumed after iteration 1 of 2" in caplog.text
    assert record.metrics["config_hash"] == hash_of(stored)
    for name in ("model.safetensors", "predictions.npz", "test_pairs.json"):
        assert (record.folder / name).read_bytes() == expected[name]
