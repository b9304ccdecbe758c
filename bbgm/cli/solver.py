"""``bbgm solve``: the compiled solver on a file."""

import argparse
import json
from pathlib import Path
from typing import Any

from bbgm.cli.bench.options import add_options, ended_by_ctrl_c


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``solve``."""
    solve = commands.add_parser(
        "solve", help="solve a graph matching problem, of two graphs or several, in a .dd or .dd.xz file"
    )
    solve.add_argument("file", type=Path, metavar="FILE", help="a .dd or .dd.xz file")
    solve.add_argument("--json", action="store_true", help="print the record as JSON")
    add_options(solve)
    solve.set_defaults(command=_solve)


def _solve(options: argparse.Namespace) -> None:
    from bbgm.bench.solver import solve_file

    with ended_by_ctrl_c(options.method):
        record = solve_file(options.file, options.method, effort=options.effort, full=options.full)
    if options.json:
        print(json.dumps(record))
    else:
        for key, value in record.items():
            print(f"{key:<14}{value}")
