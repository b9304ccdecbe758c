"""The paper's printed numbers: 499 of them, one per row, in one CSV file per table.

Columns of the files (and of the frames returned here):

- ``table``: the paper's own label, one of ``TABLES``.
- ``method``: the row's name as printed (``BB-GM``, ``DGMC*``, ``BB-GM-Max``; in ``PascalVOCAblation`` the ablation).
- ``setting``: what distinguishes rows of one method. ``Willow``: what was trained on, ``Pt=yes;Wt=no`` (Pascal VOC,
  Willow); everywhere else the keypoint filter, ``filter=intersection``, ``inclusion`` or ``unfiltered`` (paper Sec. 4).
- ``column``: class name, ``mean`` over the classes, or the viewpoint difficulty ``easy``, ``medium``, ``hard``, ``all``
  in ``Spair``. The paper prints no mean for Willow.
- ``value``: per cent. Accuracy; F1 in ``PascalVOCunfiltered``, where the row ``Unmatched (%)`` is "the percentage of
  unmatched keypoints in the test-set pairs" (two readings of it: :func:`bbgm.scoring.metrics.unmatched_percent`).
- ``std``, ``n``: deviation over, and number of, restarts, empty where the paper gives none.
- ``source``: the paper's table, and from whom the paper quotes the row.

Numbers of later papers follow other protocols. They are in ``later/``, with the protocol named in ``source``.

What solvers reach on instances of graph matching that cannot be installed here is in ``solvers/peers.csv`` (printed
nowhere else), which begins with a comment that says how it was measured. ``bbgm bench peers`` measures the others.

Imports nothing else of `bbgm`.
"""

from decimal import ROUND_HALF_UP, Decimal
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

import pandas as pd

TABLES = (
    "PascalVOCSampling",
    "PascalVOCBig",
    "PascalVOCunfiltered",
    "Willow",
    "Spair",
    "Spair-classes",
    "PascalVOCAblation",
)


KEY = ["table", "method", "setting"]

#: Columns of ``solvers/*.csv``, one row per family and solver, and their types.
SOLVER_COLUMNS = {
    "family": "object",
    "solver": "object",
    "gap_percent": "float64",
    "gap_percent_to": "float64",
    "hits": "Int64",
    "runs": "Int64",
    "proofs": "Int64",
    "ms": "float64",
    "ms_to": "float64",
    "note": "object",
    "source": "object",
}


def is_quoted(numbers: pd.DataFrame) -> "pd.Series[bool]":
    """Which rows the paper did not obtain itself but quotes from others."""
    return numbers["source"].str.contains("quoted from")


def _read(file: Traversable) -> pd.DataFrame:
    """One file, every cell as the text that is printed."""
    with as_file(file) as path:
        return pd.read_csv(path, dtype=str, keep_default_na=False)


def _printed(table: str | None) -> pd.DataFrame:
    if table is not None and table not in TABLES:
        raise ValueError(f"table {table!r} is not one of {list(TABLES)} (the paper's labels)")
    folder = files(__name__)
    return pd.concat([_read(folder / f"{name}.csv") for name in TABLES if table in (None, name)], ignore_index=True)


def _numeric(frame: pd.DataFrame) -> pd.DataFrame:
    types = {"value": "float64", "std": "float64", "n": "Int64"}
    return frame.assign(**{name: pd.to_numeric(frame[name]).astype(dtype) for name, dtype in types.items()})


def load(table: str | None = None) -> pd.DataFrame:
    """The paper's numbers, of one table or of all seven (499 rows), in the printed order.

    Raises:
        ValueError: ``table`` is not one of ``TABLES``.
    """
    return _numeric(_printed(table))


def load_later() -> pd.DataFrame:
    """Numbers of later papers for the same data sets, under protocols of their own (named in ``source``)."""
    later = sorted((file for file in (files(__name__) / "later").iterdir() if file.name.endswith(".csv")), key=str)
    return _numeric(pd.concat([_read(file) for file in later], ignore_index=True))


def read_solvers(path: Path) -> pd.DataFrame:
    """One file of ``solvers/``, or of the same columns: what a solver reached on each family of instances.

    ``gap_percent``: mean gap to the best known value; ``hits``: of ``runs``, those that reach it; ``proofs``: those
    with a proof of optimality; ``ms``: mean time per instance. ``..._to`` is the upper end, where only a range is
    known.

    Raises:
        ValueError: no such table; names the file.
    """
    try:
        frame = pd.read_csv(path, comment="#", keep_default_na=False, na_values=[""])
    except ValueError as error:
        raise ValueError(f"{path} is not a table of solvers: {error}") from error
    if list(frame.columns) != list(SOLVER_COLUMNS):
        raise ValueError(f"{path} has the columns {list(frame.columns)}, expected {list(SOLVER_COLUMNS)}")
    return frame.astype(SOLVER_COLUMNS)


def load_solvers() -> pd.DataFrame:
    """Figures of solvers that cannot be installed here, with the columns of :func:`read_solvers`."""
    with as_file(files(__name__) / "solvers" / "peers.csv") as path:
        return read_solvers(path)


def _verdict(classes: Decimal, printed: Decimal) -> str:
    tenth = Decimal("0.1")
    if classes.quantize(tenth, ROUND_HALF_UP) == printed:
        return "agrees"
    # Entries and mean are each rounded to 0.1, so up to 0.05 + 0.05 can come from rounding.
    gap = abs(classes - printed)
    return "possible" if gap < tenth else "edge of the possible" if gap == tenth else "impossible"


def check_means() -> pd.DataFrame:
    """Every printed mean beside the mean of its class entries, in exact decimal arithmetic.

    Returns:
        One row per printed mean: ``table, method, setting, printed, recomputed`` (both ``Decimal``) and ``verdict``:
        ``agrees`` (equal when rounded half up), else ``possible``, ``edge of the possible`` or ``impossible``, given
        that the paper rounded every class entry and the mean to 0.1.
    """
    rows = []
    for key, row in _printed(None).groupby(KEY, sort=False):
        mean = row.loc[row["column"] == "mean", "value"]
        if mean.empty:
            continue
        entries = [Decimal(value) for value in row.loc[row["column"] != "mean", "value"]]
        recomputed = sum(entries, Decimal(0)) / len(entries)
        printed = Decimal(mean.item())
        rows.append((*key, printed, recomputed, _verdict(recomputed, printed)))
    return pd.DataFrame(rows, columns=[*KEY, "printed", "recomputed", "verdict"])
