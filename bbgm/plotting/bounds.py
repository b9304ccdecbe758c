"""What a solver knows while it works: values from above, lower bounds from below; and how good bounds can be."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bbgm.plotting.style import WIDTH, new_figure, styled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@styled
def plot_bounds(
    traces: Mapping[str, Mapping[str, np.ndarray]], optima: Sequence[float], *, width: float = WIDTH
) -> "Figure":
    """Value and lower bound of each method while it iterates, one panel an instance, in % of the optimum.

    Args:
        traces: title of the panel -> name of the method -> (K, 3), iterations made, lower bound, value.
        optima: of the panels' instances, below zero.

    Raises:
        ValueError: no panel, not as many optima as panels, or an optimum that is not below zero.
    """
    if not traces or len(traces) != len(optima):
        raise ValueError(f"{len(traces)} panels and {len(optima)} optima: give at least one, and as many of each")
    if any(not optimum < 0 for optimum in optima):
        raise ValueError(f"every optimum must be below zero, not {list(optima)}")
    figure = new_figure(0.48 * width, width)
    axes = figure.subplots(1, len(traces), squeeze=False)[0]
    for ax, (title, methods), optimum in zip(axes, traces.items(), optima, strict=True):
        for k, (name, trace) in enumerate(methods.items()):
            iterations, lower, value = np.asarray(trace, dtype=float).T
            percent = [100 * (y - optimum) / -optimum for y in (lower, value)]
            ax.fill_between(iterations, *percent, step="post", color=f"C{k}", alpha=0.12, lw=0)
            for y, what in zip(percent, ("bound", "value"), strict=True):
                shape = {"linestyle": "-" if what == "bound" else (0, (3, 1)), "linewidth": 1.2}
                ax.step(iterations, y, where="post", color=f"C{k}", label=f"{name}: {what}", **shape)
            ax.plot(iterations[-1:], percent[0][-1:], marker="o" if k else "s", color=f"C{k}", markersize=3)
        ax.axhline(0, color="0.3", linewidth=0.5, zorder=0)
        ax.set_xscale("symlog", linthresh=1)
        ticks = [0, *(10**k for k in range(6))]
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        longest = max(float(trace[-1, 0]) for trace in methods.values())
        ax.set(title=title, xlabel="iterations of the dual", xlim=(0, max(longest, 1)))
    axes[0].set_ylabel("above the optimum, in % of it")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


@styled
def plot_relaxations(gaps: "pd.DataFrame", *, width: float = WIDTH) -> "Figure":
    """How far bounds stay below the optimum: a row a bound, a dot an instance, a bar at the mean.

    Args:
        gaps: one row an instance, one column a bound, in % of the optimum.

    Raises:
        ValueError: an empty table.
    """
    if gaps.empty:
        raise ValueError("no gaps to draw: give at least one instance and one bound")
    figure = new_figure(0.1 * width + 0.24 * len(gaps.columns), width)
    ax = figure.subplots()
    places = np.arange(len(gaps.columns))[::-1]
    for _, row in gaps.iterrows():
        ax.plot(row, places, color="0.85", linestyle="-", linewidth=0.6, zorder=1)
    for k, (place, name) in enumerate(zip(places, gaps.columns, strict=True)):
        ax.plot(gaps[name], np.full(len(gaps), place), "o", color=f"C{k}", markersize=3.5, alpha=0.75, zorder=2)
        mean = gaps[name].mean()
        ax.plot([mean, mean], [place - 0.3, place + 0.3], color="black", linestyle="-", linewidth=1.4, zorder=3)
        ax.annotate(f"{mean:.1f} %", (mean, place + 0.3), ha="center", va="bottom", fontsize=6)
    ax.set_yticks(places, gaps.columns)
    ax.set(xlabel="bound below the optimum, in % of it", ylim=(-0.6, len(places) - 0.2))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    return figure
