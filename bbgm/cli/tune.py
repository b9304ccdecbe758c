"""``bbgm tune``: settings chosen by cross-validation on the training images."""

import argparse
import itertools
import shlex
from typing import Any


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``tune``."""
    tune = commands.add_parser(
        "tune", help="compare settings by cross-validation on the training images; runs are not kept"
    )
    tune.add_argument("--method", default="bbgm", help="a file of config/experiments (default %(default)s)")
    tune.add_argument("--budget", default="demo", help="a file of config/budgets (default %(default)s)")
    tune.add_argument("--dataset", help="default: the experiment's, else willow")
    tune.add_argument("--filter", help="intersection (default), inclusion or unfiltered")
    tune.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default %(default)s)")
    tune.add_argument("--folds", type=int, default=5, help="parts of the training images (default %(default)s)")
    tune.add_argument(
        "--set",
        action="append",
        required=True,
        metavar="KEY=VALUE,VALUE",
        help="the values of a setting to compare, e.g. optimiser.learning_rate=1e-3,2e-3; given several times, all "
        "combinations are compared",
    )
    tune.add_argument("--record", action="store_true", help="write the results to measured/")
    tune.set_defaults(command=_tune)


def _choices(text: str) -> tuple[str, list[Any]]:
    import yaml

    key, equals, values = text.partition("=")
    if not equals or not key or not values:
        raise ValueError(f"--set {text!r} is not of the form KEY=VALUE,VALUE: e.g. optimiser.learning_rate=1e-3,2e-3")
    # As Python reads numbers: YAML takes 1e-3 for a text.
    return key, [
        _number(value) if isinstance(value, str) else value for value in map(yaml.safe_load, values.split(","))
    ]


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _tune(options: argparse.Namespace) -> None:
    from bbgm.config import RunConfig, load_run, overlay
    from bbgm.runs.crossvalidate import cross_validate

    choices = [_choices(text) for text in options.set]
    keys = [key for key, _ in choices]

    def configuration(settings: dict[str, Any]) -> RunConfig:
        overrides: dict[str, Any] = {}
        for key, value in settings.items():
            nested: Any = value
            for part in reversed(key.split(".")):
                nested = {part: nested}
            overrides = overlay(overrides, nested)
        return load_run(
            options.method, options.budget, options.seed, dataset=options.dataset, filter=options.filter, **overrides
        )

    grid = [dict(zip(keys, values, strict=True)) for values in itertools.product(*(values for _, values in choices))]
    configs = [configuration(settings) for settings in grid]  # all are checked before the first one is trained
    source = f"bbgm tune --method {options.method} --budget {options.budget} --folds {options.folds} " + " ".join(
        f"--set {shlex.quote(text)}" for text in options.set
    )
    for settings, config in zip(grid, configs, strict=True):
        found = cross_validate(config, options.folds)
        mean = 100 * sum(fold.mean["accuracy"] for fold in found) / len(found)
        print(f"{mean:6.2f} %  " + "  ".join(f"{key}={value}" for key, value in settings.items()), flush=True)
        if options.record:
            from bbgm.prose import record_tuning

            path = record_tuning(config, settings, found, source)
    if options.record:
        print(path)
