"""The rows of a table before they are written down: whose runs, under which name, beside which printed row."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bbgm import published
from bbgm.runs.counts import PairCounts, read_counts
from bbgm.runs.results import RunRecord
from bbgm.scoring.metrics import MEASURES
from bbgm.tables.columns import Cells, class_cells, column_scores, viewpoint_cells
from bbgm.tables.specs import Row, TableSpec


@dataclass(frozen=True, eq=False)
class Line:
    """One row of a table.

    Attributes:
        spec, row: what it shows.
        runs: of one method, by seed; empty where the paper quotes others.
        name, setting: as they are shown.
        paper: the printed row, indexed by column: ``value, std, n``; empty: there is none to compare with.
        place: of the row among those that the paper prints.
    """

    spec: TableSpec
    row: Row
    runs: Sequence[RunRecord]
    name: str
    setting: str
    paper: pd.DataFrame
    place: int

    @cached_property
    def counts(self) -> list[PairCounts]:
        """Of each run."""
        counts = [read_counts(run, self.row.which, self.row.joint) for run in self.runs]
        for run, other in zip(self.runs, counts, strict=True):
            if other.identity != counts[0].identity:
                raise ValueError(
                    f"cannot average {self.runs[0].folder} and {run.folder}: their test pairs differ; "
                    "delete the one that is out of date, and repeat it with 'bbgm train'"
                )
        return counts

    @cached_property
    def cells(self) -> Cells:
        """What each column is the mean of."""
        make = class_cells if self.spec.by == "class" else viewpoint_cells
        return make(self.counts[0], self.spec.columns, self.spec.summary)

    @cached_property
    def scores(self) -> np.ndarray:
        """(runs, columns), %."""
        measure = MEASURES[self.row.measure]
        return np.array([column_scores(pairs, self.cells, measure) for pairs in self.counts])

    @property
    def group(self) -> tuple[str, str, str]:
        """Lines of one group are compared with each other: same filter, setting and pairs."""
        return self.runs[0].config.protocol.filter, self.setting, self.row.which

    @property
    def sort_key(self) -> tuple[int, int, str, str]:
        """The paper's order, then what it does not have."""
        return ["test", "first", "all"].index(self.row.which), self.place, self.name, self.setting


def make_lines(spec: TableSpec, groups: Sequence[Sequence[RunRecord]], printed: pd.DataFrame) -> list[Line]:
    """All rows of a table, in its order.

    Args:
        groups: runs by method.
        printed: the paper's numbers, see `bbgm.published.load`.

    Raises:
        ValueError: two methods have the same name.
    """
    lines = [
        _line(spec, row, group, printed)
        for group in groups
        for row in spec.rows
        if (not row.methods or group[0].config.method in row.methods)
        and (row.which == "test" or "sets" in group[0].metrics)
    ]
    _check_names(lines)
    return sorted([*lines, *_quoted(spec, printed, lines)], key=lambda line: line.sort_key)


def _check_names(lines: Sequence[Line]) -> None:
    owners: dict[tuple[str, str], str] = {}
    for line in lines:
        method = line.runs[0].config.method
        if (owner := owners.setdefault((line.name, line.setting), method)) != method:
            raise ValueError(
                f"{line.name!r} ({line.setting}) is the name of both {owner} and {method}: give one of them another "
                f"title or setting in config/experiments, and repeat its runs with 'bbgm train'"
            )


def _line(spec: TableSpec, row: Row, runs: Sequence[RunRecord], printed: pd.DataFrame) -> Line:
    config = runs[0].config
    title, setting = spec.title_of(config), row.setting_of(config)
    same = printed["setting"].isin([setting, f"filter={config.protocol.filter}"])
    name = spec.printed_as.get(title, title)
    of_place = printed["method"] == (row.published or row.title).format(name)
    of_paper = same & (printed["method"] == row.published.format(name))
    place = int(np.argmax(same & of_place)) if (same & of_place).any() else len(printed)
    return Line(spec, row, runs, row.title.format(title), setting, printed[of_paper].set_index("column"), place)


def printed_beside(lines: Sequence[Line]) -> set[tuple[str, str]]:
    """Method and setting of the paper's rows that stand beside some lines."""
    return {key for line in lines for key in line.paper[["method", "setting"]].itertuples(index=False, name=None)}


def _quoted(spec: TableSpec, printed: pd.DataFrame, lines: Sequence[Line]) -> list[Line]:
    """The rows that the paper did not run itself but quotes, without those that stand beside runs of ours."""
    if spec.elsewhere:
        return []
    keys = pd.Series(list(zip(printed["method"], printed["setting"], strict=True)), index=printed.index)
    quoted = printed[published.is_quoted(printed) & ~keys.isin(printed_beside(lines))]
    return [
        Line(spec, Row(), (), method, setting, rows.set_index("column"), int(rows.index[0]))
        for (method, setting), rows in quoted.groupby(["method", "setting"], sort=False)
    ]
