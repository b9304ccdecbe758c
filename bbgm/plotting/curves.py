"""Learning curves, one-dimensional sections of the loss, and accuracy by the share of wrong labels."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from bbgm.plotting.style import WIDTH, literal, new_figure, styled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


LABELS = {
    "loss": "training loss of a pair",
    "accuracy": "training accuracy (%)",
    "nonzero": "pairs with a gradient (%)",
}
"""What can be drawn of a ``history``; all but the loss are shares."""
COLUMNS, LETTERS = 4, 24
"""Panels side by side, and letters in a line of a panel's title, of `plot_wrong_labels`."""


@styled
def plot_learning_curves(
    histories: Mapping[str, Sequence["pd.DataFrame"]],
    *,
    columns: tuple[str, str] = ("loss", "accuracy"),
    window: int = 10,
    width: float = WIDTH,
) -> "Figure":
    """Two columns of the history against the iteration: mean over the seeds, and a band of one standard deviation.

    Methods without a training step are left out. With more than three, the legend is below the panels.

    Args:
        histories: for each method the ``history`` of its runs (columns ``iteration, epoch`` and ``columns``).
        columns: two of `LABELS`.
        window: iterations of the running mean, which evens out the noise of small batches.

    Raises:
        ValueError: no run with a training step, or runs of one method of different lengths.
    """
    trained = {name: [run for run in runs if len(run)] for name, runs in histories.items()}
    trained = {name: runs for name, runs in trained.items() if runs}
    if not trained:
        raise ValueError(f"none of {list(histories)} has a training step: nothing to draw")
    below = len(trained) > 3
    alt = f"{' and '.join(LABELS[name] for name in columns)} against the iteration: {', '.join(trained)}."
    figure = new_figure(0.42 * width + below * (0.2 + 0.13 * -(-len(trained) // 3)), width, alt=alt)
    axes = figure.subplots(1, 2, sharex=True)
    for name, runs in trained.items():
        lengths = sorted({len(run) for run in runs})
        if len(lengths) > 1:
            raise ValueError(f"runs of {name!r} have {lengths} iterations: give runs of one length")
        iterations = runs[0]["iteration"].to_numpy()
        for ax, column in zip(axes, columns, strict=True):
            factor = 1 if column == "loss" else 100
            values = factor * np.stack([_running_mean(run[column].to_numpy(), window) for run in runs])
            mean = values.mean(axis=0)
            # Above the axes, or a line at zero would be hidden.
            (line,) = ax.plot(iterations, mean, label=f"{literal(name)}, n = {len(runs)}", clip_on=False, zorder=3)
            if len(runs) > 1:
                spread = values.std(axis=0, ddof=1)
                ax.fill_between(iterations, mean - spread, mean + spread, color=line.get_color(), alpha=0.2, lw=0)
    longest = max((runs[0] for runs in trained.values()), key=len)
    for ax, column in zip(axes, columns, strict=True):
        for start in longest.loc[longest["epoch"].diff() > 0, "iteration"]:
            ax.axvline(start - 0.5, color="0.8", linewidth=0.5, zorder=0)
        ax.set(xlabel="iteration", ylabel=LABELS[column], xlim=(1, longest["iteration"].iloc[-1]))
        ax.set_ylim(0, None if column == "loss" else 101)
    if below:
        figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    else:
        axes[1].legend(loc="lower right")
    return figure


def _running_mean(values: np.ndarray, window: int) -> np.ndarray:
    """Mean over a centred window, shorter at the ends: as many values as there were."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    centres = np.arange(len(values))
    low = np.maximum(centres - (window - 1) // 2, 0)
    high = np.minimum(centres + window // 2, len(values) - 1)
    return np.asarray((sums[high + 1] - sums[low]) / (high - low + 1))


@styled
def plot_loss_section(
    t: np.ndarray,
    loss: np.ndarray,
    interpolations: Mapping[float, np.ndarray],
    *,
    xlabel: str = "$t$, costs $w + t\\,d$",
    width: float = WIDTH,
) -> "Figure":
    """The piecewise constant loss along a line of costs, and f_lambda for several lambda (paper Sec. 3.1).

    Args:
        t: (N,) positions, increasing. loss: (N,) L(y(w + t d)). interpolations: lambda -> (N,) f_lambda.

    Raises:
        ValueError: the lengths differ.
    """
    for name, values in (("loss", loss), *((f"lambda = {lambda_:g}", f) for lambda_, f in interpolations.items())):
        if np.shape(values) != np.shape(t):
            raise ValueError(f"{name} has the shape {np.shape(values)}, t has {np.shape(t)}: they must be equal")
    names = ", ".join(f"{lambda_:g}" for lambda_ in interpolations)
    alt = f"The piecewise constant loss along a line of costs, and its interpolation for lambda = {names}."
    figure = new_figure(0.45 * width, width, alt=alt)
    ax = figure.subplots()
    # Vertical jumps are not part of the function: break the line there.
    steps = np.where(np.append(np.diff(loss) != 0, False), np.nan, loss)
    ax.plot(t, steps, color="black", linestyle="-", linewidth=1.8, label="loss, piecewise constant")
    for lambda_, values in interpolations.items():
        ax.plot(t, values, label=rf"$f_\lambda$, $\lambda$ = {lambda_:g}")
    ax.set(xlabel=xlabel, ylabel="Hamming loss", xlim=(t[0], t[-1]))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


@styled
def plot_wrong_labels(scores: "pd.DataFrame", baseline: str, *, width: float = WIDTH) -> "Figure":
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
