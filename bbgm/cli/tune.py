"""``bbgm tune | compare``: compare settings on held-out training images, or on the test images over several seeds."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bbgm.config import RunConfig
    from bbgm.runs.tune import Trial


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``tune`` and ``compare``."""
    tune = commands.add_parser("tune", help="compare settings on held-out training images; test images are not used")
    tune.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default %(default)s)")
    tune.add_argument("--folds", type=int, default=3, help="parts of the training images (default %(default)s)")
    tune.add_argument("--pairs", type=int, default=200, help="of a class and fold (default %(default)s)")
    tune.add_argument("--record", action="store_true", help="write the numbers to measured/BUDGET/tuning.csv")
    tune.set_defaults(command=_tune)
    compare = commands.add_parser("compare", help="compare settings on the test images, over several seeds")
    compare.add_argument("--seeds", type=int, default=3, help="runs of each: seeds 0, 1, ... (default %(default)s)")
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
            help="values to compare, e.g. optimiser.learning_rate=1e-4,1e-3; several times: all combinations",
        )


def _options(given: Sequence[str]) -> dict[str, list[Any]]:
    import yaml

    options = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not (name and equals and values):
            raise ValueError(f"--set {text!r} is not of the form KEY=V1,V2")
        # YAML reads 1e-3 as text; the configuration makes it a number.
        options[name] = [yaml.safe_load(value) for value in values.split(",")]
    return options


def _configurations(options: argparse.Namespace, seeds: Iterable[int]) -> "list[tuple[str, list[RunConfig]]]":
    """Each combination of settings, and its run for each seed. All are checked here, before the first is trained."""
    from bbgm.config import load_run
    from bbgm.runs.tune import grid, nested

    chosen = {"dataset": options.dataset, "filter": options.filter}
    return [
        (
            ";".join(f"{name}={value}" for name, value in settings.items()),
            [load_run(options.method, options.budget, seed, **chosen, **nested(settings)) for seed in seeds],
        )
        for settings in grid(_options(options.set))
    ]


def _tune(options: argparse.Namespace) -> None:
    from bbgm.prose import record_tuning
    from bbgm.runs.tune import tune

    for setting, (config,) in _configurations(options, [options.seed]):
        trial = _unless_diverged(setting, partial(tune, config, options.folds, options.pairs))
        if trial is None:
            continue
        parts = " ".join(f"{100 * one:.1f}" for one in trial.accuracies)
        print(f"{100 * trial.mean:5.1f} % ({parts}), {trial.seconds:.0f} s: {setting}", flush=True)
        if options.record:
            record_tuning(config, setting, trial)


def _compare(options: argparse.Namespace) -> None:
    from bbgm.prose import record_tuning
    from bbgm.runs.tune import compare

    first: list[float] = []
    for setting, configs in _configurations(options, range(options.seeds)):
        trial = _unless_diverged(setting, partial(compare, configs))
        if trial is None:
            continue
        first = first or list(trial.accuracies)
        parts = " ".join(f"{100 * one:.2f}" for one in trial.accuracies)
        changes = " ".join(f"{100 * (one - other):+.2f}" for one, other in zip(trial.accuracies, first, strict=True))
        print(
            f"{100 * trial.mean:6.2f} % ({parts}; minus the first {changes}), {trial.seconds:.0f} s: {setting}",
            flush=True,
        )
        if options.record:
            record_tuning(configs[0], setting, trial, name=options.record, command="bbgm compare")


def _unless_diverged(setting: str, attempt: Callable[[], "Trial"]) -> "Trial | None":
    """What an attempt reaches; None if its training diverges, which is printed, so that others can follow."""
    try:
        return attempt()
    except ValueError as error:
        if "diverged" not in str(error):
            raise
        print(f"{setting}: {error}", flush=True)
        return None
