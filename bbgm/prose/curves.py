"""Measured curves of the solver: ``measured/instances/scaling.csv`` and ``effort.csv``.

``bbgm bench scaling --record`` and ``bbgm bench effort --record`` write them, with `bbgm.prose.measured.COLUMNS`:

- scaling: ``method`` is the kind of problem, ``setting`` its size and the effort, ``column`` one of `SCALING`;
- effort: ``method`` is the effort, ``setting`` the family of instances, ``n`` how many they are, ``column`` one of
  `EFFORT`, at the end of the solves or, as in ``gap % after 2 ms``, in their course.
"""

from pathlib import Path

import pandas as pd

from bbgm.prose.measured import keep, measured_root, read_measured
from bbgm.prose.solvers import FOLDER, measured_here

SCALING = {
    "seconds": "seconds",
    "MiB": "mib",
    "problem MiB": "problem_mib",
    "terms": "terms",
    "cost": "cost",
    "gap %": "gap_percent",
}
"""What is kept of a solve: processor time (s), peak memory with the problem and without Python, that of the problem
alone, pairs of matches with a cost, cost of the matching, gap to the bound. The values are the columns of
``bbgm.bench.scaling``."""
EFFORT = {"gap %": "gap_percent", "proofs": "proofs", "ms": "ms"}
"""What is kept of the solves of a family: mean gap to the best known value, how many are proved, mean processor time.
The values are the columns of ``bbgm.bench.effort``."""
AFTER = r"(?P<figure>.+?)(?: after (?P<after_ms>\S+) ms)?"


def record_scaling(rows: pd.DataFrame, root: Path | None = None, *, shared: bool = False) -> Path:
    """Keep what `bbgm.bench.scaling.bench_scaling` returns, in place of the same kinds and efforts.

    Args:
        rows: with the columns kind, n, effort and those of `SCALING`.
        root: where to; default `bbgm.prose.measured.measured_root`.
        shared: the machine did other work meanwhile.

    Returns:
        The written file.

    Raises:
        ValueError: the kept file is damaged.
    """
    lines = []
    for row in rows.to_dict("records"):
        head = {"method": row["kind"], "setting": f"n={row['n']};effort={row['effort']}", "n": "1"}
        lines += [{**head, "column": column, "value": f"{row[name]:.7g}"} for column, name in SCALING.items()]
    return _keep("scaling", lines, shared, root)


def scaling_figures(root: Path | None = None) -> pd.DataFrame:
    """What `record_scaling` kept: a row with its columns for each kind, size and effort, by size."""
    kept = read_measured(f"{FOLDER}/scaling", root)
    setting = kept["setting"].str.extract(r"n=(?P<n>\d+);effort=(?P<effort>\w+)")
    kept = kept.assign(kind=kept["method"], n=setting["n"].astype(int), effort=setting["effort"])
    wide = kept.pivot_table(index=["kind", "n", "effort"], columns="column", values="value", sort=False)
    return (
        wide[list(SCALING)]
        .rename(columns=SCALING)
        .astype({"terms": int})
        .reset_index()
        .rename_axis(columns=None)
        .sort_values(["kind", "effort", "n"], ignore_index=True)
    )


def record_effort(rows: pd.DataFrame, root: Path | None = None, *, shared: bool = False) -> Path:
    """Keep what `bbgm.bench.effort.bench_effort` returns, in place of the same families and efforts.

    Args:
        rows: with the columns family, effort, runs, after_ms and those of `EFFORT`.
        root, shared: as for `record_scaling`.

    Returns:
        The written file.

    Raises:
        ValueError: the kept file is damaged.
    """
    lines = []
    for row in rows.to_dict("records"):
        head = {"method": row["effort"], "setting": row["family"], "n": str(row["runs"])}
        after = "" if pd.isna(row["after_ms"]) else f" after {row['after_ms']:g} ms"
        lines += [
            {**head, "column": column + after, "value": f"{round(row[name], 4) + 0.0:.4g}"}
            for column, name in EFFORT.items()
            if pd.notna(row[name])
        ]
    return _keep("effort", lines, shared, root)


def effort_figures(root: Path | None = None) -> pd.DataFrame:
    """What `record_effort` kept: the rows that it was given."""
    kept = read_measured(f"{FOLDER}/effort", root)
    kept = kept.assign(**kept["column"].str.extract(f"^{AFTER}$"))
    kept = kept.assign(
        after_ms=pd.to_numeric(kept["after_ms"]).fillna(0), family=kept["setting"], effort=kept["method"]
    )
    kept["place"] = kept.groupby(["family", "effort"], sort=False).ngroup()  # their order in the file
    wide = kept.pivot_table("value", ["place", "family", "effort", "after_ms", "n"], "figure").droplevel("place")
    wide = wide.rename(columns=EFFORT).reset_index().rename(columns={"n": "runs"}).rename_axis(columns=None)
    return wide.assign(after_ms=wide["after_ms"].where(wide["after_ms"] > 0))


def _keep(table: str, lines: list[dict[str, str]], shared: bool, root: Path | None) -> Path:
    origin = measured_here(shared)
    same = {"table": table, "budget": FOLDER, "std": "", "pairs": "", "source": f"bbgm bench {table} --record"}
    path = (root or measured_root()) / FOLDER / f"{table}.csv"
    return keep([same | line | origin for line in lines], path, ("method", "setting"))
