"""``bbgm bench``: one module for each subject, which measures something.

A further subject is a module with ``add_subject`` and its name in `SUBJECTS`.
"""

import argparse
from typing import Any

from bbgm.cli.bench import effort, peers, scaling, solver, speed, spline, step

SUBJECTS = (solver, peers, effort, scaling, speed, spline, step)


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``bench``."""
    bench = commands.add_parser(
        "bench", help="measure the solver, alone or beside others, the spline convolution, or a training step"
    )
    subjects = bench.add_subparsers(title="subjects", metavar="SUBJECT", required=True)
    for subject in SUBJECTS:
        subject.add_subject(subjects)
