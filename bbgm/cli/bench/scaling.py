"""``bbgm bench scaling``."""

import argparse
import os
from typing import Any

from bbgm.cli.arguments import positive
from bbgm.cli.bench.options import is_shared, use_one_thread


def add_subject(subjects: "argparse._SubParsersAction[Any]") -> None:
    """Add the subject."""
    scaling = subjects.add_parser(
        "scaling", help="time and memory of a solve by the number of keypoints, for sparse and dense problems"
    )
    scaling.add_argument("--effort", default="fast", help="fast, default or thorough (default %(default)s)")
    scaling.add_argument("--largest", type=positive, metavar="N", help="leave out problems of more keypoints")
    scaling.add_argument("--record", action="store_true", help="keep the table in measured/instances/scaling.csv")
    scaling.set_defaults(command=_bench)


def _bench(options: argparse.Namespace) -> None:
    use_one_thread()
    from bbgm.base.progress import progress
    from bbgm.bench.scaling import bench_scaling, scaling_report

    began = os.times()
    rows = bench_scaling(
        effort=options.effort, largest=options.largest, progress=lambda jobs: progress(jobs, "problems")
    )
    print(scaling_report(rows))
    if options.record:
        from bbgm.prose import record_scaling

        print(f"kept in {record_scaling(rows, shared=is_shared(began))}")
