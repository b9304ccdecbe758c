"""From runs to a table: means and deviations over the seeds, beside what the paper printed."""

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bbgm import published
from bbgm.base import paths
from bbgm.base.atomic import write_text
from bbgm.scoring.metrics import MEASURES
from bbgm.tables.bootstrap import resampled_scores
from bbgm.tables.compare import COLUMNS, best_rows, compare_rows
from bbgm.tables.lines import Line, make_lines
from bbgm.tables.notes import make_notes
from bbgm.tables.render import Table
from bbgm.tables.runs import find_runs
from bbgm.tables.specs import SPECS, TableSpec

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
    and setting, and obtained minus published, in per cent and points; the rows that the paper quotes from others; and
    which differences between our rows are real (`bbgm.tables.compare`). Where the published numbers are of other
    images, there is no difference: of photographs of the same classes, as always on demo data, they are shown beside
    ours, of another data set only their summary.

    Args:
        table: a key of ``SPECS``.
        budget: name of the folder below ``results_root``.
        results_root: default :func:`bbgm.base.paths.results_root`.
        methods, seeds: use only these runs; default all that the table shows.

    Raises:
        ValueError: no such table, no runs, or runs that must not be mixed.
    """
    if table not in SPECS:
        raise ValueError(f"table {table!r} is not one of {list(SPECS)}")
    spec = SPECS[table]
    groups = list(find_runs(spec, budget, results_root or paths.results_root(), methods, seeds).values())
    demo = groups[0][0].config.data.source == "demo"
    elsewhere = "photographs" if demo else spec.elsewhere
    printed = published.load(spec.published)
    lines = make_lines(spec, groups, printed)
    columns = list(next(line for line in lines if line.runs).cells)

    comparisons, deviations, best = _chances(lines)
    rows = [row for line in lines for row in _rows(line, columns, deviations.get(line, {}), compared=not elsewhere)]
    frame = pd.DataFrame(rows, columns=["method", "setting", "row", *columns, "n", "pairs"])
    frame = frame.astype({"n": "Int64", "pairs": "Int64"})
    for one in (frame, comparisons):
        one.insert(0, "budget", budget)
        one.insert(0, "table", spec.label)
    data = " (rendered demo data)" if demo else ""
    return Table(
        name=spec.label,
        title=f"{spec.title}{data}, budget {budget}",
        columns=tuple(columns),
        frame=frame,
        notes=tuple(make_notes(spec, groups, lines, printed, bool(best))),
        comparisons=comparisons,
        best=best,
        elsewhere=elsewhere,
        runs=_each_run(lines, columns),
    )


def write_table(table: Table, results_root: Path | None = None) -> tuple[Path, ...]:
    """Write a table as ``results/<budget>/tables/<table>.csv``, ``.tex``, ``.html`` and ``.comparisons.csv``.

    Returns:
        Paths of the files.
    """
    label, budget = table.frame[["table", "budget"]].iloc[0]
    folder = (results_root or paths.results_root()) / budget / "tables"
    contents = {
        folder / f"{label}.csv": table.to_csv(),
        folder / f"{label}.tex": table.to_latex(),
        folder / f"{label}.html": table.to_page(),
        folder / f"{label}.comparisons.csv": table.comparisons_csv(),
    }
    for path, content in contents.items():
        write_text(path, content)
    return tuple(contents)


def _chances(
    lines: Sequence[Line],
) -> tuple[pd.DataFrame, dict[Line, dict[str, float]], frozenset[tuple[str, str, str]]]:
    """How much the rows depend on chance, group by group.

    Returns:
        The comparisons; each row's standard deviation over resampled test pairs, by column; and (method, setting,
        column) of the best rows, where there is more than one to choose from.
    """
    comparisons = [pd.DataFrame(columns=list(COLUMNS))]
    deviations: dict[Line, dict[str, float]] = {}
    best: set[tuple[str, str, str]] = set()
    scored = sorted((line for line in lines if line.runs and line.row.scored), key=lambda line: line.group)
    for (_, setting, _), group in groupby(scored, key=lambda line: line.group):
        members = list(group)
        first = members[0]
        for line in members:
            if line.counts[0].identity != first.counts[0].identity:
                raise ValueError(
                    f"cannot compare {first.runs[0].folder} and {line.runs[0].folder}: their test pairs differ; "
                    "delete the one that is out of date, and repeat it with 'bbgm train'"
                )
        names, columns = [line.name for line in members], list(first.cells)
        resampled = resampled_scores([line.counts for line in members], first.cells, MEASURES[first.row.measure])
        for line, deviation in zip(members, np.nanstd(resampled, axis=0), strict=True):
            deviations[line] = dict(zip(columns, deviation, strict=True))
        scores = [line.scores for line in members]
        networks = [[run.folder for run in line.runs] for line in members]
        comparisons.append(compare_rows(names, setting, columns, scores, resampled, networks))
        chosen = best_rows(names, columns, scores, comparisons[-1]).stack()
        best |= {(name, setting, column) for name, column in chosen.index[chosen]}
    kept = [frame for frame in comparisons if len(frame)] or comparisons[:1]
    return pd.concat(kept, ignore_index=True), deviations, frozenset(best)


def _each_run(lines: Sequence[Line], columns: Sequence[str]) -> pd.DataFrame:
    """One row per run: ``method, setting, seed, <columns>``."""
    scores = [
        {
            "method": line.name,
            "setting": line.setting,
            "seed": run.config.seed,
            **dict(zip(line.cells, values, strict=True)),
        }
        for line in lines
        if line.runs
        for run, values in zip(line.runs, line.scores, strict=True)
    ]
    return pd.DataFrame(scores, columns=["method", "setting", "seed", *columns])


def _rows(
    line: Line, columns: Sequence[str], deviation: Mapping[str, float], *, compared: bool
) -> list[dict[str, Any]]:
    """Up to six rows of the frame; ``compared``: with the difference to what is published."""
    name = {"method": line.name, "setting": line.setting}
    rows: list[dict[str, Any]] = []
    means: dict[str, float] = {}
    if line.runs:
        counts = {"n": len(line.runs), "pairs": line.counts[0].n_pairs}
        means = dict(zip(line.cells, line.scores.mean(axis=0), strict=True))
        between = line.scores.std(axis=0, ddof=1) if len(line.runs) > 1 else np.full(len(means), NAN)
        rows += [
            {**name, "row": "obtained", **means, **counts},
            {**name, "row": "std", **dict(zip(line.cells, between, strict=True)), **counts},
        ]
        if deviation:
            rows.append({**name, "row": "pairs std", **deviation, **counts})
    paper = line.paper
    if paper.empty:
        return rows
    n, summary, other_classes = paper["n"].max(), line.spec.summary, bool(line.spec.elsewhere)
    values = {} if other_classes else {column: paper["value"].get(column, NAN) for column in columns}
    values[summary] = published_summary(line.spec, paper, columns, other_classes)
    std = {} if other_classes else {column: paper["std"].get(column, NAN) for column in columns}
    rows.append({**name, "row": "published", **values, "n": n})
    if any(np.isfinite(value) for value in std.values()):
        rows.append({**name, "row": "published std", **std, "n": n})
    if means and compared:
        rows.append(
            {**name, "row": "difference", **{key: means.get(key, NAN) - value for key, value in values.items()}}
        )
    return rows


def published_summary(spec: TableSpec, paper: pd.DataFrame, columns: Collection[str], elsewhere: bool = False) -> float:
    """The printed summary; the mean of the printed entries where there is none, or where a run has fewer classes.

    Args:
        paper: a printed row, indexed by column.
        columns: of the runs.
        elsewhere: the runs are of another data set: all printed entries count.
    """
    entries = paper["value"].drop(spec.summary, errors="ignore")
    used = entries if elsewhere else entries[[column for column in columns if column in entries]]
    complete = spec.by == "viewpoint" or len(used) == len(entries)
    return float(paper["value"][spec.summary] if complete and spec.summary in paper.index else used.mean())
