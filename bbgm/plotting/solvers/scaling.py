"""Time and memory of a solve by the number of keypoints."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bbgm.plotting.style import WIDTH, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = {"seconds": "processor time (s)", "mib": "peak memory (MiB)"}
FITTED = 3  # largest sizes that the slope is fitted to
BELOW = 0.6  # as much lower than the nearest point the line of the slope is drawn
MARKERS = "os^D"


def growth(n: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Exponent p and factor c of the power law c n^p through the last `FITTED` values: least squares of logarithms."""
    p, log_c = np.polyfit(np.log(n[-FITTED:]), np.log(values[-FITTED:]), 1)
    return float(p), float(np.exp(log_c))


@styled
def plot_scaling(figures: pd.DataFrame, *, width: float = WIDTH) -> "Figure":
    """Processor time and peak memory against the number of keypoints, all axes logarithmic; a line for each kind.

    Args:
        figures: columns kind, n, seconds and mib, as ``bbgm.prose.scaling_figures`` has them; of one effort. The dotted
            line below each kind's largest sizes has the slope of the power law that fits them best, and its exponent.

    Raises:
        ValueError: an empty table, several efforts, or a kind with a single size.
    """
    _check(figures)
    kinds = list(figures["kind"].unique())
    alt = (
        f"Time and peak memory of a solve against the number of keypoints, for problems that are {' and '.join(kinds)}."
    )
    figure = new_figure(0.5 * width, width, alt=alt)
    axes = figure.subplots(1, len(PANELS))
    for ax, (column, label) in zip(axes, PANELS.items(), strict=True):
        for k, kind in enumerate(kinds):
            rows = figures[figures["kind"] == kind].sort_values("n")
            _draw(ax, rows["n"].to_numpy(float), rows[column].to_numpy(float), k, kind)
        ax.set(xscale="log", yscale="log", xlabel="keypoints n", ylabel=label)
        ax.grid(True)
    axes[0].legend(loc="upper left")
    return figure


def _check(figures: pd.DataFrame) -> None:
    if figures.empty:
        raise ValueError("no figures to draw: record some with bbgm bench scaling --record")
    if "effort" in figures and (efforts := list(figures["effort"].unique()))[1:]:
        raise ValueError(f"figures of several efforts, {efforts}: choose those of one")
    counts = figures["kind"].value_counts()
    if (counts < 2).any():
        raise ValueError(f"{counts.idxmin()!r} has a single size: a curve needs two")


def _draw(ax: "Axes", n: np.ndarray, values: np.ndarray, k: int, kind: str) -> None:
    ax.plot(n, values, color=f"C{k}", linestyle="-", marker=MARKERS[k % len(MARKERS)], markersize=3.5, label=kind)
    p, c = growth(n, values)
    c *= BELOW * (values / (c * n**p))[-FITTED:].min()  # below the curve, without touching it
    ends = n[-FITTED:][[0, -1]]
    ax.plot(ends, c * ends**p, color=f"C{k}", linestyle=":", linewidth=1)
    middle = float(np.sqrt(ends[0] * ends[1]))
    ax.annotate(
        f"$n^{{{p:.1f}}}$", (middle, c * middle**p), xytext=(4, -3), textcoords="offset points",
        color=f"C{k}", ha="left", va="top",
    )  # fmt: skip
