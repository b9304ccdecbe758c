"""Which differences between the rows of a table are real: two sources of chance, looked at side by side.

*Test pairs*: other pairs would give other scores, also to the same networks. Both rows are scored on the same pairs, so
their difference is resampled pair by pair (`bbgm.tables.bootstrap`). *Runs*: another seed gives another network. The
difference of the means over the runs has an interval from their standard deviations (Welch's t; where both rows are of
the same networks, from the differences run by run). A difference counts as real where neither interval holds zero.
With fewer than `FEWEST_RUNS` runs of either row there is no second interval, and no verdict: of two runs it would be
tens of points wide. There are many comparisons (one line per column), each at 95 %, uncorrected for their number.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bbgm.tables.render import Table

LEVEL = 0.95
FEWEST_RUNS = 3
TOO_FEW = "too few runs to tell"
SHOWN = ("difference", "pairs_low", "pairs_high", "runs_low", "runs_high", "verdict")
COLUMNS = (
    *("setting", "method", "baseline", "column", "difference", "pairs_low", "pairs_high", "runs_low", "runs_high"),
    *("verdict", "n", "n_baseline"),
)


def pairs_interval(resampled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(resamples, columns) differences -> the two ends of their central 95 %, (columns,) each."""
    outside = 100 * (1 - LEVEL) / 2
    percentile = np.percentile if np.isfinite(resampled).all() else np.nanpercentile  # the second takes its time
    low, high = percentile(np.round(resampled, 9), [outside, 100 - outside], axis=0)
    return low, high


def runs_interval(scores: np.ndarray, baseline: np.ndarray, paired: bool) -> tuple[np.ndarray, np.ndarray]:
    """95 % interval of the difference of two means over runs.

    Args:
        scores, baseline: (runs, columns) each.
        paired: run k of both is of the same network.

    Returns:
        The two ends, (columns,) each; NaN where a row has fewer than `FEWEST_RUNS`.
    """
    from scipy.stats import t

    difference = scores.mean(axis=0) - baseline.mean(axis=0)
    if min(len(scores), len(baseline)) < FEWEST_RUNS:
        return np.full_like(difference, np.nan), np.full_like(difference, np.nan)
    if paired:
        variances = [(scores - baseline).var(axis=0, ddof=1) / len(scores)]
        freedoms = [len(scores) - 1]
    else:
        variances = [rows.var(axis=0, ddof=1) / len(rows) for rows in (scores, baseline)]
        freedoms = [len(scores) - 1, len(baseline) - 1]
    variance = np.sum(variances, axis=0)
    parts = sum(part**2 / freedom for part, freedom in zip(variances, freedoms, strict=True))
    freedom = np.where(variance > 0, variance**2 / np.where(variance > 0, parts, 1), 1)
    reach = t.ppf((1 + LEVEL) / 2, freedom) * np.sqrt(variance)
    return difference - reach, difference + reach


def verdict(difference: float, pairs: tuple[float, float], runs: tuple[float, float]) -> str:
    """``better`` or ``worse`` where no interval holds zero, else what leaves it open; ``equal`` if nothing differs.

    Args:
        difference: of the means.
        pairs, runs: the ends of both intervals; NaN in ``runs``: `TOO_FEW`.
    """
    if difference == 0 and pairs == (0, 0):
        return "equal"
    if not np.isfinite(runs).all():
        return TOO_FEW
    intervals = {"test pairs": pairs, "runs": runs}
    if doubts := [name for name, (low, high) in intervals.items() if not (low > 0 or high < 0)]:
        return f"open: {', '.join(doubts)}"
    return "better" if difference > 0 else "worse"


def compare_rows(
    names: Sequence[str],
    setting: str,
    columns: Sequence[str],
    scores: Sequence[np.ndarray],
    resampled: np.ndarray,
    networks: Sequence[Sequence[object]],
) -> pd.DataFrame:
    """Every row with every earlier one, column by column.

    Args:
        scores: for each row (runs, columns).
        resampled: (resamples, rows, columns).
        networks: for each row what identifies the network of each run.

    Returns:
        Frame with `COLUMNS`: ``difference`` is method minus baseline, in points.
    """
    lines = []
    for j, name in enumerate(names):
        for i in range(j):
            difference = np.round(scores[j].mean(axis=0) - scores[i].mean(axis=0), 9)
            pairs = pairs_interval(resampled[:, j] - resampled[:, i])
            runs = runs_interval(scores[j], scores[i], paired=list(networks[i]) == list(networks[j]))
            for k, column in enumerate(columns):
                of_pairs, of_runs = (float(pairs[0][k]), float(pairs[1][k])), (float(runs[0][k]), float(runs[1][k]))
                found = verdict(float(difference[k]), of_pairs, of_runs)
                counts = (len(scores[j]), len(scores[i]))
                lines.append((setting, name, names[i], column, difference[k], *of_pairs, *of_runs, found, *counts))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def best_rows(
    names: Sequence[str], columns: Sequence[str], scores: Sequence[np.ndarray], comparisons: pd.DataFrame
) -> pd.DataFrame:
    """(rows, columns) bool: the largest mean of a column, and whatever has not been shown to be less.

    Only among the rows of `FEWEST_RUNS` runs or more; without two of them there is nothing to choose from.

    Args:
        scores: for each row (runs, columns).
        comparisons: of these rows, from `compare_rows`.
    """
    means = {name: rows.mean(axis=0) for name, rows in zip(names, scores, strict=True) if len(rows) >= FEWEST_RUNS}
    best = pd.DataFrame(len(means) > 1, index=list(means), columns=list(columns))
    told = comparisons[comparisons["method"].isin(means) & comparisons["baseline"].isin(means)]
    for k, column in enumerate(columns if len(means) > 1 else ()):
        top = max(means, key=lambda name: means[name][k])
        rows = told[told["column"] == column]
        less = rows[(rows["baseline"] == top) & rows["verdict"].str.startswith("worse")]["method"]
        above = rows[(rows["method"] == top) & rows["verdict"].str.startswith("better")]["baseline"]
        best.loc[[*less, *above], column] = False
    return best


