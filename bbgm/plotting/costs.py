"""The costs of a graph matching instance, drawn where they belong: one keypoint and one edge against all others."""

from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.data.sampling.pairs import KeypointPair
from bbgm.plotting.matching import cell_height, draw_edges, draw_pair, place_pair
from bbgm.plotting.style import RIGHT, WIDE, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bbgm.matching.instance import Instance

CHOSEN = "#D55E00"


@styled
def plot_costs(pair: KeypointPair, instance: "Instance", node: int, edge: int, *, width: float = WIDE) -> "Figure":
    """What ``node`` costs with each keypoint of the target, and ``edge`` with each of its edges. Green marks the truth.

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
    alt = (
        f"Two images of the class {pair.source.cls}, twice. Left: the keypoints of the target coloured by what "
        f"keypoint {node} of the source costs with each. Right: the target's edges coloured by what edge {edge} of the "
        "source costs with each."
    )
    figure = new_figure(cell_height(pair, width / 2) + 0.45, width, alt=alt)
    axes = figure.subplots(1, 2)
    one, two = place_pair(pair)
    xy1, xy2 = one(pair.source.xy[pair.kept1]), two(pair.target.xy[pair.kept2])
    for ax in axes:
        draw_pair(ax, pair)
        for xy in (xy1, xy2):
            draw_edges(ax, xy)
    axes[0].scatter(*xy1[node], s=30, color=CHOSEN, edgecolors="white", linewidths=0.6, zorder=5)
    partner = xy2[[j for j in pair.truth[[node]] if j >= 0]]
    for colour, size in (("white", 75), (RIGHT, 58)):
        axes[0].scatter(*partner.T, s=size, color=colour, linewidths=0, zorder=4)
    dots = axes[0].scatter(*xy2.T, s=22, c=instance.unary[node], edgecolors="white", linewidths=0.6, zorder=5)
    _draw_bar(figure, axes[0], dots, "vertex cost")

    _draw_edges(axes[1], [xy1[instance.edges1[edge]]], 3.2, colors="white")
    _draw_edges(axes[1], [xy1[instance.edges1[edge]]], 2.2, colors=CHOSEN)
    costs = instance.quadratic[edge]
    order = np.argsort(-costs, kind="stable")  # the cheaper direction comes last, on top
    ends = instance.edges2[order]
    true_ends = sorted(pair.truth[instance.edges1[edge]])
    true = [xy2[pair] for pair in ends if sorted(pair) == true_ends]
    _draw_edges(axes[1], list(xy2[ends]), 2.8, colors="white")
    for colour, width_true in (("white", 6.0), (RIGHT, 4.8), ("white", 2.8)):
        _draw_edges(axes[1], true, width_true, colors=colour)
    lines = _draw_edges(axes[1], list(xy2[ends]), 1.8, array=costs[order])
    _draw_bar(figure, axes[1], lines, "edge cost")
    return figure


def _draw_edges(ax: "Axes", segments: list[np.ndarray], width: float, **colour: Any) -> Any:
    from matplotlib.collections import LineCollection

    return ax.add_collection(LineCollection(segments, linewidths=width, capstyle="round", zorder=4, **colour))


def _draw_bar(figure: "Figure", ax: "Axes", drawn: Any, label: str) -> None:
    bar = figure.colorbar(drawn, ax=ax, orientation="horizontal", shrink=0.6, aspect=30, pad=0.02, label=label)
    bar.outline.set_linewidth(0.4)
    bar.ax.locator_params(nbins=4)
