"""The costs of a graph matching instance: all vertex costs as a table; one keypoint and one edge against all others,
drawn where they belong.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.data.sampling.pairs import KeypointPair
from bbgm.plotting.cells import frame_cell
from bbgm.plotting.matching import cell_height, diagonal_order, draw_edges, draw_pair, place_pair
from bbgm.plotting.style import RIGHT, WIDE, WIDTH, WRONG, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bbgm.matching.instance import Instance

CHOSEN = "#D55E00"


@styled
def plot_vertex_costs(pair: KeypointPair, instance: "Instance", *, width: float = WIDTH) -> "Figure":
    """All vertex costs, dark where they are low, in an order in which the true matches are on the diagonal.

    A green frame is a true match. An orange one is the cheapest cost of a row where that is another.

    Raises:
        ValueError: the instance is not one of this pair.
    """
    _check(pair, instance)
    truth, n2 = pair.truth, len(pair.kept2)
    rows, columns = diagonal_order(truth, n2)
    costs, true = instance.unary[np.ix_(rows, columns)], pair.truth_matrix[np.ix_(rows, columns)]
    cheapest = costs.argmin(axis=1)
    wrong = int(np.sum(~true[np.arange(len(costs)), cheapest] & (truth[rows] >= 0)))
    alt = (
        f"Vertex costs of {len(costs)} keypoints, one per row, with {n2} others as a table of colours. In {wrong} rows "
        "the true partner is not the cheapest."
    )
    figure = new_figure(0.72 * width, width, alt=alt)
    ax = figure.subplots()
    drawn = ax.imshow(costs, cmap="Blues_r", interpolation="nearest")
    middle = (costs.min() + costs.max()) / 2
    for (i, j), cost in np.ndenumerate(costs):
        ax.text(j, i, f"{cost:.1f}", ha="center", va="center", size=5.5, color="white" if cost < middle else "black")
    for i, j in zip(*np.nonzero(true), strict=True):
        frame_cell(ax, i, j, RIGHT, linewidth=1.6, zorder=3)
    for i, j in enumerate(cheapest):
        if not true[i, j]:
            frame_cell(ax, i, j, WRONG, side=0.88, linewidth=1.4, linestyle="--")
    ax.set_xticks(range(n2), [literal(pair.target.names[pair.kept2[j]]) for j in columns], rotation=45, ha="left")
    ax.set_yticks(range(len(costs)), [literal(pair.source.names[pair.kept1[i]]) for i in rows])
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set(xlabel="second picture", ylabel="first picture")
    ax.tick_params(length=0)
    figure.colorbar(drawn, ax=ax, shrink=0.7, label="vertex cost").outline.set_linewidth(0.4)
    return figure


@styled
def plot_costs(pair: KeypointPair, instance: "Instance", node: int, edge: int, *, width: float = WIDE) -> "Figure":
    """What ``node`` costs with each keypoint of the target, and ``edge`` with each of its edges. Green marks the truth.

    Args:
        node: of the source, index into ``pair.kept1``.
        edge: of the source, index into ``instance.edges1``. Of a target's edge the cheaper direction is drawn.

    Raises:
        ValueError: the instance is not one of this pair.
    """
    _check(pair, instance)
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


def _check(pair: KeypointPair, instance: "Instance") -> None:
    if instance.unary.shape != (len(pair.kept1), len(pair.kept2)):
        raise ValueError(
            f"costs of the shape {instance.unary.shape} for {len(pair.kept1)} x {len(pair.kept2)} keypoints"
        )


def _draw_edges(ax: "Axes", segments: list[np.ndarray], width: float, **colour: Any) -> Any:
    from matplotlib.collections import LineCollection

    return ax.add_collection(LineCollection(segments, linewidths=width, capstyle="round", zorder=4, **colour))


def _draw_bar(figure: "Figure", ax: "Axes", drawn: Any, label: str) -> None:
    bar = figure.colorbar(drawn, ax=ax, orientation="horizontal", shrink=0.6, aspect=30, pad=0.02, label=label)
    bar.outline.set_linewidth(0.4)
    bar.ax.locator_params(nbins=4)
