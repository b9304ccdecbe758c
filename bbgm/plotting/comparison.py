"""A table as a figure: what the runs obtained beside what the paper printed."""

from typing import TYPE_CHECKING

import numpy as np

from bbgm.plotting.style import WIDTH, new_figure, styled
from bbgm.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "osD^v<>p"


@styled
def plot_table_comparison(table: Table, *, width: float = WIDTH) -> "Figure":
    """One group of marks a column: filled = obtained, hollow = published, bars = standard deviation over the runs."""
    rows = [group.set_index("row") for _, group in table.frame.groupby(["method", "setting"], sort=False)]
    slots = sum(1 + ("published" in row.index) for row in rows)
    figure = new_figure(0.5 * width, width)
    ax = figure.subplots()
    places = np.arange(len(table.columns), dtype=float)
    many = len(table.columns) > 8
    elsewhere = " (other pictures)" if "demo data" in table.title else ""
    offsets = iter((np.arange(slots) - (slots - 1) / 2) * min(0.16, 0.7 / max(slots, 1)))
    for k, row in enumerate(rows):
        name, setting = row[["method", "setting"]].iloc[0]
        if sum(other["method"].iloc[0] == name for other in rows) > 1:
            name = f"{name}, {setting.replace(';', ' ')}"
        label = f"{name}, n = {row.loc['obtained', 'n']}"
        for kind, deviation, face in (("obtained", "std", f"C{k}"), ("published", "published std", "white")):
            if kind not in row.index:
                continue
            values = row.loc[kind, list(table.columns)].astype(float)
            bars = row.loc[deviation, list(table.columns)].astype(float).fillna(0) if deviation in row.index else None
            ax.errorbar(
                places + next(offsets), values, bars, linestyle="", marker=MARKERS[k % len(MARKERS)], color=f"C{k}",
                markerfacecolor=face, markersize=2.4 if many else 4, markeredgewidth=0.7, elinewidth=0.8, capsize=1.5,
                label=label if kind == "obtained" else f"{name}, published{elsewhere}",
            )  # fmt: skip
    ax.axvline(len(table.columns) - 1.5, color="0.7", linewidth=0.6)  # the summary stands apart
    ax.set_xticks(places, table.columns, rotation=60 if many else 0, ha="right" if many else "center")
    ax.set_xlim(-0.6, len(table.columns) - 0.4)
    ax.set_ylim(top=min(ax.get_ylim()[1], 102.5))
    ax.set_title(table.title.replace(", budget", "\nbudget"))  # two lines: the title is wider than a column of print
    ax.grid(axis="y")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
