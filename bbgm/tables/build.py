"""From runs to a table: means and deviations over the seeds, beside what the paper printed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bbgm import paths, published
from bbgm.config import RunConfig
from bbgm.results import RunRecord, write_text
from bbgm.tables.render import Table
from bbgm.tables.runs import find_runs
from bbgm.tables.specs import SPECS, Row, TableSpec

NAN = float("nan")


def make_table(
    table: str,
    budget: str,
    results_root: Path | None = None,
    *,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> Table:
    """Rebuild one of the paper's tables from the finished runs of one budget.

    For each method: the mean over the runs, their standard deviation (ddof=1), the published row of the same method
    and setting, and obtained minus published, in per cent and points. On demo data only the published summary is shown,
    since the images are others.

    Args:
        table: a key of ``SPECS``.
        budget: name of the folder below ``results_root``.
        results_root: default :func:`bbgm.paths.results_root`.
        methods, seeds: use only these runs; default all that are there.

    Raises:
        ValueError: no such table, no runs, or runs that must not be mixed.
    """
    if table not in SPECS:
        raise ValueError(f"table {table!r} is not one of {sorted(SPECS)}")
    spec = SPECS[table]
    groups = list(find_runs(spec, budget, results_root or paths.results_root(), methods, seeds).values())
    demo = groups[0][0].config.data.source == "demo"
    classes = [name for name in spec.rows[0].scores(groups[0][0]) if name != spec.summary]
    ordered = sorted(classes, key=lambda name: (list(spec.columns) + classes).index(name))  # the paper's order
    columns = {name: spec.columns.get(name, name.lower()) for name in ordered} | {spec.summary: spec.summary}

    printed = published.load(spec.published)
    rows: list[dict[str, Any]] = []
    for group in sorted(groups, key=lambda group: _place(spec.rows[0], group[0], printed)):
        for row in spec.rows:
            rows += _rows(spec, row, group, columns, printed, demo)
    frame = pd.DataFrame(rows, columns=["method", "setting", "row", *columns.values(), "n", "pairs"])
    frame = frame.astype({"n": "Int64", "pairs": "Int64"})
    frame.insert(0, "budget", budget)
    frame.insert(0, "table", spec.label)
    data = " (rendered demo data)" if demo else ""
    return Table(
        name=spec.label,
        title=f"{spec.title}{data}, budget {budget}",
        columns=tuple(columns.values()),
        frame=frame,
        notes=tuple(_notes(spec, groups, printed, demo)),
    )


def write_table(table: Table, results_root: Path | None = None) -> tuple[Path, Path]:
    """Write a table as ``results/<budget>/tables/<table>.csv`` and ``.tex``.

    Returns:
        Paths of the two files.
    """
    label, budget = table.frame[["table", "budget"]].iloc[0]
    folder = (results_root or paths.results_root()) / budget / "tables"
    csv, tex = folder / f"{label}.csv", folder / f"{label}.tex"
    write_text(csv, table.to_csv())
    write_text(tex, table.to_latex())
    return csv, tex


def _same(row: Row, run: RunRecord, printed: pd.DataFrame) -> "pd.Series[bool]":
    """Which of the paper's entries are of the row's title and setting."""
    return (printed["method"] == row.title(run.config.title)) & (printed["setting"] == row.published_setting(run))


def _place(row: Row, run: RunRecord, printed: pd.DataFrame) -> tuple[int, str, str]:
    """Sort key: the paper's rows in its order, then those that it does not have."""
    same = _same(row, run, printed)
    first = int(np.argmax(same)) if same.any() else len(printed)
    return first, run.config.title, run.config.setting


def _rows(
    spec: TableSpec, row: Row, group: Sequence[RunRecord], columns: dict[str, str], printed: pd.DataFrame, demo: bool
) -> list[dict[str, Any]]:
    """Up to five lines of one row."""
    name = {"method": row.title(group[0].config.title), "setting": row.shown_setting(group[0])}
    scores = pd.DataFrame([row.scores(run) for run in group])[list(columns)].rename(columns=columns)
    counts = {"n": len(group), "pairs": row.pairs(group[0])}
    rows = [
        {**name, "row": "obtained", **scores.mean(), **counts},
        {**name, "row": "std", **scores.std(ddof=1), **counts},
    ]
    paper = printed[_same(row, group[0], printed)].set_index("column")
    if paper.empty:
        return rows
    n = paper["n"].max()
    values = {} if demo else {column: paper["value"].get(column, NAN) for column in scores}
    values[spec.summary] = _published_summary(spec, paper, demo, list(scores))
    std = {} if demo else {column: paper["std"].get(column, NAN) for column in scores}
    rows.append({**name, "row": "published", **values, "n": n})
    if any(np.isfinite(value) for value in std.values()):
        rows.append({**name, "row": "published std", **std, "n": n})
    rows.append({**name, "row": "difference", **{key: scores[key].mean() - value for key, value in values.items()}})
    return rows


def _published_summary(spec: TableSpec, paper: pd.DataFrame, demo: bool, columns: list[str]) -> float:
    """The printed summary; the mean of the printed entries where there is none, or where a run has fewer classes."""
    entries = paper["value"].drop(spec.summary, errors="ignore")
    used = entries if demo else entries[[column for column in columns if column in entries]]
    complete = len(used) == len(entries)
    return float(paper["value"][spec.summary] if complete and spec.summary in paper.index else used.mean())


def _notes(spec: TableSpec, groups: Sequence[Sequence[RunRecord]], printed: pd.DataFrame, demo: bool) -> list[str]:
    run = groups[0][0]
    n_pairs = run.config.protocol.test_pairs_per_class or "all that the data set lists of"
    per_class = f", {n_pairs} a class" if spec.rows == (Row(),) else ""
    training: dict[str, list[str]] = {}
    for group in groups:
        training.setdefault(describe_training(group[0].config), []).append(group[0].config.title)
    notes = [f"{' and '.join(titles)}: {text}." for text, titles in training.items()]
    notes.append(
        f"n: runs with different seeds; ±: their standard deviation (ddof=1); pairs: test pairs of one run{per_class}."
    )
    notes += spec.notes
    if hidden := run.config.data.hidden_keypoints:
        notes.append(
            f"{100 * hidden:.0f} % of the keypoints were left out at random, for the data annotate all of them."
        )
    if spec.summary not in set(printed["column"]):
        notes.append(f"The paper prints no mean for {spec.published}: the published mean is that of its class entries.")
    if demo:
        notes.append(
            "The demo data are rendered objects, not the paper's photographs: its row is there for orientation, "
            "and the difference says nothing about the reproduction."
        )
    return notes


def describe_training(config: RunConfig) -> str:
    """How a run was trained, in one phrase."""
    network, optimiser = config.network, config.optimiser
    if optimiser.epochs == 0:
        return f"untrained ({network.backbone} backbone)"
    backbone = f"{network.backbone} backbone{' frozen' if network.freeze_backbone else ''}"
    iterations = optimiser.epochs * optimiser.iterations_per_epoch
    return f"{iterations} iterations of {optimiser.batch_size} pairs, {backbone}"
