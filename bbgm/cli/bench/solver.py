"""``bbgm bench solver``."""

import argparse
from pathlib import Path
from typing import Any

from bbgm.cli.bench.options import add_folder, add_options, check_folder, ended_by_ctrl_c


def add_subject(subjects: "argparse._SubParsersAction[Any]") -> None:
    """Add the subject."""
    solver = subjects.add_parser(
        "solver", help="solve every .dd and .dd.xz file below a folder, and compare with best_known.json"
    )
    add_folder(solver, repeats=1, records="one record per instance")
    solver.add_argument(
        "--families",
        type=Path,
        metavar="CSV",
        help="write one row per family to this file, in the format of bbgm/published/solvers/",
    )
    add_options(solver)
    solver.set_defaults(command=_bench)


def _check_families(options: argparse.Namespace) -> None:
    from bbgm.published import read_solvers

    if options.families and options.json and options.families.absolute() == options.json.absolute():
        raise ValueError(f"--json and --families are both {options.json}: give two different files")
    if options.families and options.families.exists():
        read_solvers(options.families)


def _bench(options: argparse.Namespace) -> None:
    from bbgm.base.atomic import write_json
    from bbgm.base.progress import progress
    from bbgm.bench.solver import bench_solver, report

    check_folder(options)
    _check_families(options)
    with ended_by_ctrl_c(options.method):
        records = bench_solver(
            options.folder,
            options.method,
            effort=options.effort,
            full=options.full,
            repeats=options.repeats,
            progress=lambda paths: progress(paths, "instances"),
        )
    print(report(records))
    if options.json:
        write_json(options.json, records)
    if options.families:
        from bbgm.base.machine import cpu_model
        from bbgm.bench.families import by_family, write_families

        solver = options.method if options.effort == "default" else f"{options.method}, {options.effort}"
        solver += ", full" if options.full else ""
        source = f"bbgm bench solver, one thread, {cpu_model()}"
        write_families(options.families, by_family(options.folder, records, solver, source))
