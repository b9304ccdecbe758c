"""``bbgm tune``: one line per combination, errors before anything is trained."""

from collections.abc import Callable

import pytest

from bbgm.cli import main


def test_each_combination_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["optimiser.learning_rate=1e-3,2e-3", "optimiser.epochs=1", "optimiser.iterations_per_epoch=1"]
    options = [part for setting in settings for part in ("--set", setting)]
    assert main(["tune", "gmn_pl", "--budget", "smoke", "--folds", "2", "--pairs", "2", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    for line, rate in zip(lines, ("1e-3", "2e-3"), strict=True):
        assert " % (" in line
        assert f"optimiser.learning_rate={rate};optimiser.epochs=1" in line


def test_wrong_settings_are_reported_before_training(error_of: Callable[..., str]) -> None:
    command = ("tune", "ngm", "--budget", "smoke", "--set")
    assert "'optimiser.kind' is not of the form" in error_of(*command, "optimiser.kind")
    message = error_of(*command, "optimiser.learning_rate=1e-3,-1")
    assert "optimiser.learning_rate" in message
    assert "greater than 0" in message


@pytest.mark.parametrize("command", [("tune", "--folds", "2", "--pairs", "2"), ("compare", "--seeds", "1")])
def test_after_a_setting_that_diverges_the_others_follow(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["optimiser.learning_rate=1e+30,1e-3", "optimiser.epochs=1"]
    settings += ["optimiser.iterations_per_epoch=2", "protocol.test_pairs_per_class=2"]
    options = [part for setting in settings for part in ("--set", setting)]
    name, *rest = command
    assert main([name, "bbgm", "--budget", "smoke", "--dataset", "voc", *rest, *options]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "learning_rate=1e+30" in first
    assert "the network has diverged" in first
    assert " % (" in second
    assert "learning_rate=1e-3;" in second
