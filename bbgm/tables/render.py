"""A finished table, as data, CSV, HTML and plain text. The same table always gives the same bytes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from math import isfinite

import pandas as pd

MANY = 8
"""With more columns a deviation is shown for the summary only, as in the paper; the CSV file has all."""


@dataclass(frozen=True)
class ShownRow:
    """One row as a reader sees it: texts, and which of them are bold."""

    cells: tuple[str, ...]
    bold: tuple[bool, ...]
    first: bool  # of a method


@dataclass(frozen=True, eq=False)
class Table:
    """One table at one budget.

    Attributes:
        name: the paper's label.
        title: what the numbers are, with the budget.
        columns: names of the number columns, the summary last.
        frame: ``table, budget, method, setting, row, <columns>, n, pairs``; for each method the rows ``obtained``,
            ``std`` (over the runs, ddof=1), ``pairs std`` (over resampled test pairs), and where the paper has such a
            row ``published``, ``published std`` and ``difference``. Rows that the paper quotes are ``published`` only.
            Where ``published`` is of other images than ours, there is no ``difference``; of another data set it has the
            summary only.
        notes: how the numbers were made, and what to keep in mind.
        comparisons: rows with each other, see `bbgm.tables.compare`.
        best: (method, setting, column) of what is bold.
        elsewhere: of which other images the published numbers are; empty: of the same.
        runs: ``method, setting, seed, <columns>``: the score of each run, %, of which ``obtained`` is the mean.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    frame: pd.DataFrame
    notes: tuple[str, ...]
    comparisons: pd.DataFrame = field(default_factory=pd.DataFrame)
    best: frozenset[tuple[str, str, str]] = frozenset()
    elsewhere: str = ""
    runs: pd.DataFrame = field(default_factory=pd.DataFrame)

    def value(self, method: str, column: str, row: str = "obtained", setting: str | None = None) -> float:
        """One number, e.g. ``table.value("BB-GM", "mean")``.

        Raises:
            ValueError: no such row or column, or several settings of the method and none given.
        """
        frame = self.frame[(self.frame["method"] == method) & (self.frame["row"] == row)]
        if setting is not None:
            frame = frame[frame["setting"] == setting]
        if len(frame) != 1 or column not in self.columns:
            have = self.frame[["method", "setting", "row"]].agg(" / ".join, axis=1).tolist()
            raise ValueError(
                f"{method} / {setting or 'any setting'} / {row} gives {len(frame)} rows of column {column!r}; "
                f"rows are {have}, columns {list(self.columns)}"
            )
        return float(frame[column].item())

    @property
    def head(self) -> tuple[str, ...]:
        """Names of the shown columns."""
        return ("method", "setting", "", *self.columns, "n", "pairs")

    def shown(self) -> pd.DataFrame:
        """What a reader sees: text cells, ``mean ± deviation`` in one, the budget only in the title."""
        return pd.DataFrame([row.cells for row in self.shown_rows()], columns=list(self.head))

    def shown_rows(self) -> Iterator[ShownRow]:
        """The same, with what is bold."""
        for (method, setting), group in self.frame.groupby(["method", "setting"], sort=False):
            rows = group.set_index("row")
            first = True
            for name, deviation in (("obtained", "std"), ("published", "published std"), ("difference", "")):
                if name not in rows.index:
                    continue
                stds = rows.loc[deviation] if deviation in rows.index else pd.Series(dtype=float)
                if len(self.columns) > MANY:
                    stds = stds.reindex([self.columns[-1]])
                cells = [
                    _cell(rows.loc[name, column], stds.get(column), signed=name == "difference")
                    for column in self.columns
                ]
                counts = ["" if pd.isna(rows.loc[name, key]) else str(rows.loc[name, key]) for key in ("n", "pairs")]
                head = [method, setting.replace(";", ", ")] if first else ["", ""]
                bold = [name == "obtained" and (method, setting, column) in self.best for column in self.columns]
                label = f"published ({self.elsewhere})" if name == "published" and self.elsewhere else name
                yield ShownRow((*head, label, *cells, *counts), (False, False, False, *bold, False, False), first)
                first = False

    def to_csv(self) -> str:
        """The whole frame, numbers with two decimals."""
        return str(self.frame.to_csv(index=False, float_format="%.2f", lineterminator="\n"))

    def comparisons_csv(self) -> str:
        """The comparisons, numbers with two decimals."""
        return str(self.comparisons.to_csv(index=False, float_format="%.2f", lineterminator="\n"))

    def to_latex(self) -> str:
        r"""A ``table`` for a LaTeX document, see `bbgm.tables.latex`."""
        from bbgm.tables.latex import to_latex

        return to_latex(self)

    def to_html(self) -> str:
        """For a notebook: title above, notes below, the published rows dimmed; no colours, so it fits any theme."""
        lines = [
            '<div style="overflow-x: auto">',
            '<table style="border-collapse: collapse; font-size: 92%; font-variant-numeric: tabular-nums">',
            f'<caption style="caption-side: top; text-align: left; font-weight: bold">{escape(self.title)}</caption>',
            "<thead><tr>"
            + "".join(_tag("th", name, k < 3, False) for k, name in enumerate(self.head))
            + "</tr></thead>",
            "<tbody>",
        ]
        for row in self.shown_rows():
            styles = ("border-top: 1px solid" * row.first, "opacity: 0.65" * (row.cells[2] != "obtained"))
            style = "; ".join(filter(None, styles))
            cells = zip(row.cells, row.bold, strict=True)
            lines.append(
                f'<tr style="{style}">'
                + "".join(_tag("td", cell, k < 3, bold) for k, (cell, bold) in enumerate(cells))
                + "</tr>"
            )
        notes = "<br>".join(escape(note) for note in self.notes)
        return "\n".join([*lines, "</tbody>", "</table>", "</div>", f'<p style="font-size: 85%">{notes}</p>'])

    def to_page(self) -> str:
        """A separate page, for the report."""
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(self.name)}</title>\n'
            '<body style="font-family: sans-serif; font-size: 14px; background: white; color: black">\n'
            f"{self.to_html()}\n</body>\n</html>\n"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return "\n".join([self.title, "", self.shown().to_string(index=False), "", *self.notes])

    __repr__ = __str__


def _cell(value: float, deviation: float | None, signed: bool) -> str:
    if not isfinite(value):
        return ""
    rounded = round(value, 1) + 0.0  # no "-0.0"
    text = f"{rounded:+.1f}" if signed and rounded else f"{rounded:.1f}"
    return f"{text} ± {deviation:.1f}" if deviation is not None and isfinite(deviation) else text


def _tag(tag: str, cell: str, text: bool, bold: bool) -> str:
    content = f"<b>{escape(cell)}</b>" if bold else escape(cell)
    align = "left" if text else "right"
    return f'<{tag} style="text-align: {align}; white-space: nowrap; padding: 0.1em 0.35em">{content}</{tag}>'
