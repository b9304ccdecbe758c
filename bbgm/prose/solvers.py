"""Figures of solvers on instances: ``measured/instances/peers.csv``, which ``bbgm bench peers --record`` writes.

Each line is one number of `bbgm.prose.measured.COLUMNS`: ``method`` is the solver, ``setting`` the family of instances,
``n`` how many they are, ``source`` has version and settings of the solver. ``column`` is one of `FIGURES`.
"""

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from bbgm import published
from bbgm.base import machine
from bbgm.prose.measured import keep, measured_root, read_measured

TABLE, FOLDER = "peers", "instances"
FIGURES = {"gap %": "gap_percent", "hits": "hits", "proofs": "proofs", "ms": "ms"}
"""What is kept, by its name in markers: mean gap to the best known value (%), instances that reach it, those that are
proved, mean time (ms). The values are the names of the same columns in `bbgm.published.SOLVER_COLUMNS`."""


def measured_here(shared: bool) -> dict[str, str]:
    """Date, hardware and commit of what this process measures on one core.

    Args:
        shared: the machine did other work meanwhile.
    """
    hardware = machine.hardware()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": f"{hardware['cpu']} (1 of {hardware['cores']} cores{', shared' if shared else ''})",
        "commit": machine.commit(),
    }


def record_solvers(rows: pd.DataFrame, root: Path | None = None, *, shared: bool = False) -> Path:
    """Keep figures, in place of those of the same solvers and families, on whatever machine they were measured.

    Args:
        rows: with the columns of `bbgm.published.SOLVER_COLUMNS`.
        shared: the machine did other work meanwhile.
        root: where to; default `bbgm.prose.measured.measured_root`.

    Returns:
        The written file.

    Raises:
        ValueError: the kept file is damaged.
    """
    origin = measured_here(shared)
    lines = []
    for _, row in rows.iterrows():
        head = {"table": TABLE, "budget": FOLDER, "method": row["solver"], "setting": row["family"]}
        tail = {"std": "", "n": str(row["runs"]), "pairs": "", **origin, "source": row["source"]}
        for column, name in FIGURES.items():
            if pd.notna(row[name]):
                lines.append({**head, "column": column, "value": f"{row[name]:g}", **tail})
    return keep(lines, (root or measured_root()) / FOLDER / f"{TABLE}.csv", ("method", "setting"))


def solver_figures(root: Path | None = None) -> pd.DataFrame:
    """What the live peers reached here, then what was typed in of those that cannot be installed.

    Returns:
        The columns of `bbgm.published.SOLVER_COLUMNS`, one row per family and solver.
    """
    kept = read_measured(f"{FOLDER}/{TABLE}", root)
    rows = []
    for (family, solver), lines in kept.groupby(["setting", "method"], sort=False):
        figures = lines.set_index("column")["value"]
        row = {name: figures.get(column) for column, name in FIGURES.items()}
        rows.append({"family": family, "solver": solver, "runs": lines["n"].iloc[0], **row})
        rows[-1]["source"] = lines["source"].iloc[0]
    live = pd.DataFrame(rows).reindex(columns=list(published.SOLVER_COLUMNS)).astype(published.SOLVER_COLUMNS)
    return pd.concat([live, published.load_solvers()], ignore_index=True)
