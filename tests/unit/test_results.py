"""The folder of a run: written, read back, and its errors."""

import contextlib
import json
import multiprocessing
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from bbgm.atomic import WriteError
from bbgm.config import RunConfig, load_run
from bbgm.lock import folder_lock
from bbgm.machine import device, hardware, peak_memory_mib, versions
from bbgm.results import (
    FILES,
    NEEDED,
    Prediction,
    SetPrediction,
    finished,
    load,
    read_predictions,
    run_folder,
    write_history,
    write_json,
    write_predictions,
    write_text,
)


def _prediction(generator: np.random.Generator, cls: str = "Car") -> Prediction:
    n1, n2 = generator.integers(0, 6, size=2)
    kept1, kept2, assignment, truth = (generator.integers(-1, 9, size=n).astype(np.int32) for n in (n1, n2, n1, n1))
    return Prediction(cls, f"{cls}/ä_1", f"{cls}/2", "", kept1, kept2, assignment, truth)


@pytest.fixture
def config() -> RunConfig:
    return load_run("bbgm", "smoke", 3)


@pytest.fixture
def folder(tmp_path: Path, config: RunConfig) -> Path:
    """Looks like a finished run."""
    for name in FILES:
        write_text(tmp_path / "run" / name, "")
    write_text(tmp_path / "run" / "config.yaml", config.to_yaml())
    metrics = {key: kind() for key, kind in NEEDED.items()} | {"config_hash": config.hash()}
    write_json(tmp_path / "run" / "metrics.json", metrics)
    write_predictions(tmp_path / "run" / "predictions.npz", [])
    return tmp_path / "run"


@pytest.mark.parametrize("n_pairs", [0, 1, 7])
def test_predictions_come_back(tmp_path: Path, n_pairs: int) -> None:
    generator = np.random.default_rng(n_pairs)
    written = [_prediction(generator) for _ in range(n_pairs)]
    write_predictions(tmp_path / "p.npz", written)
    read, sets = read_predictions(tmp_path / "p.npz")
    assert len(read) == n_pairs
    assert sets == []
    _assert_same(written, read)


@pytest.mark.parametrize("n_pairs", [0, 5])
def test_predictions_of_sets_come_back_beside_the_others(tmp_path: Path, n_pairs: int) -> None:
    generator = np.random.default_rng(n_pairs)
    pairs = [_prediction(generator) for _ in range(n_pairs)]
    sets = []
    for number, (p, q) in [(0, (0, 1)), (0, (0, 2)), (0, (1, 2)), (7, (3, 4))]:
        one = _prediction(generator)
        joint = generator.integers(-1, 9, size=len(one.kept1)).astype(np.int32)
        sets.append(SetPrediction(**vars(one), number=number, p=p, q=q, joint=joint))
    write_predictions(tmp_path / "p.npz", pairs, sets)
    read = read_predictions(tmp_path / "p.npz")
    _assert_same(pairs, read[0])
    _assert_same(sets, read[1])


def _assert_same(written: Sequence[Prediction], read: Sequence[Prediction]) -> None:
    for one, other in zip(written, read, strict=True):
        assert type(one) is type(other)
        for name, value in vars(one).items():
            np.testing.assert_array_equal(getattr(other, name), value, strict=isinstance(value, np.ndarray))


def test_predictions_are_the_same_bytes_and_no_pickle(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_predictions(tmp_path / name, [_prediction(np.random.default_rng(0)) for _ in range(5)])
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert {arrays[name].dtype.kind for name in arrays.files} == {"U", "i"}


def test_truncated_predictions_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    write_predictions(path, [_prediction(np.random.default_rng(0)) for _ in range(5)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(ValueError, match=r"p\.npz holds no predictions"):
        read_predictions(path)
    for place in range(0, len(whole), 7):  # zipfile, zlib and NumPy raise errors of many types
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        with contextlib.suppress(ValueError):
            read_predictions(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("truth", lambda array: array[:-1], "truth has"),
        ("kept2", lambda array: np.append(array, array[:1]), "kept2 has"),
        ("cls", lambda array: array[:-1], "cls has"),
        ("difficulty", lambda array: np.append(array, array[:1]), "difficulty has"),
        ("n1", lambda array: np.append(array, 1), "entries, expected"),
        ("n2", lambda array: -array, "n1 or n2 is negative"),
        ("n1", lambda array: array.astype(float), "n1 is of type float64"),
        ("assignment", lambda array: array.astype(str), "assignment is of type <U"),
        ("source", lambda array: array[:, None], "source is of type <U.* and shape"),
        ("truth", lambda _: np.array(3), r"truth is of type int64 and shape \(\)"),
        ("sets_joint", lambda _: np.zeros(2, np.int32), "joint has 2 entries, expected 0"),
    ],
)
def test_predictions_that_do_not_fit_together_name_the_array(
    tmp_path: Path, name: str, change: Callable[[np.ndarray], np.ndarray], message: str
) -> None:
    generator = np.random.default_rng(2)
    path = tmp_path / "predictions.npz"
    write_predictions(path, [_prediction(generator) for _ in range(9)])
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, **(arrays | {name: change(arrays[name])}))
    with pytest.raises(ValueError, match=rf"predictions\.npz holds no predictions \(.*{message}.*'bbgm train'"):
        read_predictions(path)


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


def test_load(folder: Path, config: RunConfig) -> None:
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


def test_run_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: RunConfig) -> None:
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path))
    assert run_folder(config) == tmp_path / "smoke/willow/intersection/bbgm/seed3"


def test_nan_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert list(tmp_path.iterdir()) == []


def _hold(folder: Path, ready: "multiprocessing.synchronize.Event") -> None:
    with folder_lock(folder):
        ready.set()
        multiprocessing.Event().wait(60)


def test_lock_excludes_other_processes_until_they_die(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    holder = context.Process(target=_hold, args=(tmp_path, ready))
    holder.start()
    try:
        assert ready.wait(60)
        with pytest.raises(ValueError, match="in use by another process"), folder_lock(tmp_path):
            pass
    finally:
        holder.kill()
        holder.join()
    with folder_lock(tmp_path):
        assert (tmp_path / ".lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_lock_in_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="make the folder writable"), folder_lock(tmp_path / "file" / "run"):
        pass


def test_machine() -> None:
    assert set(versions()) >= {"python", "bbgm", "bbgm-solver", "torch", "numpy"}
    found = hardware()
    assert found["cores"] >= 1
    assert found["memory_gib"] > 0
    assert found["cpu"]
    assert found["gpu"] is None
    assert peak_memory_mib() > 1
    json.dumps([versions(), found])


def test_devices_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBGM_DEVICE", "cpu")
    assert device() == "cpu"
    monkeypatch.delenv("BBGM_DEVICE")
    assert device() in ("cpu", "cuda")
    for name in ("gpu", "cuda:99", "meta"):
        monkeypatch.setenv("BBGM_DEVICE", name)
        with pytest.raises(ValueError, match=rf"BBGM_DEVICE is '{name}', but torch has only \[.*'cpu'\] here"):
            device()
