"""The folder of a run: written, read back, and its errors."""

import json
from pathlib import Path

import pytest

from bbgm.base.atomic import write_json, write_text
from bbgm.config import RunConfig, load_run
from bbgm.runs.results import FILES, NEEDED, finished, load, run_folder, write_history
from bbgm.scoring.predictions import write_predictions

MEAN = {"accuracy": 0.5, "f1": 0.5}


@pytest.fixture
def config() -> RunConfig:
    return load_run("bbgm", "smoke", 3)


@pytest.fixture
def folder(tmp_path: Path, config: RunConfig) -> Path:
    """Looks like a finished run."""
    for name in FILES:
        write_text(tmp_path / "run" / name, "")
    write_text(tmp_path / "run" / "config.yaml", config.to_yaml())
    metrics = {key: kind() for key, kind in NEEDED.items()} | {"config_hash": config.hash(), "mean": MEAN}
    write_json(tmp_path / "run" / "metrics.json", metrics)
    write_predictions(tmp_path / "run" / "predictions.npz", [])
    return tmp_path / "run"


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"Car": 3}', '{"Car": [["a"]]}', '{"Car": null}', "\ud800"])
def test_damaged_test_pairs_name_the_file(folder: Path, text: str) -> None:
    (folder / "test_pairs.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(ValueError, match=r"test_pairs\.json lists no pairs \(.*'bbgm train'"):
        _ = load(folder).test_pairs


@pytest.mark.parametrize("key", NEEDED)
@pytest.mark.parametrize("value", [None, [1]])
def test_metrics_of_another_kind_are_no_finished_run(folder: Path, config: RunConfig, key: str, value: object) -> None:
    metrics = json.loads((folder / "metrics.json").read_text())
    (folder / "metrics.json").write_text(json.dumps(metrics | {key: value}))
    assert finished(config, folder) is None


@pytest.mark.parametrize(
    "change",
    [
        {"mean": {"accuracy": "x", "f1": 0.5}},
        {"mean": {"accuracy": 0.5}},
        {"per_class": {"Car": 3}},
        {"per_class": {"Car": MEAN}},  # no n_pairs
        {"sets": 3},
        {"sets": {"pairwise": {"first": {}}}},
    ],
)
def test_scores_that_cannot_be_shown_are_no_finished_run(folder: Path, config: RunConfig, change: object) -> None:
    metrics = json.loads((folder / "metrics.json").read_text())
    (folder / "metrics.json").write_text(json.dumps(metrics | {"per_class": {"Car": MEAN | {"n_pairs": 1}}}))
    assert finished(config, folder) is not None
    (folder / "metrics.json").write_text(json.dumps(metrics | change))
    assert finished(config, folder) is None


@pytest.mark.parametrize("text", ["a: [1", "", "- 1", "method: bbgm"])
def test_a_damaged_configuration_says_what_to_do(folder: Path, text: str) -> None:
    (folder / "config.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"(?s)config\.yaml .*This is the record of a run: repeat it with 'bbgm"):
        load(folder)


def test_finished_only_with_all_files_and_the_same_configuration(folder: Path, config: RunConfig) -> None:
    assert finished(config, folder) is not None
    assert finished(config.model_copy(update={"title": "renamed"}), folder) is not None
    assert finished(config.model_copy(update={"seed": 4}), folder) is None
    (folder / "history.csv").rename(folder / "elsewhere.csv")
    assert finished(config, folder) is None
    (folder / "elsewhere.csv").rename(folder / "history.csv")
    for content in ("", "{", "[]", json.dumps({"config_hash": config.hash()})):
        write_text(folder / "metrics.json", content)
        assert finished(config, folder) is None


def test_a_finished_run_is_loaded_as_it_was_written(folder: Path, config: RunConfig) -> None:
    record = load(folder)
    assert record.config == config
    assert record.predictions == record.set_predictions == []
    write_history(folder / "history.csv", ["epoch", "loss"], [{"epoch": 1, "loss": 0.1 + 0.2}])
    assert record.history.loss[0] == 0.1 + 0.2


def test_load_says_what_is_missing(folder: Path, config: RunConfig) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        load(folder / "nowhere")
    (folder / "split.json").unlink()
    with pytest.raises(ValueError, match=r"it lacks split\.json; make it with 'bbgm train'"):
        load(folder)
    (folder / "split.json").touch()
    (folder / "metrics.json").write_text(json.dumps({"config_hash": "other"}))
    with pytest.raises(ValueError, match=r"does not belong to config\.yaml"):
        load(folder)
    (folder / "metrics.json").write_text("{")
    assert finished(config, folder) is None


def test_the_folder_of_a_run_says_what_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: RunConfig
) -> None:
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path))
    assert run_folder(config) == tmp_path / "smoke/willow/intersection/bbgm/seed3"
