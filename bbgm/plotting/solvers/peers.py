"""Solvers beside each other: gap, hits and time on each family of instances."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bbgm.plotting.style import WIDTH, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLOOR = 0.01  # %, gaps below it are drawn there: the scale is logarithmic
MARKERS = "^v<>pdPX*hD1"
COLUMNS = 3  # of panels
TICKS = {FLOOR: f"≤ {FLOOR}", 0.1: "0.1", 1: "1", 10: "10", 100: "100"}


@styled
def plot_solver_table(figures: pd.DataFrame, ours: Sequence[str], *, width: float | None = None) -> "Figure":
    """A table family x solver with gap, hits and time, coloured by the gap. It is wider than the text and needs its own
    page.

    Args:
        figures: the columns of ``bbgm.prose.solver_figures``; families and solvers are shown in the order in which
            they come, ours first.
        ours: solvers whose names are printed bold.
        width: in inches; default: what the columns need.

    Raises:
        ValueError: an empty table.
    """
    families, solvers = _names(figures, ours)
    width = (0.5 + 0.125 * len(solvers)) * WIDTH if width is None else width
    gaps = np.full((len(families), len(solvers)), np.nan)
    alt = f"Table of gap, hits and time of {', '.join(solvers)} on {', '.join(families)}."
    figure = new_figure(0.45 + 0.42 * len(families), width, alt=alt)
    ax = figure.subplots()
    for _, row in figures.iterrows():
        y, x = families.index(row["family"]), solvers.index(row["solver"])
        gaps[y, x] = np.log10(max(row["gap_percent"], FLOOR))
        ax.text(x, y, _cell(row), ha="center", va="center", linespacing=1.05)
    ax.imshow(gaps, cmap="YlOrBr", vmin=np.log10(FLOOR), vmax=3.5, aspect="auto", alpha=0.75)
    ax.set_xticks(range(len(solvers)), [name.replace(" ", "\n") for name in solvers])
    ax.set_yticks(range(len(families)), families)
    for tick, name in zip(ax.xaxis.get_major_ticks(), solvers, strict=True):
        tick.label2.set_fontweight("bold" if name in ours else "normal")
    ax.set_xticks(np.arange(len(solvers) + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(len(families) + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.2)
    ax.tick_params(which="both", length=0, labeltop=True, labelbottom=False)
    ax.spines[:].set_visible(False)
    return figure


def _names(figures: pd.DataFrame, ours: Sequence[str]) -> tuple[list[str], list[str]]:
    if figures.empty:
        raise ValueError("no figures to draw: give at least one family and one solver")
    solvers = [name for name in ours if name in set(figures["solver"])]
    return list(figures["family"].unique()), [*solvers, *(s for s in figures["solver"].unique() if s not in ours)]


def _cell(row: pd.Series) -> str:
    """Gap, hits of runs, and time, as far as they are known."""
    lines = [f"{_range(row['gap_percent'], row['gap_percent_to'])} %"]
    if pd.notna(row["hits"]):
        lines.append(f"{row['hits']} of {row['runs']}")
    if row["ms"] >= 1000:
        lines.append(f"{_range(row['ms'] / 1000, row['ms_to'] / 1000)} s")
    elif row["ms"] < 0.01:
        lines.append(f"{_range(1000 * row['ms'], 1000 * row['ms_to'])} µs")
    elif row["ms"] >= 0:
        lines.append(f"{_range(row['ms'], row['ms_to'])} ms")
    return "\n".join(lines)


def _range(low: float, high: float) -> str:
    """A number, or two; a gap below zero is that of a matching better than the best one known."""
    return "–".join(f"{x:.2g}" if x < 99.5 else f"{x:.0f}" for x in (low, high) if pd.notna(x)).replace("-", "−")


@styled
def plot_time_and_gap(figures: pd.DataFrame, ours: Sequence[str], *, width: float = WIDTH) -> "Figure":
    """Mean time against mean gap, one panel per family, both axes logarithmic; better is down and to the left.

    Args:
        figures: as for :func:`plot_solver_table`. A range of times is drawn as a bar.
        ours: solvers that are drawn filled and in colour; the others are hollow and grey.

    Raises:
        ValueError: an empty table.
    """
    families, solvers = _names(figures, ours)
    rows = -(-len(families) // COLUMNS)
    alt = f"Time against gap, one panel for each of {', '.join(families)}; solvers: {', '.join(solvers)}."
    figure = new_figure(1.05 * rows + 0.2 + 0.15 * -(-len(solvers) // 3), width, alt=alt)
    axes = figure.subplots(rows, COLUMNS, squeeze=False, sharex=True, sharey=True).ravel()
    handles: dict[str, Any] = {}
    for ax, family in zip(axes, families, strict=False):
        known = figures[(figures["family"] == family) & (figures["ms"] > 0)].set_index("solver")
        for k, name in enumerate(solvers):
            if name in known.index:
                handles[name] = _draw_point(ax, known.loc[name], k, name in ours)
    label_panels(axes, families, "time of an instance (ms)")
    shown = [name for name in solvers if name in handles]
    figure.legend([handles[name] for name in shown], shown, loc="outside lower center", ncols=3)
    return figure


def label_panels(axes: np.ndarray, families: Sequence[str], time: str) -> None:
    """Titles, logarithmic axes and labels of panels of gap against time, `COLUMNS` side by side, one per family.

    Args:
        axes: one-dimensional array of `Axes`, at least as many as there are families; what is left over is hidden.
        time: label of the time axis.
    """
    for k, ax in enumerate(axes):
        ax.set_visible(k < len(families))
        if k < len(families):
            ax.set(title=families[k], xscale="log", yscale="log", ylim=(0.7 * FLOOR, 300))
            ax.set_yticks(list(TICKS), list(TICKS.values()))
            ax.minorticks_off()
            ax.grid(True)
        if k + COLUMNS >= len(families):  # the lowest of its column
            ax.tick_params(labelbottom=True)
            ax.set_xlabel(time)
        if k % COLUMNS == 0:
            ax.set_ylabel("gap (%)")


def _draw_point(ax: "Axes", row: pd.Series, k: int, mine: bool) -> Any:
    """The marker of solver ``k``, in the middle of the bar that its times span."""
    low = high = row["ms"]
    if row["ms_to"] > low:
        high = row["ms_to"]
    gap = max(row["gap_percent"], FLOOR)
    colour, face, marker = (f"C{k}",) * 2 + ("os"[k % 2],) if mine else ("0.35", "white", MARKERS[k % len(MARKERS)])
    ax.plot([low, high], [gap, gap], color=colour, linestyle="-", linewidth=0.8, zorder=2)
    (point,) = ax.plot(
        np.sqrt(low * high), gap, marker=marker, color=colour, linestyle="", markerfacecolor=face,
        markersize=4.5 if mine else 3.8, markeredgewidth=0.8, clip_on=False, zorder=4 if mine else 3,
    )  # fmt: skip
    return point
