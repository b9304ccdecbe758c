"""``bbgm tune``: one line per combination, errors before anything is trained."""

from collections.abc import Callable

import pytest

from bbgm.base.paths import project_root
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["optimiser.kind=sgd", "optimiser.kind=adam"], "optimiser.kind is given twice: give all its values at once"),
        (["seed=1,2"], "seed is no setting; give it as --seed"),
        (["filter=inclusion"], "filter is no setting; give it as --filter"),
        (["config_folder=/tmp"], "config_folder"),
        (["optimiser.learning_rate=1e-3,"], "'1e-3,' are not values with commas between them"),
        (["optimiser.learning_rate=1e-3,,1e-2"], "are not values"),
        (["optimiser.milestones=[1,2"], "are not values"),
        (["optimiser.kind=@x"], "are not values"),
        (["optimiser=3", "optimiser.kind=sgd"], "optimiser.kind is set twice, once as part of another setting"),
        (["optimiser.kind=sgd", "optimiser=3"], "optimiser is set twice"),
        # Settings of other methods: all lines would be the same.
        (["dgmc.steps=1,3"], "dgmc.steps: gmn_pl has no such setting, but has ['method', 'title'"),
        (["solver.method=dual,best"], "solver.method: gmn_pl has no such setting"),
        (["network.root_init=kernel"], "but has ['network.backbone', 'network.weights', 'network.freeze_backbone']"),
        (["data.exclude_willow=none"], "gmn_pl has no such setting"),
    ],
)
@pytest.mark.parametrize("command", ["tune", "compare"])
def test_settings_that_would_have_no_effect_or_another_one(
    error_of: Callable[..., str], command: str, settings: list[str], message: str
) -> None:
    options = [part for setting in settings for part in ("--set", setting)]
    assert message in error_of(command, "gmn_pl", "--budget", "smoke", *options)


def test_a_value_may_be_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["optimiser.milestones=[0],[1, 2],[]", "optimiser.epochs=0", "protocol.test_pairs_per_class=1"]
    options = [part for setting in settings for part in ("--set", setting)]
    assert main(["compare", "gmn_pl", "--budget", "smoke", "--seeds", "1", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1].split(";")[0] for line in lines] == [
        f"optimiser.milestones={value}" for value in ("[0]", "[1, 2]", "[]")
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["tune", "--pairs", "0"], "--pairs: '0' is not a positive number"),
        (["tune", "--pairs", "-3"], "--pairs: '-3' is not a positive number"),
        (["tune", "--folds", "1"], "1 folds leave nothing to train on"),
        (["compare", "--seeds", "0"], "--seeds: '0' is not a positive number"),
    ],
)
def test_numbers_that_leave_nothing_to_do(error_of: Callable[..., str], options: list[str], message: str) -> None:
    assert message in error_of(options[0], "gmn_pl", "--budget", "smoke", *options[1:])


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b", "x.csv", "willow", "Willow", "tuning"])
def test_names_of_records_that_are_refused_before_training(error_of: Callable[..., str], name: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in (project_root() / "measured").rglob("*")}
    message = error_of("compare", "gmn_pl", "--budget", "smoke", "--record", name)
    assert f"--record {name!r} cannot be the name of the file: use lower-case letters" in message
    assert {path: path.stat().st_mtime_ns for path in (project_root() / "measured").rglob("*")} == before


def test_what_no_table_is_about_is_reported_before_training(error_of: Callable[..., str]) -> None:
    message = error_of("tune", "gmn_pl", "--budget", "smoke", "--filter", "inclusion", "--record")
    assert "no table is about willow with the filter 'inclusion': leave out --record" in message


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
