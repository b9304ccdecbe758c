"""`bbgm verify`: what a run's files say of each other, and what its network gives when it is evaluated again."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch

from bbgm.base import machine
from bbgm.cli import main
from bbgm.config import load_run
from bbgm.runs.checks.checksums import RECORD, write_record
from bbgm.runs.checks.compare import different_pairs, different_scores
from bbgm.runs.checks.verify import other_machine, verify_run
from bbgm.runs.results import FILES, load
from bbgm.runs.train import run
from bbgm.scoring.predictions import read_predictions, write_predictions

STORED = Path(__file__).parents[1] / "stored/results"
SMALL: dict[str, Any] = {
    "protocol": {"filter": "unfiltered", "test_pairs_per_class": 4, "test_sets_per_class": 1, "set_size": 3},
    "optimiser": {"epochs": 1, "iterations_per_epoch": 1, "batch_size": 2},
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with test sets."""
    config = load_run("bbgm", "smoke", 0, **SMALL)
    return run(config, tmp_path_factory.mktemp("original") / config.folder, progress=False).folder


@pytest.fixture
def folder(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path))
    shutil.copytree(original.parents[4], tmp_path, dirs_exist_ok=True)
    return tmp_path / original.relative_to(original.parents[4])


def seal(folder: Path, **changes: Any) -> None:
    """Give the files of a run new checksums, as if it had been written so."""
    metrics = json.loads((folder / RECORD).read_text()) | changes
    write_record(folder, metrics, [name for name in FILES if name != RECORD])


def test_a_good_run_and_all_good_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert main(["verify", "--all", "--budget", "smoke"]) == 0
    pairs = 5 * 4 + 5 * 1 * 3
    assert capsys.readouterr().out == f"{folder}: as it was written, {pairs} pairs matched again\n"
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def change_predictions(folder: Path) -> None:
    """One keypoint of a test pair becomes unmatched."""
    pairs, sets = read_predictions(folder / "predictions.npz")
    matched = next(k for k, one in enumerate(pairs) if (one.assignment >= 0).any())
    other = pairs[matched].assignment.copy()
    other[np.argmax(other >= 0)] = -1
    pairs[matched] = replace(pairs[matched], assignment=other)
    write_predictions(folder / "predictions.npz", pairs, sets)


def change_joint(folder: Path) -> None:
    pairs, sets = read_predictions(folder / "predictions.npz")
    sets[0] = replace(sets[0], joint=np.full_like(sets[0].joint, -1))
    write_predictions(folder / "predictions.npz", pairs, sets)


def change_network(folder: Path) -> None:
    """Other numbers of the same shapes."""
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    changed = {k: -v if v.is_floating_point() and "affinity" in k else v for k, v in tensors.items()}
    safetensors.torch.save_file(changed, folder / "model.safetensors")


def change_test_pairs(folder: Path) -> None:
    content = json.loads((folder / "test_pairs.json").read_text())
    content["Duck"].reverse()
    (folder / "test_pairs.json").write_text(json.dumps(content))


