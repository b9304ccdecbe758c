"""``bbgm bench effort``: what each effort of the solver buys: the gap against processor time in the course of a solve.

A solve has no limit of time: an effort is a limit of work (numbers of sweeps, moves and table entries), so that results
are the same on every machine. Here the time that it takes is measured. `gm.trace` says when a solve had found what; it
sees the end of each stage, not the moments within.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import bbgm_solver as gm
import numpy as np
import pandas as pd

from bbgm.bench.families import family_of, shift_free_value
from bbgm.bench.solver import best_known, instance_files

EFFORTS = ("fast", "default", "thorough")
COLUMNS = ("family", "effort", "after_ms", "gap_percent", "proofs", "ms", "runs")
SECONDS = 0.1
"""A solve is repeated, and the shortest counts, until all of its repeats have taken this long."""


class Course(NamedTuple):
    """One solve.

    Attributes:
        ms: (K,) processor time at the end of each stage; the last one is that of the solve.
        gap: (K,) gap of the matching found by then to the best known value, %, relative to it without a shift.
        proved: the solve ends with a proof.
    """

    ms: np.ndarray
    gap: np.ndarray
    proved: bool

    def gap_after(self, ms: float) -> float:
        """The gap at some time, which is not before the first stage."""
        return float(self.gap[np.searchsorted(self.ms, ms, side="right") - 1])


def bench_effort(
    folder: Path,
    *,
    efforts: Sequence[str] = EFFORTS,
    repeats: int = 20,
    progress: Callable[[list[Path]], Iterable[Path]] = iter,
) -> pd.DataFrame:
    """Solve every file of two graphs that `best_known.json` names, at each effort, by method "best".

    Args:
        folder: where the instances and `best_known.json` are.
        efforts: which ones.
        repeats: how often each instance is solved at most, see `SECONDS`.
        progress: wraps the list of files.

    Returns:
        `COLUMNS`, for each family and effort first what it ends with: means of gap_percent and ms (processor time) over
        so many runs, and how many of them are proved; after_ms is nan. Then the profile: gap_percent and proofs after
        after_ms, at powers of two from when all of the family have a matching until all have ended.

    Raises:
        FileNotFoundError: no such folder, or no instance in it.
        ValueError: a broken file, or no file of two graphs has a best known value.
    """
    folder = folder.resolve()
    best = best_known(folder)
    courses: dict[tuple[str, str], list[Course]] = {}
    for path in progress(instance_files(folder)):
        plain = path.with_name(path.name.removesuffix(".xz"))
        problem = gm.read_dd(path)
        if plain not in best or not isinstance(problem, gm.Problem):
            continue
        scale = shift_free_value(path, best[plain])
        family = family_of(path.relative_to(folder).as_posix())
        for effort in efforts:
            course = _solved(problem, effort, repeats, best[plain], scale)
            courses.setdefault((family, effort), []).append(course)
    if not courses:
        raise ValueError(f"no file of two graphs below {folder} has a best known value in best_known.json: add them")
    rows = [row for (family, effort), own in sorted(courses.items(), key=_order) for row in _rows(family, effort, own)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _order(item: tuple[tuple[str, str], list[Course]]) -> tuple[str, int]:
    (family, effort), _ = item
    return family, gm.EFFORTS.index(effort)


def _solved(problem: gm.Problem, effort: str, repeats: int, known: float, scale: float) -> Course:
    spent, shortest = 0.0, None
    for _ in range(repeats):
        rows = gm.trace(problem, effort=effort, timed=True)
        spent += rows[-1, 3]
        if shortest is None or rows[-1, 3] < shortest[-1, 3]:
            shortest = rows
        if spent > SECONDS:
            break
    assert shortest is not None
    _, bound, objective, seconds = shortest.T
    largest = max(np.abs(costs).max(initial=0.0) for costs in (problem.costs, problem.term_costs))
    proved = objective[-1] - bound[-1] <= 1e-9 * max(abs(objective[-1]), largest)
    return Course(1e3 * seconds, 100 * (objective - known) / scale, bool(proved))


def _rows(family: str, effort: str, courses: Sequence[Course]) -> list[dict[str, object]]:
    """What a family ends with, then its profile."""
    starts, ends = ([float(course.ms[k]) for course in courses] for k in (0, -1))
    head = {"family": family, "effort": effort, "runs": len(courses)}
    end = {"gap_percent": np.mean([course.gap[-1] for course in courses]), "ms": np.mean(ends)}
    rows = [head | end | {"after_ms": np.nan, "proofs": sum(course.proved for course in courses)}]
    first, last = (int(np.ceil(np.log2(max(*times, 1e-3)))) for times in (starts, ends))
    for after in (2.0**k for k in range(first, last + 1)):
        gap = np.mean([course.gap_after(after) for course in courses])
        proofs = sum(course.proved and course.ms[-1] <= after for course in courses)
        rows.append(head | {"after_ms": after, "gap_percent": gap, "proofs": proofs, "ms": np.nan})
    return rows


def effort_report(rows: pd.DataFrame) -> str:
    """A table with a line per family and effort."""
    lines = [f"{'family':26s} {'effort':10s} {'files':>5s} {'gap %':>10s} {'proofs':>6s} {'ms':>10s}"]
    for row in rows[rows["after_ms"].isna()].itertuples():
        gap = round(row.gap_percent, 4) + 0.0
        lines.append(f"{row.family:26s} {row.effort:10s} {row.runs:5d} {gap:10.4f} {row.proofs:6d} {row.ms:10.3g}")
    return "\n".join(lines)
