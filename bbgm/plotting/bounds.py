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
    traces: Mapping[str, Mapping[str, np.ndarray]],
    optima: Sequence[float],
    steps: Mapping[str, str],
    *,
    lowest: float = -60.0,
    width: float = WIDTH,
) -> "Figure":
    """Value and lower bound after each step, in % of the optimum: one row of panels per instance, one column per
    method.

    Args:
        traces: title of the instance -> name of the method -> (K, 3), of ``bbgm_solver.trace``.
        optima: of the instances, below zero.
        steps: name of the method -> what it calls a step.
        lowest: where the axis ends; the first bounds are far below.

    Raises:
        ValueError: no instance, not as many optima as instances, or an optimum that is not below zero.
    """
    if not traces or len(traces) != len(optima):
        raise ValueError(f"{len(traces)} instances and {len(optima)} optima: give at least one, and as many of each")
    if any(not optimum < 0 for optimum in optima):
        raise ValueError(f"every optimum must be below zero, not {list(optima)}")
    ends = ", ".join(
        f"{title} by {name} {'with' if abs(trace[-1][2] - trace[-1][1]) < 1e-6 else 'without'} proof"
        for title, methods in traces.items()
        for name, trace in methods.items()
    )
    alt = f"Cost of the best matching so far, falling, and lower bound, rising, against the steps of solvers: {ends}."
    figure = new_figure(0.27 * width * len(traces) + 0.3, width, alt=alt)
    axes = figure.subplots(len(traces), len(steps), squeeze=False, sharex="col", sharey=True)
    longest = {name: max(len(methods[name]) for methods in traces.values()) for name in steps}
    for row, (title, methods), optimum in zip(axes, traces.items(), optima, strict=True):
        row[0].set_ylabel(title)
        for ax, name in zip(row, steps, strict=True):
            lower, value = 100 * (np.asarray(methods[name], dtype=float).T[1:] / -optimum + 1)
            k = np.arange(len(lower))
            ax.fill_between(k, lower, value, step="post", color="0.9", lw=0)
            ax.step(k, value, where="post", label="cost of the best matching so far")
            ax.step(k, lower, where="post", label="lower bound")
            ax.axhline(0, color="0.3", linestyle="-", linewidth=0.5, zorder=0)
            marks = (value[-1], 4, "bottom"), (lower[-1], -4, "top")
            for y, offset, side in marks if round(value[-1] - lower[-1], 1) > 0 else marks[:1]:
                text = f"{y:+.1f} %" if round(y, 1) else "0 %"
                place = "left" if len(k) < 0.3 * longest[name] else "right"
                ax.annotate(text, (k[-1], y), (0, offset), textcoords="offset points", ha=place, va=side)
            colours = ("C0", "C1") if len(ax.texts) > 1 else ("black", "black")  # black: the two have met
            for y, colour in zip((value[-1], lower[-1]), colours, strict=True):
                ax.plot(k[-1], y, "o", color=colour, markersize=3, clip_on=False)
            ax.set_ylim(lowest, 105)
    for top, bottom, name in zip(axes[0], axes[-1], steps, strict=True):
        top.set_title(name)
        bottom.set_xlabel(steps[name])
        bottom.set_xlim(0, max(longest[name] - 1, 1))
    figure.supylabel("distance to the optimum (%)", fontsize=7)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


@styled
def plot_relaxations(gaps: "pd.DataFrame", *, width: float = WIDTH) -> "Figure":
    """How far bounds stay below the optimum: one row per bound, one dot per instance, a bar at the mean.

    Args:
        gaps: one row per instance, one column per bound, in % of the optimum.

    Raises:
        ValueError: an empty table.
    """
    if gaps.empty:
        raise ValueError("no gaps to draw: give at least one instance and one bound")
    means = ", ".join(f"{name} {gaps[name].mean():.1f} %" for name in gaps.columns)
    alt = f"How far {len(gaps)} lower bounds are below the optimum, dots and means: {means}."
    figure = new_figure(0.1 * width + 0.24 * len(gaps.columns), width, alt=alt)
    ax = figure.subplots()
    places = np.arange(len(gaps.columns))[::-1]
    for _, row in gaps.iterrows():
        ax.plot(row, places, color="0.85", linestyle="-", linewidth=0.6, zorder=1)
    for k, (place, name) in enumerate(zip(places, gaps.columns, strict=True)):
        ax.plot(gaps[name], np.full(len(gaps), place), "o", color=f"C{k}", markersize=3.5, alpha=0.75, zorder=2)
        mean = gaps[name].mean()
        ax.plot([mean, mean], [place - 0.3, place + 0.3], color="black", linestyle="-", linewidth=1.4, zorder=3)
        ax.annotate(f"{mean:.1f} %", (mean, place + 0.3), ha="center", va="bottom", fontsize=7)
    ax.set_yticks(places, gaps.columns)
    ax.set(xlabel="bound below the optimum, in % of it", ylim=(-0.6, len(places) - 0.2))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    return figure
