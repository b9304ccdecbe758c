"""``bbgm bench scaling``: time and memory of a solve by the number of keypoints, each in a process of its own.

All problems are planted, like those of a trained network, with Delaunay edges and fixed seeds. A further kind is a
function here and a line in `KINDS`.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

import bbgm_solver as gm
import numpy as np
import pandas as pd

from bbgm.base.machine import PeakMemory
from bbgm.matching.synthetic import JITTER_LARGE, random_instance, sparse_problem

COLUMNS = ("kind", "n", "effort", "seconds", "mib", "problem_mib", "terms", "cost", "gap_percent")
CANDIDATES = 10
SECONDS = 0.5
"""A solve is repeated, and the shortest time counts, until all of its repeats have taken this long."""


class Kind(NamedTuple):
    """One kind of problem: how one of n x n nodes is made, and of which sizes."""

    make: Callable[[int], gm.Problem]
    sizes: tuple[int, ...]


def sparse(n: int) -> gm.Problem:
    """Each node may be matched with `CANDIDATES` others, or with all of a smaller graph."""
    return sparse_problem(n, min(CANDIDATES, n), 0)


def dense(n: int) -> gm.Problem:
    """Each node may be matched with all others."""
    return random_instance(n, n, 0, planted=True, jitter=JITTER_LARGE / np.sqrt(n)).problem()


KINDS = {
    "sparse": Kind(sparse, (100, 300, 1000, 3000, 10_000)),  # the solver takes no more nodes
    "dense": Kind(dense, (25, 50, 100, 200, 500)),
}


def solve_once(kind: str, n: int, effort: str) -> dict[str, Any]:
    """Make and solve one problem in this process; for the memory, it should have done nothing before.

    Returns:
        `COLUMNS`: seconds, the processor time of a solve; mib, the memory of problem and solve together at its largest,
        without what Python and the libraries take; problem_mib, that of the problem alone; terms, its pairs of matches
        with a cost; gap_percent, from the bound to the cost of the matching, relative to the cost.
    """
    before = PeakMemory().now()
    problem = KINDS[kind].make(n)
    memory = PeakMemory()
    alone = memory.now()
    began = time.process_time()
    result = gm.solve(problem, effort=effort)
    seconds = time.process_time() - began
    peak = memory.largest()
    gap = 100 * (result.objective - result.lower_bound) / max(abs(result.objective), 1e-12)
    return {
        **{"kind": kind, "n": n, "effort": effort, "seconds": _shortest(problem, effort, seconds)},
        **{"mib": peak - before, "problem_mib": alone - before, "terms": problem.n_terms},
        **{"cost": result.objective, "gap_percent": gap},
    }


def _shortest(problem: gm.Problem, effort: str, first: float) -> float:
    """Processor time of a solve, s; the first one took `first`."""
    times = [first]
    while sum(times) < SECONDS:
        began = time.process_time()
        gm.solve(problem, effort=effort)
        times.append(time.process_time() - began)
    return min(times)


def bench_scaling(
    kinds: Sequence[str] = tuple(KINDS),
    *,
    effort: str = "fast",
    largest: int | None = None,
    progress: Callable[[list[tuple[str, int]]], Iterable[tuple[str, int]]] = iter,
) -> pd.DataFrame:
    """Solve a problem of each kind and size, one after the other.

    Args:
        kinds: of `KINDS`.
        effort: of each solve.
        largest: leave out problems of more nodes.
        progress: wraps the list of kinds and sizes.

    Returns:
        A row with `COLUMNS` for each.

    Raises:
        ValueError: no such kind or effort, or no size is small enough.
        MemoryError: the process of a solve was killed.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ValueError(f"kind {unknown[0]!r} is not one of {list(KINDS)}")
    if effort not in gm.EFFORTS:
        raise ValueError(f"effort {effort!r} is not one of {list(gm.EFFORTS)}")
    jobs = [(kind, n) for kind in kinds for n in KINDS[kind].sizes if largest is None or n <= largest]
    if not jobs:
        least = min(n for kind in kinds for n in KINDS[kind].sizes)
        raise ValueError(f"no problem has {largest} nodes or fewer: give {least} or more")
    return pd.DataFrame([_in_a_process(kind, n, effort) for kind, n in progress(jobs)], columns=list(COLUMNS))


def _in_a_process(kind: str, n: int, effort: str) -> dict[str, Any]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(solve_once, kind, n, effort).result()
        except BrokenProcessPool as error:
            raise MemoryError(
                f"the process of the {kind} problem with n = {n} was killed, most likely because the memory ran out: "
                f"leave it out with --largest {n - 1}"
            ) from error


def scaling_report(rows: pd.DataFrame) -> str:
    """A table with a line per kind and size."""
    lines = [f"{'kind':8s} {'n':>6s} {'effort':9s} {'terms':>10s} {'s':>9s} {'MiB':>7s} {'cost':>12s} {'gap %':>8s}"]
    for row in rows.itertuples():
        lines.append(
            f"{row.kind:8s} {row.n:6d} {row.effort:9s} {row.terms:10d} {row.seconds:9.3g} {row.mib:7.1f} "
            f"{row.cost:12.3f} {row.gap_percent:8.4f}"
        )
    return "\n".join(lines)
