"""Cross-validation: it sees no test image, divides the training images, and is reproducible."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bbgm.cli import main
from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.prose import read_measured, record_tuning
from bbgm.runs.crossvalidate import cross_validate, folds, train_and_test
from bbgm.runs.train import run
from tests.support.images import bare_dataset

SMALL = {"protocol": {"test_pairs_per_class": 4}, "optimiser": {"epochs": 1, "iterations_per_epoch": 1}}


def test_folds_divide_the_training_images_and_leave_the_test_images_out() -> None:
    dataset = bare_dataset()
    parts = list(folds(dataset, 2))
    for cls, images in dataset.train.items():
        held_out = [image.image_id for part in parts for image in part.test[cls]]
        assert sorted(held_out) == sorted(image.image_id for image in images)
        for part in parts:
            both = {image.image_id for subset in (part.train, part.test) for image in subset[cls]}
            assert both == {image.image_id for image in images}
            assert len(part.train[cls]) + len(part.test[cls]) == len(images)


def test_errors_say_how_many_folds_are_possible() -> None:
    for number in (1, 3):
        with pytest.raises(ValueError, match=rf"5 training images: {number} folds are not possible.*2 \.\.\. 2"):
            list(folds(bare_dataset(), number))
    with pytest.raises(ValueError, match="lists its pairs"):
        list(folds(replace(bare_dataset(), listed={"train": {}, "test": {}}), 2))
    with pytest.raises(ValueError, match="only runs from scratch"):
        cross_validate(load_run("bbgm_pt_wt", "smoke", 0), 2)


def test_a_fold_is_what_training_on_its_images_gives() -> None:
    config = load_run("harg_ssvm", "smoke", 0, **SMALL)
    dataset = open_dataset(config.data, config.protocol)
    found = cross_validate(config, 2, pairs_per_class=4)
    again = [train_and_test(config, part) for part in folds(dataset, 2)]
    assert [one.per_class for one in found] == [one.per_class for one in again]
    seen = {item.source for one in found for item in one.predictions}
    assert seen <= {image.image_id for images in dataset.train.values() for image in images}


def test_a_comparison_trains_and_tests_as_a_run_does(tmp_path: Path) -> None:
    config = load_run("harg_ssvm", "smoke", 1, **SMALL)
    found = train_and_test(config, open_dataset(config.data, config.protocol))
    assert found.per_class == run(config, tmp_path / "run", progress=False).metrics["per_class"]
    path = record_tuning(config, {"harg.c": 10}, [found, found], "x", "bbgm compare", tmp_path)
    kept = read_measured("smoke/x", tmp_path).set_index("column")["value"]
    assert path == tmp_path / "smoke" / "x.csv"
    assert kept["mean"] == pytest.approx(100 * found.mean["accuracy"], abs=1e-3)
    assert kept["mean"] == pytest.approx(np.mean(kept.drop("mean")), abs=1e-3)


def test_commands_print_a_line_for_each_combination(capsys: pytest.CaptureFixture[str]) -> None:
    shared = ["--method", "harg_prototype", "--budget", "smoke", "--set", "harg.c=1,1e2"]
    assert main(["compare", "--seeds", "1", *shared]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition("  ")[2] for line in lines] == ["harg.c=1", "harg.c=100.0"]
    assert main(["tune", "--folds", "2", *shared, "--set", "harg.start=prototype,zero"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["tune", "--set", "harg.c"]) == 2
    assert "is not of the form KEY=VALUE,VALUE" in capsys.readouterr().err
