"""``bbgm tune | compare``: settings compared on the training images alone, or on the test images."""

import argparse
import itertools
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bbgm.config import RunConfig


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``tune`` and ``compare``."""
    tune = commands.add_parser("tune", help="choose settings by cross-validation on the training images")
    tune.add_argument("--folds", type=int, default=5, help="parts of the training images (default %(default)s)")
    tune.set_defaults(command=_tune)
    compare = commands.add_parser("compare", help="compare settings on the test images, over several seeds")
    compare.add_argument(
        "--seeds", type=int, default=3, help="runs of each, with seeds 0, 1, ... (default %(default)s)"
    )
    compare.set_defaults(command=_compare)
    for parser, name in ((tune, "METHOD-tuning"), (compare, "METHOD-settings")):
        parser.add_argument("--method", default="bbgm", help="a file of config/experiments (default %(default)s)")
        parser.add_argument("--budget", default="demo", help="a file of config/budgets (default %(default)s)")
        parser.add_argument("--dataset", help="default: the experiment's, else willow")
        parser.add_argument("--filter", help="intersection (default), inclusion or unfiltered")
        parser.add_argument(
            "--set",
            action="append",
            required=True,
            metavar="KEY=VALUE,VALUE",
            help="values of a setting, e.g. optimiser.learning_rate=1e-3,2e-3; given several times, all combinations",
        )
        parser.add_argument("--record", action="store_true", help="write the results to measured/")
        parser.add_argument("--name", help=f"of the file that --record writes (default {name})")


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


def _grid(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    keys, values = zip(*(_choices(text) for text in options.set), strict=True)
    for combination in itertools.product(*values):
        yield dict(zip(keys, combination, strict=True))


def _config(options: argparse.Namespace, settings: dict[str, Any], seed: int) -> "RunConfig":
    from bbgm.config import load_run, overlay

    overrides: dict[str, Any] = {}
    for key, value in settings.items():
        nested: Any = value
        for part in reversed(key.split(".")):
            nested = {part: nested}
        overrides = overlay(overrides, nested)
    return load_run(options.method, options.budget, seed, dataset=options.dataset, filter=options.filter, **overrides)


def _tune(options: argparse.Namespace) -> None:
    from bbgm.runs.crossvalidate import cross_validate

    configs = [[_config(options, settings, 0)] for settings in _grid(options)]  # all are checked before any is trained
    results = (cross_validate(config, options.folds) for (config,) in configs)
    _report(options, configs, results, "tuning", f"--folds {options.folds}")


def _compare(options: argparse.Namespace) -> None:
    from bbgm.data import open_dataset
    from bbgm.runs.crossvalidate import train_and_test

    configs = [[_config(options, settings, seed) for seed in range(options.seeds)] for settings in _grid(options)]
    results = ([train_and_test(c, open_dataset(c.data, c.protocol)) for c in seeds] for seeds in configs)
    _report(options, configs, results, "settings", f"--seeds {options.seeds}")


def _report(
    options: argparse.Namespace, configs: list[list["RunConfig"]], results: Iterator[Any], name: str, repeats: str
) -> None:
    """Print each combination as soon as it is done, and its difference from the first, run by run."""
    import numpy as np

    chosen = f"--method {options.method} --budget {options.budget}"
    chosen += "".join(f" --{key} {getattr(options, key)}" for key in ("dataset", "filter") if getattr(options, key))
    settings = " ".join(f"--set {shlex.quote(text)}" for text in options.set)
    source = f"bbgm {'tune' if name == 'tuning' else 'compare'} {chosen} {repeats} {settings}"
    first = None
    for combination, runs, found in zip(_grid(options), configs, results, strict=True):
        values = 100 * np.array([one.mean["accuracy"] for one in found])
        first = values if first is None else first
        change = values - first
        spread = f"{change.std(ddof=1):.2f}" if len(change) > 1 else "-"
        print(
            f"{values.mean():6.2f} %  {change.mean():+6.2f} +- {spread}  "
            + "  ".join(f"{key}={value}" for key, value in combination.items()),
            flush=True,
        )
        if options.record:
            from bbgm.prose import record_tuning

            path = record_tuning(runs[0], combination, found, options.name or f"{options.method}-{name}", source)
    if options.record:
        print(path)
