"""What wrong labels in training cost each method."""

from textwrap import fill
from typing import TYPE_CHECKING

import pandas as pd

from bbgm.plotting.style import WIDTH, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 4  # of panels
LETTERS = 24  # of a panel's title


@styled
def plot_wrong_labels(scores: pd.DataFrame, baseline: str, *, width: float = WIDTH) -> "Figure":
    """Each method's accuracy by the share of wrong labels in training, in a panel of its own beside the baseline's.

    Args:
        scores: columns ``method, share, value, std``, all in per cent; a band is one ``std`` up and down.
        baseline: the method drawn in every panel.

    Raises:
        ValueError: no other method, or none of that name.
    """
    methods = [method for method in scores["method"].unique() if method != baseline]
    if not methods or baseline not in set(scores["method"]):
        raise ValueError(f"methods {list(scores['method'].unique())}: expected {baseline!r} and at least one other")
    lines = -(-len(methods) // COLUMNS)
    alt = f"Accuracy by the share of wrong labels of {', '.join(methods)}, each beside {baseline}."
    figure = new_figure(0.24 * width * lines + 0.35, width, alt=alt)
    axes = figure.subplots(lines, COLUMNS, squeeze=False, sharex=True, sharey=True)
    by_method = {name: rows.sort_values("share") for name, rows in scores.groupby("method")}
    for ax in axes.flat[len(methods) :]:
        ax.set_axis_off()
    for ax, method in zip(axes.flat, methods, strict=False):
        for name, colour in ((baseline, "0.6"), (method, "C0")):
            rows = by_method[name]
            std = rows["std"].fillna(0)
            ax.fill_between(rows["share"], rows["value"] - std, rows["value"] + std, color=colour, alpha=0.25, lw=0)
            ax.plot(rows["share"], rows["value"], color=colour, linewidth=1, marker="o", markersize=2.5, linestyle="-")
        ax.set_title(fill(literal(method), LETTERS), pad=3)
        ax.set_xticks(sorted(scores["share"].unique()))
    figure.supxlabel("wrong labels in training (%)", fontsize="medium")
    figure.supylabel(f"accuracy (%); grey: {baseline}", fontsize="medium")
    return figure
