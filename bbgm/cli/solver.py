"""``bbgm solve`` and ``bbgm bench``: the compiled solver on files, and the speed of the layers."""

import argparse
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bbgm.cli.arguments import positive

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""How many threads libraries use, which they read when they are loaded."""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add ``solve`` and ``bench``."""
    solve = commands.add_parser(
        "solve", help="solve a graph matching problem, of two graphs or several, in a .dd or .dd.xz file"
    )
    solve.add_argument("file", type=Path, metavar="FILE", help="a .dd or .dd.xz file")
    solve.add_argument("--json", action="store_true", help="print the record as JSON")
    _add_options(solve)
    solve.set_defaults(command=_solve)

    bench = commands.add_parser(
        "bench", help="measure the solver, alone or beside others, the spline convolution, or a training step"
    )
    subjects = bench.add_subparsers(title="subjects", metavar="SUBJECT", required=True)
    solver = subjects.add_parser(
        "solver", help="solve every .dd and .dd.xz file below a folder, and compare with best_known.json"
    )
    _add_folder(solver, repeats=1, records="one record per instance")
    solver.add_argument(
        "--families",
        type=Path,
        metavar="CSV",
        help="write one row per family to this file, in the format of bbgm/published/solvers/",
    )
    _add_options(solver)
    solver.set_defaults(command=_bench)

    peers = subjects.add_parser(
        "peers", help="run our solver and others that are installed on every .dd and .dd.xz file of two graphs"
    )
    _add_folder(peers, repeats=3, records="the records of each peer")
    peers.add_argument("--peers", metavar="NAME,NAME", help="which ones, see bbgm/bench/peers (default: all)")
    peers.add_argument("--record", action="store_true", help="keep the table in measured/instances/peers.csv")
    peers.set_defaults(command=_bench_peers)

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
    speed.set_defaults(command=_bench_speed)

    spline = subjects.add_parser(
        "spline", help="time the spline convolution, and its reference (minutes) where torch-spline-conv is installed"
    )
    spline.add_argument("--channels", type=int, default=1024, help="width of the layer (default %(default)s)")
    spline.add_argument("--threads", type=int, default=2, help="torch threads (default %(default)s)")
    spline.set_defaults(command=_bench_spline)

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
    step.set_defaults(command=_bench_step)


def _add_folder(parser: argparse.ArgumentParser, *, repeats: int, records: str) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of .dd and .dd.xz files")
    parser.add_argument(
        "--repeats",
        type=int,
        default=repeats,
        help="how often to solve each; the shortest time counts (default %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help=f"write {records} to this file")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--method",
        default="best",
        help="best, dual (the paper's) or exact; with several graphs best, dual or sync; default %(default)s",
    )
    parser.add_argument("--effort", default="default", help="fast, default or thorough (for 'best')")
    parser.add_argument(
        "--full",
        action="store_true",
        help="match as many nodes as possible, for costs that are all positive, such as QAPLIB's; two graphs only",
    )


@contextmanager
def _ended_by_ctrl_c(method: str) -> Iterator[None]:
    """Let Ctrl-C end the process at once while HiGHS runs, which does not see Python's interrupts. No file is open."""
    if method != "exact":
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _solve(options: argparse.Namespace) -> None:
    from bbgm.bench.solver import solve_file

    with _ended_by_ctrl_c(options.method):
        record = solve_file(options.file, options.method, effort=options.effort, full=options.full)
    if options.json:
        print(json.dumps(record))
    else:
        for key, value in record.items():
            print(f"{key:<14}{value}")


def _check_folder(options: argparse.Namespace) -> None:
    """Report what cannot be measured or written before the measurement, not after it."""
    if options.repeats < 1:
        raise ValueError(f"--repeats is {options.repeats}, expected 1 or more")
    for name in ("json", "families"):
        path = getattr(options, name, None)
        if path is not None and path.exists() and not path.is_file():
            raise ValueError(f"--{name} {path} is not a file: give the name of a file to write")


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

    _check_folder(options)
    _check_families(options)
    with _ended_by_ctrl_c(options.method):
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


def _bench_peers(options: argparse.Namespace) -> None:
    os.environ.update(dict.fromkeys(THREADS, "1"))  # before numpy is loaded
    from bbgm.base.atomic import write_json
    from bbgm.base.progress import progress
    from bbgm.bench.live import bench_peers, busiest, chosen_peers, family_rows, is_shared, peers_report

    _check_folder(options)
    peers, missing = chosen_peers(options.peers and options.peers.split(","))
    for line in missing:
        print(line)
    records = bench_peers(
        options.folder, peers, repeats=options.repeats, progress=lambda paths: progress(paths, "instances")
    )
    rows = family_rows(options.folder, records, "bbgm bench peers --record")
    print(peers_report(rows))
    for line in busiest(records):
        print(line)
    if is_shared(records):
        print("the machine did other work meanwhile: times are too long, measure again when it is idle")
    if options.json:
        write_json(options.json, {peer.title: own for peer, own in records.items()})
    if options.record:
        from bbgm.prose import record_solvers

        print(f"kept in {record_solvers(rows, shared=is_shared(records))}")


def _bench_speed(options: argparse.Namespace) -> int:
    os.environ.update(dict.fromkeys(THREADS, "1"))  # before numpy is loaded
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


def _bench_spline(options: argparse.Namespace) -> None:
    from bbgm.bench.spline import bench_spline

    for name in ("channels", "threads"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} is {getattr(options, name)}, expected 1 or more")
    for key, value in bench_spline(options.channels, threads=options.threads).items():
        print(f"{key:<18}{value}")


def _bench_step(options: argparse.Namespace) -> None:
    if options.device:
        os.environ["BBGM_DEVICE"] = options.device
    from bbgm.bench.step import bench_step
    from bbgm.config import load_run

    config = load_run(options.method, options.budget, 0, dataset=options.dataset, filter=options.filter)
    report = bench_step(config, options.steps)
    print(*report.lines(), sep="\n")
    if options.profile:
        print(report.operations)
