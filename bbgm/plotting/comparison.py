"""A table as a figure: what the runs obtained beside what the paper printed, class by class."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bbgm.plotting.style import RIGHT, WIDTH, WRONG, literal, new_figure, styled
from bbgm.tables import SPECS, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

TITLE = 78  # characters per line
MARKERS = "osD^v<>"
"""Seven, so that with the eight colours of the style no two of 56 rows look the same."""
LANE = 0.062
"""Height of a method, in."""
LANES = 0.8
"""Share of a column's height that its lanes take, the rest is space; seaborn's own."""
RUN = 2.4
"""Size of the dot of one run, pt."""


@styled
def plot_table_comparison(table: Table, *, width: float = WIDTH) -> "Figure":
    """One band per column of the table, the summary at the bottom; in each band, one lane per row of ours.

    Small dots = runs, filled marks = their mean, bars = their standard deviation, hollow marks = published; grey ticks
    = what the paper quotes from others. For another data set than the paper's, only the summary has published marks.
    Of test sets only the first pairs are shown, which the paper scores.
    """
    spec = SPECS[table.name]
    counts = {row.title for row in spec.rows if not row.scored}
    groups = [group.set_index("row") for _, group in table.frame.groupby(["method", "setting"], sort=False)]
    ours = [
        rows
        for rows in groups
        if "obtained" in rows.index and rows["method"].iloc[0] not in counts and rows["setting"].iloc[0] != "pairs=all"
    ]
    quoted = [rows.loc["published"] for rows in groups if "obtained" not in rows.index]
    columns = list(table.columns)

    marks = [_mark(MARKERS[k % len(MARKERS)], f"C{k % 8}", _label(rows, ours)) for k, rows in enumerate(ours)]
    elsewhere = f" ({table.elsewhere})" if table.elsewhere else ""
    if any(rows.loc["obtained", "n"] > 1 for rows in ours):
        marks.append(_mark("o", "0.2", "pale: one run", markersize=RUN, markeredgewidth=0, alpha=0.45))
    if any("published" in rows.index for rows in ours):
        marks.append(_mark("o", "0.2", f"hollow: published{elsewhere}", markerfacecolor="white"))
    if quoted:
        marks.append(_mark("|", "0.6", f"quoted by the paper: {len(quoted)}", markersize=7))

    band = LANE * max(len(ours), 2) / LANES
    alt = f"{table.title}. Means of the column {columns[-1]}: " + ", ".join(
        f"{_label(rows, ours)}: {rows.loc['obtained', columns[-1]]:.1f}" for rows in ours
    )
    figure = new_figure(band * len(columns) + 0.85 + 0.145 * -(-len(marks) // 2), width, alt=alt)
    ax = figure.subplots()
    for k in range(0, len(columns), 2):
        ax.axhspan(k - 0.5, k + 0.5, color="0.95", linewidth=0, zorder=0)
    for row in quoted:
        ax.plot(row[columns].astype(float), range(len(columns)), linestyle="", marker="|", color="0.6",
                markersize=58 * band, markeredgewidth=0.6)  # fmt: skip
    for k, rows in enumerate(ours):
        places = np.arange(len(columns)) + (k - (len(ours) - 1) / 2) * LANES / len(ours)
        _plot_published(ax, rows, columns, places, k)
    _plot_runs(ax, table, ours, cap=0.035 / band)
    ax.axhline(len(columns) - 1.5, color="0.5", linewidth=0.6)  # the summary stands apart
    ax.set_yticks(range(len(columns)), columns)
    ax.set_ylim(len(columns) - 0.5, -0.5)
    ax.set_xlim(right=min(ax.get_xlim()[1], 102))
    ax.set(xlabel="F1 score (%)" if "F1" in spec.title else "accuracy (%)", ylabel="")
    title, _, budget = table.title.rpartition(", budget ")
    title, demo, _ = title.partition(" (rendered demo data)")
    ax.set_title(f"{fill(title, TITLE)}\n{'rendered demo data, ' if demo else ''}budget {budget}")
    ax.grid(axis="x")
    ax.tick_params(axis="y", length=0)
    figure.legend(handles=marks, loc="outside lower center", ncols=2)
    return figure


def _label(rows: pd.DataFrame, ours: list[pd.DataFrame]) -> str:
    """Name of a row, its setting where there are several, and its number of runs."""
    name, setting = rows[["method", "setting"]].iloc[0]
    if len({other["setting"].iloc[0] for other in ours}) > 1:
        name += f", {setting.replace(';', ' ')}"
    return f"{literal(name)}, n = {rows.loc['obtained', 'n']}"


def _mark(marker: str, color: str, label: str, **more: Any) -> "Line2D":
    """An entry of the legend."""
    from matplotlib.lines import Line2D

    look = {"markeredgewidth": 0.7, **more}
    return Line2D([], [], linestyle="", marker=marker, color=color, label=label, **look)


def _plot_published(ax: "Axes", rows: pd.DataFrame, columns: list[str], places: np.ndarray, k: int) -> None:
    """What the paper prints for one row of the table."""
    if "published" not in rows.index:
        return
    deviation = "published std"
    bars = rows.loc[deviation, columns].astype(float).fillna(0) if deviation in rows.index else None
    ax.errorbar(
        rows.loc["published", columns].astype(float), places, xerr=bars, linestyle="", color=f"C{k % 8}",
        marker=MARKERS[k % len(MARKERS)], markerfacecolor="white", markersize=4, markeredgewidth=0.7, elinewidth=0.7,
        capsize=1.2,
    )  # fmt: skip


def _plot_runs(ax: "Axes", table: Table, ours: list[pd.DataFrame], cap: float) -> None:
    """Each run, and for each row their mean and standard deviation (ddof=1), which ends in a cap of that height."""
    import seaborn as sns

    columns, rows = list(table.columns), [tuple(one[["method", "setting"]].iloc[0]) for one in ours]
    runs = table.runs.set_index(["method", "setting"])
    scores = pd.concat(
        [
            runs.loc[[row], columns].melt(var_name="column", value_name="score").assign(row=k)
            for k, row in enumerate(rows)
        ]
    )
    look = {
        "data": scores, "x": "score", "y": "column", "hue": "row", "order": columns, "hue_order": range(len(rows)),
        "palette": [f"C{k % 8}" for k in range(len(rows))], "legend": False, "ax": ax,
    }  # fmt: skip
    sns.stripplot(**look, dodge=True, jitter=False, size=RUN, alpha=0.45, linewidth=0)
    sns.pointplot(
        **look, dodge=LANES - LANES / len(rows), errorbar="sd", linestyle="none", capsize=cap, markersize=2.8,
        markers=[MARKERS[k % len(MARKERS)] for k in range(len(rows))], markeredgewidth=0.7,
        err_kws={"linewidth": 0.6, "linestyle": "-"},
    )  # fmt: skip


@styled
def plot_two_sets(first: "pd.Series[float]", second: "pd.Series[float]", *, width: float = WIDTH) -> "Figure":
    """Two numbers per column of a table, joined by a line; the largest difference is at the top.

    Args:
        first, second: by column, of the names that the legend shows; columns that only one has are left out.

    Raises:
        ValueError: they have no column in common.
    """
    both = pd.concat([first, second], axis=1, join="inner")
    if both.empty:
        raise ValueError(f"{first.name!r} and {second.name!r} have no column in common")
    gap = both.iloc[:, 1] - both.iloc[:, 0]
    both, gap = (part.loc[gap.abs().sort_values().index] for part in (both, gap))
    alt = (
        f"{both.columns[1]} beside {both.columns[0]} for {len(both)} columns: the difference is {gap.iloc[-1]:+.1f} "
        f"points at most ({gap.index[-1]}), {gap.mean():+.1f} on average."
    )
    figure = new_figure(0.14 * len(both) + 0.6, width, alt=alt)
    ax = figure.subplots()
    places = np.arange(len(both))
    ax.hlines(places, both.min(axis=1), both.max(axis=1), color="0.6", linewidth=1, zorder=1)
    for k, (name, values) in enumerate(both.items()):
        ax.plot(
            values, places, linestyle="", marker=MARKERS[k], color=f"C{k}", markersize=3.6, label=literal(str(name))
        )
    for place, value, end in zip(places, gap, both.max(axis=1), strict=True):
        ax.annotate(f"{value:+.1f}", (end, place), (5, 0), textcoords="offset points", va="center", fontsize=6)
    ax.set_yticks(places, both.index)
    ax.margins(y=0.02)
    ax.set(xlabel="accuracy (%)")
    ax.grid(axis="x")
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="lower left")
    return figure


@styled
def plot_steps(table: Table, steps: Sequence[str], *, width: float = WIDTH) -> "Figure":
    """From one row of a table to another, one change at a time: each step starts where the last one ended.

    Small dots = runs, mark = their mean, bar = its 95 % interval over the runs (Student's t; none with one run);
    green = up, orange = down, grey = the first.

    Args:
        steps: titles of rows that the table has, in this order.

    Raises:
        ValueError: no steps, or a title that is no row of ours in the table.
    """
    from scipy.stats import t

    runs = {name: group[table.columns[-1]].to_numpy(float) for name, group in table.runs.groupby("method")}
    if not steps or (missing := [name for name in steps if name not in runs]):
        raise ValueError(f"steps {list(steps) if not steps else missing} are not rows of {table.name}: {sorted(runs)}")
    means = [float(runs[name].mean()) for name in steps]
    alt = "Means, one change after another: " + ", ".join(
        f"{name} {mean:.1f}" for name, mean in zip(steps, means, strict=True)
    )
    figure = new_figure(0.28 * len(steps) + 0.55, width, alt=alt)
    ax = figure.subplots()
    for k, (name, mean) in enumerate(zip(steps, means, strict=True)):
        scores, before = runs[name], means[max(k - 1, 0)]
        colour = "0.4" if k == 0 else RIGHT if mean >= before else WRONG
        ax.barh(k, mean - before, left=before, height=0.5, color=colour, alpha=0.35, linewidth=0)
        ax.plot([mean, mean], [k - 0.25, k + 1.25 if k + 1 < len(steps) else k + 0.25], color="0.6", linewidth=0.5,
                linestyle="-")  # fmt: skip
        spread = t.ppf(0.975, len(scores) - 1) * scores.std(ddof=1) / len(scores) ** 0.5 if len(scores) > 1 else 0
        ax.plot(scores, [k + 0.17] * len(scores), linestyle="", marker="o", markersize=RUN, color=colour, alpha=0.45,
                markeredgewidth=0)  # fmt: skip
        ax.errorbar(mean, k, xerr=spread or None, color=colour, marker="o", markersize=3.5, elinewidth=0.7, capsize=1.5)
        label = f"{mean:.1f}" if k == 0 else f"{mean:.1f} ({mean - before:+.1f})"
        ax.annotate(label, (1, k), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
                    va="center")  # fmt: skip
    ax.set_yticks(range(len(steps)), [literal(name) for name in steps])
    ax.set_ylim(len(steps) - 0.4, -0.6)
    ax.use_sticky_edges = False  # bars would keep the marks at their ends half outside
    ax.margins(x=0.06)
    ax.set(xlabel="F1 score (%)" if "F1" in SPECS[table.name].title else "accuracy (%)")
    ax.grid(axis="x")
    ax.tick_params(axis="y", length=0)
    return figure