def signed(points: float) -> str:
    """A difference as text, ``+1.0``; never ``-0.0``."""
    return f"{round(points, 1) + 0.0:+.1f}"


def _interval(low: float, high: float) -> str:
    return f"{signed(low)} to {signed(high)}" if np.isfinite(low) else "too few"


def describe_comparisons(table: Table) -> list[str]:
    """Every comparison of a table in its summary column, one line each."""
    rows = table.comparisons
    lines = []
    for row in rows[rows["column"] == table.columns[-1]].itertuples() if len(rows) else ():
        runs = f"; other runs {_interval(row.runs_low, row.runs_high)}" if np.isfinite(row.runs_low) else ""
        lines.append(
            f"{row.method} minus {row.baseline} ({row.setting.replace(';', ', ')}): {signed(row.difference)} points; "
            f"other test pairs {_interval(row.pairs_low, row.pairs_high)}{runs} (95 %): {row.verdict}"
        )
    return lines


def list_comparisons(table: Table, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Every comparison of a table, with its intervals and its verdict; empty where there is one row only.

    Columns other than the summary are compared where both rows have `FEWEST_RUNS` or more: with fewer there is no
    verdict, and single columns are too noisy to be read without one.

    Args:
        columns: of the table; default its summary alone.

    Returns:
        ``difference`` (points, method minus baseline), ``pairs`` and ``runs`` (the intervals, as text) and ``verdict``,
        indexed by setting, method, baseline and column.
    """
    frame = table.comparisons.reindex(columns=list(COLUMNS))
    summary = table.columns[-1]
    frame = frame[frame["column"].isin([summary] if columns is None else list(columns))]
    frame = frame[(frame["column"] == summary) | (frame[["n", "n_baseline"]].min(axis=1) >= FEWEST_RUNS)]
    texts = {
        kind: [_interval(*ends) for ends in zip(frame[f"{kind}_low"], frame[f"{kind}_high"], strict=True)]
        for kind in ("pairs", "runs")
    }
    frame = frame.assign(difference=frame["difference"].astype(float).round(1), **texts)
    return frame.set_index(["setting", "method", "baseline", "column"])[["difference", "pairs", "runs", "verdict"]]


def compare_methods(table: Table, method: str, baseline: str, setting: str | None = None) -> pd.DataFrame:
    """How far one row of a table is above another, and whether that is real: one line per column.

    Args:
        setting: of both, where rows of several settings have these names.

    Returns:
        ``difference`` (points, method minus baseline), ``pairs_low``, ``pairs_high``, ``runs_low``, ``runs_high``
        (ends of the 95 % intervals) and ``verdict``, indexed by column.

    Raises:
        ValueError: the table does not compare these rows.
    """
    frame = table.comparisons
    if setting is not None:
        frame = frame[frame["setting"] == setting]
    rows = frame[(frame["method"] == method) & (frame["baseline"] == baseline)]
    if rows.empty:
        rows = frame[(frame["method"] == baseline) & (frame["baseline"] == method)].copy()
        ends = {f"{kind}_low": -rows[f"{kind}_high"] for kind in ("pairs", "runs")}
        ends |= {f"{kind}_high": -rows[f"{kind}_low"] for kind in ("pairs", "runs")}
        swapped = {"better": "worse", "worse": "better"}
        other = [swapped.get(text, text) for text in rows["verdict"]]
        rows = rows.assign(difference=-rows["difference"], verdict=other, **ends)
    if rows.empty or rows["setting"].nunique() > 1:
        have = table.comparisons[["setting", "method", "baseline"]].drop_duplicates()
        raise ValueError(
            f"table {table.name} has {rows['setting'].nunique()} comparisons of {method!r} with {baseline!r} "
            f"(setting {setting or 'any'}); it compares {have.agg(' / '.join, axis=1).tolist()}"
        )
    return rows.set_index("column")[list(SHOWN)]
