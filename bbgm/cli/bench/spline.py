"""``bbgm bench spline``."""

import argparse
from typing import Any


def add_subject(subjects: "argparse._SubParsersAction[Any]") -> None:
    """Add the subject."""
    spline = subjects.add_parser(
        "spline", help="time the spline convolution, and its reference (minutes) where torch-spline-conv is installed"
    )
    spline.add_argument("--channels", type=int, default=1024, help="width of the layer (default %(default)s)")
    spline.add_argument("--threads", type=int, default=2, help="torch threads (default %(default)s)")
    spline.set_defaults(command=_bench)


def _bench(options: argparse.Namespace) -> None:
    from bbgm.bench.spline import bench_spline

    for name in ("channels", "threads"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} is {getattr(options, name)}, expected 1 or more")
    for key, value in bench_spline(options.channels, threads=options.threads).items():
        print(f"{key:<18}{value}")
