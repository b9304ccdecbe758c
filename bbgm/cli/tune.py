"""``bbgm tune | compare``: compare settings on held-out training images, or on the test images over several seeds."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bbgm.cli.arguments import positive

if TYPE_CHECKING:
    from bbgm.config import RunConfig
    from bbgm.runs.tune import Trial

GIVEN = {
    "method": "METHOD",
    "budget": "--budget",
    "seed": "--seed or --seeds",
    "dataset": "--dataset",
    "filter": "--filter",
    "config_folder": "BBGM_ROOT, the folder above it",
}
"""Parameters of `bbgm.config.load_run` that are no settings, and how to give them."""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``tune`` and ``compare``."""
    tune = commands.add_parser("tune", help="compare settings on held-out training images; test images are not used")
    tune.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default %(default)s)")
    tune.add_argument("--folds", type=int, default=3, help="parts of the training images (default %(default)s)")
    tune.add_argument("--held", type=positive, help="hold out the first so many folds only (default: all)")
    tune.add_argument("--pairs", type=positive, default=200, help="of a class and fold (default %(default)s)")
    tune.add_argument("--record", action="store_true", help="write the numbers to measured/BUDGET/tuning.csv")
    tune.set_defaults(command=_tune)
    compare = commands.add_parser("compare", help="compare settings on the test images, over several seeds")
    compare.add_argument(
        "--seeds", type=positive, default=3, help="runs of each: seeds 0, 1, ... (default %(default)s)"
    )
    compare.add_argument("--record", metavar="NAME", help="write the numbers to measured/BUDGET/NAME.csv")
    compare.set_defaults(command=_compare)
    for parser in (tune, compare):
        parser.add_argument("method", metavar="METHOD", help="a file of config/experiments")
        parser.add_argument("--budget", default="demo", help="a file of config/budgets (default %(default)s)")
        parser.add_argument("--dataset", help="default: the experiment's, else willow")
        parser.add_argument("--filter", help="intersection (default), inclusion or unfiltered")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="KEY=V1,V2",
            help="values to compare, e.g. optimiser.learning_rate=1e-4,1e-3 or optimiser.milestones=[1],[2,3]; several "
            "times: all combinations",
        )


def _options(given: Sequence[str]) -> dict[str, list[Any]]:
    """The values of each setting, which are written as in a YAML list."""
    from bbgm.base.reading.yaml_files import parse_yaml

    options: dict[str, list[Any]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not (name and equals and values):
            raise ValueError(f"--set {text!r} is not of the form KEY=V1,V2")
        if name in options:
            raise ValueError(f"--set {name} is given twice: give all its values at once, as {name}=V1,V2")
        if name in GIVEN:
            raise ValueError(f"--set {text!r}: {name} is no setting; give it as {GIVEN[name]}")
        try:
            # YAML reads 1e-3 as text; the configuration makes it a number.
            found = parse_yaml(f"[{values}]".encode())
        except ValueError:
            found = None
        if not isinstance(found, list) or values.rstrip().endswith(","):
            raise ValueError(
                f"--set {text!r}: {values!r} are not values with commas between them: write each as in a YAML file, "
                "lists in brackets, and text with special characters in quotes"
            )
        options[name] = found
    return options


def _configurations(options: argparse.Namespace, seeds: Iterable[int]) -> "list[tuple[str, list[RunConfig]]]":
    """Each combination of settings, and its run for each seed. All are checked here, before the first is trained."""
    from bbgm.config import load_run
    from bbgm.runs.tune import grid, nested

    chosen = {"dataset": options.dataset, "filter": options.filter}
    combinations = []
    for settings in grid(_options(options.set)):
        overrides = nested(settings)
        configs = [load_run(options.method, options.budget, seed, **chosen, **overrides) for seed in seeds]
        _check_names(settings, configs[0])
        combinations.append((";".join(f"{name}={value}" for name, value in settings.items()), configs))
    return combinations


def _check_names(names: Iterable[str], config: "RunConfig") -> None:
    """Refuse settings that the run does not have: `load_run` ignores those of other methods, which budgets may have."""
    from bbgm.config import flatten

    have = flatten(config.content())
    for name in names:
        if not any(f"{key}.".startswith(f"{name}.") for key in have):
            section = f"{name.rpartition('.')[0]}."
            near = [key for key in have if key.startswith(section)] or list(
                dict.fromkeys(k.split(".")[0] for k in have)
            )
            raise ValueError(f"--set {name}: {config.method} has no such setting, but has {near}")


def _tune(options: argparse.Namespace) -> None:
    from bbgm.prose import check_record, record_tuning
    from bbgm.runs.tune import tune

    combinations = _configurations(options, [options.seed])
    if options.record:
        check_record(combinations[0][1][0])
    for setting, (config,) in combinations:
        trial = _unless_diverged(setting, partial(tune, config, options.folds, options.pairs, held=options.held))
        if trial is None:
            continue
        parts = " ".join(f"{100 * one:.1f}" for one in trial.scores)
        print(f"{100 * trial.mean:5.1f} % ({parts}), {trial.seconds:.0f} s: {setting}", flush=True)
        if options.record:
            record_tuning(config, setting, trial)


def _compare(options: argparse.Namespace) -> None:
    from bbgm.prose import check_record, record_tuning
    from bbgm.runs.tune import compare

    combinations = _configurations(options, range(options.seeds))
    if options.record is not None:
        check_record(combinations[0][1][0], options.record)
    first: list[float] = []
    for setting, configs in combinations:
        trial = _unless_diverged(setting, partial(compare, configs))
        if trial is None:
            continue
        first = first or list(trial.scores)
        parts = " ".join(f"{100 * one:.2f}" for one in trial.scores)
        changes = " ".join(f"{100 * (one - other):+.2f}" for one, other in zip(trial.scores, first, strict=True))
        print(
            f"{100 * trial.mean:6.2f} % ({parts}; minus the first {changes}), {trial.seconds:.0f} s: {setting}",
            flush=True,
        )
        if options.record is not None:
            record_tuning(configs[0], setting, trial, name=options.record)


def _unless_diverged(setting: str, attempt: Callable[[], "Trial"]) -> "Trial | None":
    """What an attempt reaches; None if its training diverges, which is printed, so that others can follow."""
    try:
        return attempt()
    except ValueError as error:
        if "diverged" not in str(error):
            raise
        print(f"{setting}: {error}", flush=True)
        return None
