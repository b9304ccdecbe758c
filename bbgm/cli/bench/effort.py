"""``bbgm bench effort``."""

import argparse
import os
from typing import Any

from bbgm.cli.bench.options import add_folder, check_folder, is_shared, use_one_thread


def add_subject(subjects: "argparse._SubParsersAction[Any]") -> None:
    """Add the subject."""
    effort = subjects.add_parser(
        "effort", help="gap and share of proofs against processor time, for each effort and family of instances"
    )
    add_folder(effort, repeats=20, records="the rows")
    effort.add_argument("--record", action="store_true", help="keep the table in measured/instances/effort.csv")
    effort.set_defaults(command=_bench)


def _bench(options: argparse.Namespace) -> None:
    use_one_thread()
    from bbgm.base.atomic import write_text
    from bbgm.base.progress import progress
    from bbgm.bench.effort import bench_effort, effort_report

    check_folder(options)
    began = os.times()
    rows = bench_effort(options.folder, repeats=options.repeats, progress=lambda paths: progress(paths, "instances"))
    print(effort_report(rows))
    if options.json:
        write_text(options.json, rows.to_json(orient="records", indent=1) + "\n")
    if options.record:
        from bbgm.prose import record_effort

        print(f"kept in {record_effort(rows, shared=is_shared(began))}")
