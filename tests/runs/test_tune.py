"""Tuning sees no test image and divides the training images; comparisons are of runs as they are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbgm.cli import main
from bbgm.config import load_run
from bbgm.prose import read_measured, record_trial
from bbgm.runs.train import run
from bbgm.runs.tune import compare, grid, hold_out, nested, tune
from tests.support.images import bare_dataset

SMALL: dict[str, Any] = {"protocol": {"test_pairs_per_class": 4}, "optimiser": {"epochs": 1, "iterations_per_epoch": 1}}


def test_folds_divide_the_training_images_and_leave_the_test_images_out() -> None:
    dataset = bare_dataset()
    parts = [hold_out(dataset, fold, 2) for fold in range(2)]
    for cls, images in dataset.train.items():
        held_out = [image.image_id for part in parts for image in part.test[cls]]
        assert sorted(held_out) == sorted(image.image_id for image in images)
        for part in parts:
            used = [image.image_id for subset in (part.train, part.test) for image in subset[cls]]
            assert sorted(used) == sorted(image.image_id for image in images)


def test_errors_name_the_remedy() -> None:
    with pytest.raises(ValueError, match="5 training images, too few for 3 folds"):
        hold_out(bare_dataset(), 0, 3)
    with pytest.raises(ValueError, match="lists its pairs"):
        hold_out(replace(bare_dataset(), listed={"train": {}, "test": {}}), 0, 2)
    child = load_run("bbgm_pt_wt", "smoke", 0)
    with pytest.raises(ValueError, match="tune a method that has no parent"):
        tune(child)
    with pytest.raises(ValueError, match="compare a method without a parent"):
        compare([child])


def test_a_comparison_trains_and_tests_as_runs_do(tmp_path: Path) -> None:
    configs = [load_run("harg_ssvm", "smoke", seed, **SMALL) for seed in (0, 1)]
    trial = compare(configs)
    runs = [run(config, tmp_path / str(config.seed), progress=False) for config in configs]
    assert list(trial.accuracies) == [one.metrics["mean"]["accuracy"] for one in runs]
    assert trial.pairs == sum(one.metrics["n_pairs"] for one in runs)
    for number in (1, 2):  # of one run there is no deviation
        kept = replace(trial, accuracies=trial.accuracies[:number])
        path = record_trial(configs[0], "harg.c=10", kept, "bbgm compare", "x", tmp_path)
        frame = read_measured("smoke/x", tmp_path)
        assert path == tmp_path / "smoke" / "x.csv"
        assert frame["value"].tolist() == pytest.approx([100 * np.mean(kept.accuracies)], abs=1e-3)
        assert frame["std"].isna().tolist() == [number == 1]


def test_tuning_makes_model_graphs_of_the_images_that_are_not_held_out() -> None:
    trial = tune(load_run("harg_prototype", "smoke", 0), folds=2, pairs_per_class=4)
    assert len(trial.accuracies) == 2
    assert trial.mean > 0.5


def test_a_grid_has_every_combination() -> None:
    combinations = list(grid({"a.b": [1, 2], "c": ["x"]}))
    assert combinations == [{"a.b": 1, "c": "x"}, {"a.b": 2, "c": "x"}]
    assert nested({"a.b": 1, "a.c": 2, "d": 3}) == {"a": {"b": 1, "c": 2}, "d": 3}


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
