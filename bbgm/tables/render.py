"""A finished table, as data, CSV, LaTeX, HTML and plain text. The same table always gives the same bytes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from math import isfinite

import pandas as pd


@dataclass(frozen=True, eq=False)
class Table:
    """One table at one budget.

    Attributes:
        name: the paper's label.
        title: what the numbers are, with the budget.
        columns: names of the number columns, the summary last.
        frame: ``table, budget, method, setting, row, <columns>, n, pairs``; for each method the rows ``obtained``,
            ``std`` (ddof=1), and where the paper has such a row ``published``, ``published std`` and ``difference``.
        notes: how the numbers were made, and what to keep in mind.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    frame: pd.DataFrame
    notes: tuple[str, ...]

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

    def shown(self) -> pd.DataFrame:
        """What a reader sees: text cells, ``mean ± deviation`` in one, the budget only in the title."""
        return pd.DataFrame(list(self._shown()), columns=["method", "setting", "", *self.columns, "n", "pairs"])

    def _shown(self) -> Iterator[list[str]]:
        for (method, setting), group in self.frame.groupby(["method", "setting"], sort=False):
            rows = group.set_index("row")
            for name, deviation in (("obtained", "std"), ("published", "published std"), ("difference", "")):
                if name not in rows.index:
                    continue
                head = [method, setting.replace(";", ", ")] if name == "obtained" else ["", ""]
                stds = rows.loc[deviation] if deviation in rows.index else pd.Series(dtype=float)
                cells = [
                    _cell(rows.loc[name, column], stds.get(column), signed=name == "difference")
                    for column in self.columns
                ]
                counts = ["" if pd.isna(rows.loc[name, key]) else str(rows.loc[name, key]) for key in ("n", "pairs")]
                yield [*head, name, *cells, *counts]

    def to_csv(self) -> str:
        """The whole frame, numbers with two decimals."""
        return str(self.frame.to_csv(index=False, float_format="%.2f", lineterminator="\n"))

    def to_latex(self) -> str:
        r"""A ``table`` for a document with ``\usepackage{booktabs}``; the notes stand in the caption."""
        shown = self.shown()
        numbers = "r" * (len(self.columns) + 2)
        lines = [
            "% made by bbgm; needs \\usepackage{booktabs}",
            "\\begin{table}",
            "\\centering",
            "\\footnotesize",
            f"\\caption{{{_tex(f'{self.title}. ' + ' '.join(self.notes))}}}",
            f"\\label{{tab:{self.name}-{self.frame['budget'].iloc[0]}}}",
            f"\\begin{{tabular}}{{lll{numbers}}}",
            "\\toprule",
            " & ".join(_tex(name) for name in shown.columns) + r" \\",
        ]
        for row in shown.itertuples(index=False):
            if row[0]:
                lines.append("\\midrule")
            lines.append(" & ".join(_tex(cell) for cell in row) + r" \\")
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table}", ""])

    def to_html(self) -> str:
        """For a notebook: title above, notes below, the published rows dimmed; no colours, so it fits any theme."""
        shown = self.shown()
        lines = [
            '<table style="border-collapse: collapse; font-variant-numeric: tabular-nums">',
            f'<caption style="caption-side: top; text-align: left; font-weight: bold">{escape(self.title)}</caption>',
            "<thead><tr>" + "".join(_tag("th", name, k < 3) for k, name in enumerate(shown.columns)) + "</tr></thead>",
            "<tbody>",
        ]
        for row in shown.itertuples(index=False):
            style = "border-top: 1px solid" if row[0] else "opacity: 0.65"
            lines.append(
                f'<tr style="{style}">' + "".join(_tag("td", cell, k < 3) for k, cell in enumerate(row)) + "</tr>"
            )
        notes = "<br>".join(escape(note) for note in self.notes)
        return "\n".join([*lines, "</tbody>", "</table>", f'<p style="font-size: 85%">{notes}</p>'])

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


def _tag(tag: str, cell: str, text: bool) -> str:
    return f'<{tag} style="text-align: {"left" if text else "right"}">{escape(cell)}</{tag}>'


def _tex(text: str) -> str:
    for plain, command in (("\\", r"\textbackslash "), *((c, "\\" + c) for c in "&%$#_{}")):
        text = text.replace(plain, command)
    # Typographic signs: plus-minus, and a minus sign that is one.
    text = text.replace("±", r"$\pm$").replace("*", "$^*$")
    return re.sub(r"^[+-]\d[\d.]*", r"$\g<0>$", text)
