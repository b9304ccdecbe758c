"""Gap against processor time in the course of a solve, for each effort."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bbgm.plotting.solvers.peers import COLUMNS, FLOOR, label_panels
from bbgm.plotting.style import WIDTH, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS, LINES = "osD", ("-", "--", "-.")


@styled
def plot_effort(figures: pd.DataFrame, peers: pd.DataFrame, *, width: float = WIDTH) -> "Figure":
    """Mean gap against processor time, one panel per family, both axes logarithmic; better is down and to the left.

    Args:
        figures: columns family, effort, after_ms, gap_percent, proofs, ms and runs, as ``bbgm.prose.effort_figures``
            has them. Each effort has a line, the gap in the course of its solves, and a marker at the mean time and gap
            with which they end; it is filled where all of the family are proved, half filled where some are.
        peers: columns family, solver, gap_percent and ms of other solvers, drawn as crosses in the order of
            their names.

    Raises:
        ValueError: an empty table.
    """
    if figures.empty:
        raise ValueError("no figures to draw: record some with bbgm bench effort --record")
    families, efforts = list(figures["family"].unique()), list(figures["effort"].unique())
    names = sorted(peers["solver"].unique())
    rows = -(-len(families) // COLUMNS)
    alt = f"Gap against processor time at efforts {', '.join(efforts)}, one panel for each of {', '.join(families)}."
    figure = new_figure(1.05 * rows + 0.35, width, alt=alt)
    axes = figure.subplots(rows, COLUMNS, squeeze=False, sharex=True, sharey=True).ravel()
    handles: dict[str, Any] = {}
    for ax, family in zip(axes, families, strict=False):
        own = figures[figures["family"] == family]
        for k, effort in enumerate(efforts):
            handles[effort] = _draw_effort(ax, own[own["effort"] == effort], k) or handles.get(effort)
        for k, name in enumerate(names):
            for _, row in peers[(peers["family"] == family) & (peers["solver"] == name)].iterrows():
                (handles[name],) = ax.plot(
                    row["ms"], max(row["gap_percent"], FLOOR), "x+*"[k % 3], color="0.35", markersize=5, clip_on=False
                )
    label_panels(axes, families, "time (ms)")
    shown = [name for name in (*efforts, *names) if handles.get(name)]
    figure.legend([handles[name] for name in shown], shown, loc="outside lower center", ncols=len(shown))
    return figure


def _draw_effort(ax: "Axes", rows: pd.DataFrame, k: int) -> Any:
    """The profile, as steps, up to the marker of the end; None where the family was not solved at this effort."""
    end = rows[rows["after_ms"].isna()]
    if end.empty:
        return None
    ms, gap, proofs, runs = (end[name].iloc[0] for name in ("ms", "gap_percent", "proofs", "runs"))
    course = rows[rows["after_ms"].notna()].sort_values("after_ms")
    gaps = np.maximum(course["gap_percent"], FLOOR)
    ax.plot(
        course["after_ms"],
        gaps,
        color=f"C{k}",
        drawstyle="steps-post",
        linestyle=LINES[k % 3],
        linewidth=0.9,
        zorder=2 + 0.1 * k,
    )
    fill = "full" if proofs == runs else "left" if proofs > 0 else "none"
    ax.plot(
        ms, max(gap, FLOOR), MARKERS[k % len(MARKERS)], color=f"C{k}", fillstyle=fill, markerfacecoloralt="white",
        markersize=4.5, markeredgewidth=0.8, clip_on=False, zorder=5,
    )  # fmt: skip
    (label,) = ax.plot(
        [], [], marker=MARKERS[k % len(MARKERS)], color=f"C{k}", linestyle=LINES[k % 3], linewidth=0.9, markersize=4.5
    )
    return label
