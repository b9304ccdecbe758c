"""A matching drawn on two pictures of any size, side by side at the same height."""

from typing import TYPE_CHECKING

import numpy as np

from bbgm.photos.picture import Picture
from bbgm.photos.result import Match
from bbgm.plotting.matching import draw_edges, draw_line, draw_match, draw_unmatched
from bbgm.plotting.style import WIDTH, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT, GAP, BORDER = 300.0, 16.0, 4.0
"""Of the pictures, between and around them, in units of the axes."""
LARGEST = 1200
"""Pictures are drawn with this many px on their longer side at most."""
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442", "#D55E00", "#7F3C8D")
"""Of matches without names, one after another; colour-blind readers tell them apart."""


@styled
def plot_match(match: Match, *, edges: bool = False, width: float = WIDTH) -> "Figure":
    """Draw a matching; keypoints left unmatched are hollow circles, red where the other picture has their name.

    Args:
        edges: also the graphs.
        width: of the figure, in.
    """
    widths = [HEIGHT * picture.size[0] / picture.size[1] for picture in match.pictures]
    total = sum(widths) + GAP + 2 * BORDER
    alt = f"A matching drawn on two pictures: {_title(match)}."
    figure = new_figure(width * (HEIGHT + 2 * BORDER) / total + 0.18, width, alt=alt)
    ax = figure.subplots()
    places = []
    starts = (0.0, widths[0] + GAP)
    for picture, points, graph, left, wide in zip(
        match.pictures, match.points, match.graphs, starts, widths, strict=True
    ):
        ax.imshow(_small(picture), extent=(left, left + wide, HEIGHT, 0), interpolation="antialiased")
        place = points.xy * (HEIGHT / picture.size[1]) + [left, 0]
        if edges:
            draw_edges(ax, place, graph)
        places.append(place)
    ax.set(xlim=(-BORDER, total - BORDER), ylim=(HEIGHT + BORDER, -BORDER), aspect="equal")
    ax.axis("off")
    one, two = places
    right, truth = match.right, match.truth
    for k, (i, j) in enumerate(match.pairs):
        if right is None:
            draw_line(ax, one[i], two[j], COLOURS[k % len(COLOURS)])
        else:
            draw_match(ax, one[i], two[j], right=bool(right[k]))
    left_over = match.assignment < 0, ~np.isin(np.arange(len(two)), match.assignment)
    for place, left_out, true in zip(places, left_over, _has_partner(truth, len(two)), strict=True):
        draw_unmatched(ax, place[left_out], true[left_out] if truth is not None else np.zeros(left_out.sum(), bool))
    ax.set_title(literal(_title(match)), pad=2)
    return figure


def _has_partner(truth: np.ndarray | None, n2: int) -> tuple[np.ndarray, np.ndarray]:
    if truth is None:
        return np.zeros(0, bool), np.zeros(0, bool)
    return truth >= 0, np.isin(np.arange(n2), truth)


def _small(picture: Picture) -> np.ndarray:
    """Every k-th px of a large picture, so that a figure of photographs is not tens of MB."""
    step = -(-max(picture.size) // LARGEST)
    return picture.pixels[::step, ::step]


def _title(match: Match) -> str:
    right, truth = match.right, match.truth
    if right is None or truth is None:
        n = len(match.pairs)
        return f"{n} match{'es' * (n != 1)}{', proved optimal' if match.optimal else ''}"
    return f"{int(right.sum())} of {int((truth >= 0).sum())} right"
