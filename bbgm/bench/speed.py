"""``bbgm bench speed``: whether the solver has become slower, on any machine.

Times depend on the machine, ratios hardly: each kind of work is timed beside a fixed reference, scipy's linear
assignment, which is compiled code of the same sort (shortest augmenting paths over doubles) and not part of this
project. Each round times every kind of work with the reference before and after it; the ratio of a kind is its shortest
time over the shortest of these references, so that what else the machine does for a while changes neither.

The baseline is `BASELINE`, kept in the repository. Each measurement can also be added to a file of records.
"""

import io
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from bbgm.base.atomic import write_text
from bbgm.bench.workloads import WORKLOADS, Work

BASELINE = Path(__file__).with_name("speed.csv")
COLUMNS = ("date", "machine", "commit", "family", "ratio", "ms", "reference_ms", "problems")
"""Of the baseline and of records: ``ms`` is the time of one problem, ``reference_ms`` that of the reference."""
TOLERANCE = 0.25
"""A ratio that is larger than the baseline's by more than this share counts as slower."""
ROUNDS = 7
LEAST_SECONDS = 0.03


@dataclass(frozen=True)
class Timing:
    """One kind of work in one measurement.

    Attributes:
        ratio: shortest time of the whole workload over that of the reference.
        ms: shortest time of one problem.
        reference_ms: shortest time of the reference.
        problems: number of problems.
    """

    ratio: float
    ms: float
    reference_ms: float
    problems: int


def make_reference() -> Callable[[], None]:
    """The reference: linear assignments of random costs, 2 x (500, 500), always the same."""
    generator = np.random.default_rng(17)
    matrices = [generator.standard_normal((500, 500)) for _ in range(2)]

    def run() -> None:
        for matrix in matrices:
            linear_sum_assignment(matrix)

    return run


def measure(families: Mapping[str, Callable[[], Work]] | None = None, rounds: int = ROUNDS) -> dict[str, Timing]:
    """Time every kind of work beside the reference.

    Args:
        families: as `bbgm.bench.workloads.WORKLOADS`, the default.
        rounds: how often.

    Returns:
        A timing for each family.
    """
    reference = make_reference()
    work = {name: make() for name, make in (WORKLOADS if families is None else families).items()}
    # Memory is got before, and a workload is repeated until it takes long enough to be timed.
    repeats = {name: max(1, math.ceil(LEAST_SECONDS / max(_seconds(run), 1e-9))) for name, (run, _) in work.items()}
    own: dict[str, list[float]] = {name: [] for name in work}
    beside: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, (run, _) in work.items():
            before = _seconds(reference)
            own[name].append(_seconds(run, repeats[name]))
            beside[name] += [before, _seconds(reference)]
    found = {}
    for name, (_, problems) in work.items():
        least, least_beside = min(own[name]), min(beside[name])
        found[name] = Timing(least / least_beside, 1e3 * least / problems, 1e3 * least_beside, problems)
    return found


def _seconds(run: Callable[[], Any], repeats: int = 1) -> float:
    """Time of one of so many runs, one after the other."""
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


def as_rows(timings: Mapping[str, Timing], date: str, machine: str, commit: str) -> pd.DataFrame:
    """A measurement as rows with `COLUMNS`."""
    rows = [
        {
            **{"date": date, "machine": machine, "commit": commit, "family": name, "problems": timing.problems},
            **{key: float(f"{getattr(timing, key):.4g}") for key in ("ratio", "ms", "reference_ms")},
        }
        for name, timing in timings.items()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def read_rows(path: Path) -> pd.DataFrame:
    """A baseline or a file of records.

    Raises:
        FileNotFoundError, ValueError: no such file, or one with other columns or with ratios that are not positive.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}: write one with bbgm bench speed --keep {path}")
    try:
        frame = pd.read_csv(path, comment="#")
    except ValueError as error:
        raise ValueError(
            f"{path} is damaged ({error}): restore it, or write it with bbgm bench speed --keep"
        ) from error
    if list(frame.columns) != list(COLUMNS):
        raise ValueError(f"{path} has the columns {list(frame.columns)}, must have {list(COLUMNS)}")
    ratios = pd.to_numeric(frame["ratio"], errors="coerce")
    if not (ratios > 0).all():
        bad = frame.loc[~(ratios > 0), ["family", "ratio"]].iloc[0]
        raise ValueError(f"{path}: the ratio of {bad['family']} is {bad['ratio']}, expected a positive number")
    return frame


def write_rows(path: Path, rows: pd.DataFrame, *, add: bool) -> None:
    """Write rows to a file, after those that it has (``add``) or in place of them; its comment stays."""
    comment = ""
    if path.is_file():
        comment = "".join(line for line in path.read_text().splitlines(keepends=True) if line.startswith("#"))
        if add:
            rows = pd.concat([read_rows(path), rows], ignore_index=True)
    text = io.StringIO()
    rows.to_csv(text, index=False, lineterminator="\n")
    write_text(path, comment + text.getvalue())


@dataclass(frozen=True)
class Comparison:
    """A measurement beside a baseline.

    Attributes:
        lines: one per family.
        slower: those that are slower than the tolerance allows, or that were not measured.
        faster: those that are faster by more than the tolerance: a reason to keep a new baseline.
    """

    lines: tuple[str, ...]
    slower: tuple[str, ...]
    faster: tuple[str, ...]


def compare(rows: pd.DataFrame, baseline: pd.DataFrame, tolerance: float = TOLERANCE) -> Comparison:
    """Compare ratios, family by family.

    Args:
        rows, baseline: with `COLUMNS`, one row per family; of a file of records, the last one of each family counts.
        tolerance: share by which a ratio may be larger.

    Raises:
        ValueError: the tolerance is not positive.
    """
    if not tolerance > 0:
        raise ValueError(f"the tolerance is {tolerance}, expected a positive share such as {TOLERANCE}")
    now, then = (frame.drop_duplicates("family", keep="last").set_index("family") for frame in (rows, baseline))
    lines, slower, faster = [], [], []
    for family in [*then.index, *now.index.difference(then.index, sort=False)]:
        if family not in now.index:
            lines.append(f"{family}: in the baseline, but not measured")
            slower.append(family)
            continue
        ratio, ms = now.loc[family, "ratio"], now.loc[family, "ms"]
        what = f"{family}: {ms:.3g} ms each, {ratio:.3g} references"
        if family not in then.index:
            lines.append(f"{what}; not in the baseline")
            continue
        change = ratio / then.loc[family, "ratio"] - 1
        direction = "slower" if change > 0 else "faster"
        said = f"{abs(change):.0%} {direction} than the baseline ({then.loc[family, 'ratio']:.3g})"
        if change > tolerance:
            slower.append(family)
            said = f"SLOWER: {said}, more than the tolerance of {tolerance:.0%}"
        elif change < -tolerance:
            faster.append(family)
        lines.append(f"{what}; {said}")
    return Comparison(tuple(lines), tuple(slower), tuple(faster))
