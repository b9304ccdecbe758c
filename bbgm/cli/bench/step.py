"""``bbgm bench step``."""

import argparse
import os
from typing import Any

from bbgm.cli.arguments import positive


def add_subject(subjects: "argparse._SubParsersAction[Any]") -> None:
    """Add the subject."""
    step = subjects.add_parser(
        "step", help="time training steps of an experiment: where the time goes, and its ratio to that of the products"
    )
    step.add_argument("--method", default="bbgm", help="a file of config/experiments (default %(default)s)")
    step.add_argument("--budget", default="demo", help="a file of config/budgets (default %(default)s)")
    step.add_argument("--dataset", help="as for 'bbgm train'")
    step.add_argument("--filter", help="intersection (default), inclusion or unfiltered")
    step.add_argument("--steps", type=positive, default=30, help="how many are timed (default %(default)s)")
    step.add_argument("--device", help="cpu, cuda or cuda:1 (default: as in training)")
    step.add_argument("--profile", action="store_true", help="also print the profiler's table of operations")
    step.set_defaults(command=_bench)


def _bench(options: argparse.Namespace) -> None:
    if options.device:
        os.environ["BBGM_DEVICE"] = options.device
    from bbgm.bench.step import bench_step
    from bbgm.config import load_run

    config = load_run(options.method, options.budget, 0, dataset=options.dataset, filter=options.filter)
    report = bench_step(config, options.steps)
    print(*report.lines(), sep="\n")
    if options.profile:
        print(report.operations)
