"""``bbgm bench speed``."""

import argparse
from pathlib import Path
from typing import Any

from bbgm.cli.bench.options import use_one_thread


def add_subject(subjects: "argparse._SubParsersAction[Any]") -> None:
    """Add the subject."""
    speed = subjects.add_parser(
        "speed", help="compare the solver's speed, as a ratio to a fixed reference, with a baseline; status 1 if slower"
    )
    speed.add_argument("--baseline", type=Path, metavar="CSV", help="default: bbgm/bench/speed.csv")
    speed.add_argument("--keep", type=Path, metavar="CSV", help="write the measurement as a new baseline")
    speed.add_argument(
        "--record",
        type=Path,
        metavar="CSV",
        help="add it to this file (default: bench/speed.csv below results/)",
    )
    speed.add_argument("--tolerance", type=float, metavar="SHARE", help="how much slower is allowed (default 0.25)")
    speed.add_argument("--rounds", type=int, help="how often everything is timed (default 7)")
    speed.set_defaults(command=_bench)


def _bench(options: argparse.Namespace) -> int:
    use_one_thread()
    from datetime import UTC, datetime

    from bbgm.base import machine
    from bbgm.base.paths import results_root
    from bbgm.bench.speed import BASELINE, ROUNDS, TOLERANCE, as_rows, compare, measure, read_rows, write_rows

    rounds = ROUNDS if options.rounds is None else options.rounds
    tolerance = TOLERANCE if options.tolerance is None else options.tolerance
    if rounds < 1:
        raise ValueError(f"--rounds is {rounds}, expected 1 or more")
    if not tolerance > 0:
        raise ValueError(f"--tolerance is {tolerance}, expected a positive share such as {TOLERANCE}")
    baseline = None if options.keep else read_rows(options.baseline or BASELINE)
    hardware = f"{machine.cpu_model()} (1 of {machine.usable_cores()} cores)"
    rows = as_rows(measure(rounds=rounds), datetime.now(UTC).date().isoformat(), hardware, machine.commit())
    record = options.record or results_root() / "bench" / "speed.csv"
    write_rows(record, rows, add=True)
    print(f"recorded in {record}")
    if baseline is None:
        write_rows(options.keep, rows, add=False)
        print(f"kept as the baseline {options.keep}")
        return 0
    comparison = compare(rows, baseline, tolerance)
    print("\n".join(comparison.lines))
    if comparison.slower:
        print(f"slower than the baseline: {', '.join(comparison.slower)}; measure again on an idle machine first")
        return 1
    if comparison.faster:
        path = options.baseline or BASELINE
        print(f"faster: {', '.join(comparison.faster)}; to hold on to it: bbgm bench speed --keep {path}")
    return 0