def change_split(folder: Path) -> None:
    content = json.loads((folder / "split.json").read_text())
    content["train"]["Car"].pop()
    (folder / "split.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (
            change_predictions,
            ["metrics.json: per_class.", "predictions.npz: 1 of 20 test pairs differ when"],
        ),
        (change_joint, ["metrics.json: sets.joint.", "predictions.npz: 1 of 15 pairs of the test sets differ"]),
        (change_network, ["predictions.npz: ", "the mean accuracy is "]),
        (change_test_pairs, ["test_pairs.json: class Duck does not have the pairs of predictions.npz"]),
        (change_split, ["split.json: the train images are not those of the data set"]),
    ],
)
def test_what_checksums_do_not_show(
    folder: Path, change: Callable[[Path], None], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a run of an earlier version, or written by a faulty one: the files contradict each other."""
    change(folder)
    seal(folder)
    assert main(["verify", str(folder)]) == 1
    output = capsys.readouterr().out
    assert output.startswith(f"{folder}: differs\n")
    for line in lines:
        assert line in output
    assert output.splitlines()[-1].startswith("1 of 1 runs differs: restore the files from a copy, or repeat the run")


def test_a_score_that_does_not_follow_from_the_predictions(folder: Path) -> None:
    metrics = load(folder).metrics
    scores = {cls: {**one, "f1": one["f1"] + 1e-12} for cls, one in metrics["per_class"].items()}
    seal(folder, per_class=scores)
    wrong = verify_run(folder, repeat=False).wrong
    assert len(wrong) == 4
    assert wrong[0].startswith(f"{RECORD}: per_class.Car.f1 is {scores['Car']['f1']}, predictions.npz gives ")
    assert wrong[3] == f"{RECORD}: and 2 more differences"


def test_all_that_is_wrong_is_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "history.csv").write_text("epoch\n")
    (folder / "split.json").unlink()
    lost = Path(shutil.copytree(folder, folder.with_name("seed1")))
    (lost / "predictions.npz").write_bytes(b"PK")
    assert main(["verify", "--all", "--files"]) == 1
    output = capsys.readouterr().out
    for line in (
        f"{folder}: differs\n  split.json is missing\n  history.csv was altered",
        "predictions.npz was altered",
    ):
        assert line in output
    assert "2 of 2 runs differ: " in output


def test_a_run_without_a_record_is_wrong_and_a_folder_without_a_run_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / RECORD).unlink()
    assert main(["verify", str(folder)]) == 1
    assert "metrics.json is missing" in capsys.readouterr().out
    for arguments, message in (
        ([str(folder.parent)], "holds nothing of a run"),
        (["nowhere"], "it does not exist"),
        ([], "give the folder of a run, or --all"),
        ([str(folder), "--all"], "give the folder of a run, or --all"),
        ([str(folder), "--budget", "smoke"], "--budget is for --all"),
        (["--all", "--budget", "huge"], "budget 'huge' is not one of"),
        (["--all"], "no finished run below"),
    ):
        assert main(["verify", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_another_machine_is_named_where_results_differ(folder: Path) -> None:
    """Not where a file was altered, which explains the difference."""
    metrics = load(folder).metrics
    assert other_machine(metrics) == ""
    hardware, versions = {**metrics["hardware"], "cpu": "Z80"}, {**metrics["versions"], "torch": "0.1"}
    change_network(folder)
    seal(folder, hardware=hardware, versions=versions)
    (note,) = verify_run(folder, progress=False).notes
    assert note.startswith(f"it was made with processor Z80, here {machine.cpu_model()}; torch 0.1, here ")
    assert "although every file is as the run wrote it" in note


@pytest.mark.parametrize("name", ["willow/intersection/dgmc", "willow/intersection/bbgm_pt_wt"])
def test_a_run_of_an_earlier_version(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its predictions give its scores, exactly; its network was not kept."""
    folder = STORED / "demo" / name / "seed0"
    assert main(["verify", "--files", str(folder)]) == 0
    assert "note: an earlier version made it, without checksums" in capsys.readouterr().out


def test_pairs_and_scores_are_compared_exactly(folder: Path) -> None:
    pairs = load(folder).predictions
    assert different_pairs(pairs, pairs) == ""
    assert different_pairs(pairs, pairs[1:]) == "20 test pairs are stored, 19 were matched again"
    moved = [replace(pairs[0], kept1=pairs[0].kept1[::-1]), *pairs[1:]]
    assert different_pairs(pairs, moved).endswith("its kept1 is not as stored")
    stored = {"mean": {"f1": 0.5, "old": 1.0}, "per_class": {"Car": {"f1": 0.5}, "Duck": {"f1": 0.5}}}
    found = {"mean": {"f1": 0.5, "new": 1.0}, "per_class": {"Car": {"f1": np.nextafter(0.5, 1)}}}
    assert list(different_scores(stored, found)) == [
        "per_class.Car.f1 is 0.5, predictions.npz gives 0.5000000000000001",
        "per_class.Duck is only in metrics.json",
    ]
