"""The costs of a graph matching instance, drawn where they belong: one keypoint and one edge against all others."""

from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.data.keypoints import FRAME
from bbgm.data.pairs import KeypointPair
from bbgm.plotting.matching import GAP, draw_edges, draw_pair
from bbgm.plotting.style import RIGHT, WIDTH, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bbgm.blackbox import Instance

CHOSEN = "#D55E00"


@styled
def plot_costs(pair: KeypointPair, instance: "Instance", node: int, edge: int, *, width: float = WIDTH) -> "Figure":
    """What ``node`` costs with each keypoint of the target, and ``edge`` with each of its edges; truth is rimmed green.

    Args:
        node: of the source, index into ``pair.kept1``.
        edge: of the source, index into ``instance.edges1``. Of a target's edge the cheaper direction is drawn.

    Raises:
        ValueError: the instance is not one of this pair.
    """
    if instance.unary.shape != (len(pair.kept1), len(pair.kept2)):
        raise ValueError(
            f"costs of the shape {instance.unary.shape} for {len(pair.kept1)} x {len(pair.kept2)} keypoints"
        )
    figure = new_figure(width / 2 * (FRAME + 8) / (2 * FRAME + GAP + 8) + 0.45, width)
    axes = figure.subplots(1, 2)
    for ax in axes:
        for xy in draw_pair(ax, pair):
            draw_edges(ax, xy)
    xy1, xy2 = pair.source.xy[pair.kept1], pair.target.xy[pair.kept2] + [FRAME + GAP, 0]
    true = pair.truth[node]
    rims = [RIGHT if j == true else "white" for j in range(len(xy2))]
    axes[0].scatter(*xy1[node], s=30, color=CHOSEN, edgecolors="white", linewidths=0.6, zorder=5)
    dots = axes[0].scatter(*xy2.T, s=22, c=instance.unary[node], edgecolors=rims, linewidths=1.0, zorder=5)
    _draw_bar(figure, axes[0], dots, "vertex cost")
    _draw_segments(axes[1], [xy1[instance.edges1[edge]]], 2.2, ["white"], colors=CHOSEN)
    costs = instance.quadratic[edge]
    order = np.argsort(-costs, kind="stable")  # the cheaper direction comes last, on top
    true_edge = set(pair.truth[instance.edges1[edge]].tolist())
    rims = [RIGHT if set(ends) == true_edge else "white" for ends in instance.edges2[order].tolist()]
    lines = _draw_segments(axes[1], list(xy2[instance.edges2[order]]), 1.8, rims, array=costs[order])
    _draw_bar(figure, axes[1], lines, "edge cost")
    return figure


def _draw_segments(ax: "Axes", segments: list[np.ndarray], width: float, rims: list[str], **colour: Any) -> Any:
    from matplotlib.collections import LineCollection

    ax.add_collection(LineCollection(segments, colors=rims, linewidths=width + 1.4, capstyle="round", zorder=3))
    return ax.add_collection(LineCollection(segments, linewidths=width, capstyle="round", zorder=4, **colour))


def _draw_bar(figure: "Figure", ax: "Axes", drawn: Any, label: str) -> None:
    bar = figure.colorbar(drawn, ax=ax, orientation="horizontal", shrink=0.6, aspect=30, pad=0.02, label=label)
    bar.outline.set_linewidth(0.4)
    bar.ax.locator_params(nbins=4)
