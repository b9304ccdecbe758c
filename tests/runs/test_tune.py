"""Tuning: combinations of settings, images held out of the training part only, the result of a trial; comparisons."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbgm.cli import main
from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.data.images.keypoints import Dataset
from bbgm.prose import check_record, read_measured, record_tuning
from bbgm.runs.evaluate import Evaluation, evaluate
from bbgm.runs.train import run
from bbgm.runs.tune import Trial, compare, grid, hold_out, nested, tune

SMALL: dict[str, Any] = {"optimiser": {"epochs": 1, "iterations_per_epoch": 2}, "protocol": {"test_pairs_per_class": 2}}


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    config = load_run("gmn_pl", "smoke", 0)
    return open_dataset(config.data, config.protocol)


def test_a_grid_is_all_combinations() -> None:
    options: dict[str, list[Any]] = {"optimiser.kind": ["sgd", "adam"], "optimiser.learning_rate": [1, 2], "seed": [3]}
    found = list(grid(options))
    assert len(found) == 4
    assert len({tuple(one.values()) for one in found}) == 4
    assert nested(found[1]) == {"optimiser": {"kind": "sgd", "learning_rate": 2}, "seed": 3}
    assert list(grid({})) == [{}]


def test_folds_divide_the_training_images_and_leave_the_test_images_alone(dataset: Dataset) -> None:
    held: list[str] = []
    for fold in range(3):
        part = hold_out(dataset, fold, 3)
        for cls, images in dataset.train.items():
            train, test = ([image.image_id for image in one[cls]] for one in (part.train, part.test))
            assert sorted(train + test) == sorted(image.image_id for image in images)
            assert 6 <= len(test) <= 7
            held += test
    assert sorted(held) == sorted(image.image_id for images in dataset.train.values() for image in images)


def test_what_cannot_be_held_out(dataset: Dataset) -> None:
    with pytest.raises(ValueError, match="20 training images, too few for 11 folds: use at most 10 folds"):
        hold_out(dataset, 0, 11)
    few = replace(dataset, train={"Car": dataset.train["Car"][:3]})
    with pytest.raises(ValueError, match="3 training images, too few for 2 folds: use at least 4 training images"):
        hold_out(few, 0, 2)
    spair = load_run("gmn_pl", "smoke", 0, dataset="spair")
    with pytest.raises(ValueError, match="spair lists its pairs"):
        hold_out(open_dataset(spair.data, spair.protocol), 0, 2)
    with pytest.raises(ValueError, match="1 folds leave nothing"):
        tune(load_run("gmn_pl", "smoke", 0), folds=1)
    with pytest.raises(ValueError, match="0 pairs of a class leave nothing to evaluate"):
        tune(load_run("gmn_pl", "smoke", 0), pairs_per_class=0)
    with pytest.raises(ValueError, match="4 of 3 folds cannot be held out one after another: use 1 to 3"):
        tune(load_run("gmn_pl", "smoke", 0), held=4)
    with pytest.raises(ValueError, match="bbgm_pt starts from bbgm_pretrain"):
        tune(load_run("bbgm_pt", "smoke", 0), folds=2)


def test_a_trial_is_reproducible_and_depends_on_the_settings() -> None:
    config = load_run("gmn_pl", "smoke", 0, **SMALL)
    one, again = (tune(config, folds=2, pairs_per_class=4) for _ in range(2))
    assert one.scores == again.scores
    assert (len(one.scores), one.pairs) == (2, 2 * 4 * 5)
    assert one.mean == np.mean(one.scores)
    changed = load_run("gmn_pl", "smoke", 0, **{**SMALL, "optimiser": {"epochs": 0}})
    assert tune(changed, folds=2, pairs_per_class=4).scores != one.scores
    assert tune(config, folds=2, pairs_per_class=4, held=1).scores == one.scores[:1]


def test_without_a_filter_a_trial_is_scored_by_f1() -> None:
    config = load_run("gmn_pl", "smoke", 0, filter="unfiltered", **SMALL)
    found: list[Evaluation] = []

    def kept(*args: Any) -> Evaluation:
        found.append(evaluate(*args))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bbgm.runs.tune.evaluate", kept)
        trial = tune(config, folds=2, pairs_per_class=4, held=1)
    assert trial.scores == (found[0].mean["f1"],)
    assert trial.scores != (found[0].mean["accuracy"],)


def test_the_files_of_a_run_do_not_change(tmp_path) -> None:
    config = load_run("gmn_pl", "smoke", 0, **SMALL)
    record = run(config, tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in record.folder.iterdir()}
    tune(config, folds=2, pairs_per_class=2)
    assert {path.name: path.stat().st_mtime_ns for path in record.folder.iterdir()} == before


def test_recorded_trials_replace_earlier_ones_of_the_same_settings(tmp_path) -> None:
    config = load_run("gmn_pl", "smoke", 0)
    record_tuning(config, "optimiser.learning_rate=1", Trial((0.2, 0.6), 10, 1.0), tmp_path)
    record_tuning(config, "optimiser.learning_rate=2", Trial((0.5, 0.7), 10, 1.0), tmp_path)
    path = record_tuning(config, "optimiser.learning_rate=1", Trial((0.4, 0.6), 12, 1.0), tmp_path)
    assert path == tmp_path / "smoke" / "tuning.csv"
    frame = read_measured("smoke/tuning", tmp_path)
    assert frame["setting"].tolist() == ["optimiser.learning_rate=2", "optimiser.learning_rate=1"]
    assert frame["value"].tolist() == [60, 50]
    assert frame["std"].tolist() == pytest.approx([14.1421, 14.1421])
    assert frame["pairs"].tolist() == [10, 12]
    assert set(frame["table"]) == {"Willow"}


def test_a_damaged_file_of_records_is_named(tmp_path: Path) -> None:
    config, path = load_run("gmn_pl", "smoke", 0), tmp_path / "smoke" / "tuning.csv"
    path.parent.mkdir()
    for content, fault in ((b"", "No columns"), (b"\xff\xfe", "decode"), (b"a,b\n1,2\n", "has the columns")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"tuning\.csv.*{fault}"):
            check_record(config, root=tmp_path)
        assert path.read_bytes() == content


def test_a_comparison_has_no_parent_and_some_runs() -> None:
    with pytest.raises(ValueError, match="no configuration to compare"):
        compare([])
    with pytest.raises(ValueError, match="compare a method without a parent"):
        compare([load_run("bbgm_pt_wt", "smoke", 0)])


def test_a_comparison_trains_and_tests_as_runs_do(tmp_path: Path) -> None:
    configs = [load_run("harg_ssvm", "smoke", seed, **SMALL) for seed in (0, 1)]
    trial = compare(configs)
    runs = [run(config, tmp_path / str(config.seed), progress=False) for config in configs]
    assert list(trial.scores) == [one.metrics["mean"]["accuracy"] for one in runs]
    assert trial.pairs == sum(one.metrics["n_pairs"] for one in runs)
    for number in (1, 2):  # of one run there is no deviation
        kept = replace(trial, scores=trial.scores[:number])
        path = record_tuning(configs[0], "harg.c=10", kept, tmp_path, name="x")
        frame = read_measured("smoke/x", tmp_path)
        assert path == tmp_path / "smoke" / "x.csv"
        assert frame["value"].tolist() == pytest.approx([100 * np.mean(kept.scores)], abs=1e-3)
        assert frame["std"].isna().tolist() == [number == 1]


def test_tuning_makes_model_graphs_of_the_images_that_are_not_held_out() -> None:
    trial = tune(load_run("harg_prototype", "smoke", 0), folds=2, pairs_per_class=4)
    assert len(trial.scores) == 2
    assert trial.mean > 0.5


def test_commands_print_a_line_for_each_combination(capsys: pytest.CaptureFixture[str]) -> None:
    shared = ["harg_prototype", "--budget", "smoke", "--set", "harg.c=1,10.5"]
    assert main(["compare", *shared, "--seeds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == ["harg.c=1", "harg.c=10.5"]
    assert "minus the first +0.00" in lines[1]
    assert main(["tune", *shared, "--folds", "2", "--pairs", "4", "--set", "harg.start=prototype,zero"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["compare", "bbgm", "--set", "harg.c"]) == 2
    assert "is not of the form KEY=V1,V2" in capsys.readouterr().err
