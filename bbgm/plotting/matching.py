"""Pictures of matchings: two images side by side, right matches green, wrong ones red and dashed (paper Fig. 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.data.images.keypoints import FRAME, KeypointImage
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.graphs.delaunay import Graph, delaunay_graph
from bbgm.plotting.style import RIGHT, WIDE, WRONG, literal, new_figure, styled, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP, BORDER = 16, 4
"""Between two images and around them, in units of the axes: an image is `FRAME` high."""
TITLE = 0.16  # of a cell, in


@dataclass(frozen=True)
class Placed:
    """Where an image is drawn: `FRAME` high, and as wide as the photograph that the network got squeezed to a square.

    Attributes:
        left: its left border, width: its width, top: its upper border, in units of the axes.
    """

    left: float
    width: float
    top: float = 0.0

    def __call__(self, xy: np.ndarray) -> np.ndarray:
        """The places of points (n, 2) of the network's input, px."""
        return xy * [self.width / FRAME, 1] + [self.left, self.top]

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top, for ``imshow``."""
        return self.left, self.left + self.width, self.top + FRAME, self.top


def own_width(image: KeypointImage) -> float:
    """Width of an image that is `FRAME` high, in its own aspect ratio. A view of one is a square, as it was made."""
    if image.view is not None:
        return float(FRAME)
    left, top, right, bottom = image.box or (0, 0, *image.size)
    return FRAME * (right - left) / (bottom - top)


def place_pair(pair: KeypointPair) -> tuple[Placed, Placed]:
    """Both images side by side."""
    one, two = own_width(pair.source), own_width(pair.target)
    return Placed(0, one), Placed(one + GAP, two)


def cell_height(pair: KeypointPair, width: float) -> float:
    """Height of a drawn pair that is so wide, in; narrow pairs do not fill their width, or they would be too high."""
    total = place_pair(pair)[1].left + place_pair(pair)[1].width + 2 * BORDER
    return min(width * (FRAME + 2 * BORDER) / total, 0.55 * width)


@styled
def plot_matching(
    ax: "Axes", pair: KeypointPair, assignment: np.ndarray, *, edges: bool = False, title: str | None = None
) -> None:
    """Draw one matching into ``ax``.

    A keypoint left unmatched is a hollow circle: white where it has no partner, red where it has one.

    Args:
        assignment: (n1,) integers, index into ``pair.kept2``, -1 = unmatched.
        edges: also draw the edges of the two Delaunay graphs.
        title: above the images; default class and number of right matches, e.g. ``Car: 9 of 10``.

    Raises:
        ValueError: ``assignment`` does not fit the pair.
    """
    assignment, truth = np.asarray(assignment), pair.truth
    _check(pair, assignment)
    one, two = draw_pair(ax, pair)
    xy1, xy2 = one(pair.source.xy[pair.kept1]), two(pair.target.xy[pair.kept2])
    if edges:
        for xy in (xy1, xy2):
            draw_edges(ax, xy)
    matched = assignment >= 0
    for i in np.flatnonzero(matched):
        draw_match(ax, xy1[i], xy2[assignment[i]], right=assignment[i] == truth[i])
    taken = np.isin(np.arange(len(xy2)), assignment)
    draw_unmatched(ax, xy1[~matched], truth[~matched] >= 0)
    draw_unmatched(ax, xy2[~taken], np.isin(np.flatnonzero(~taken), truth))
    ax.set_title(literal(_title(pair, assignment)) if title is None else title, pad=2)


def _check(pair: KeypointPair, assignment: np.ndarray) -> None:
    if assignment.shape != pair.truth.shape or np.any(assignment < -1) or np.any(assignment >= len(pair.kept2)):
        raise ValueError(
            f"assignment {assignment.tolist()} does not fit a pair of {len(pair.kept1)} and {len(pair.kept2)} keypoints"
        )


def draw_pair(ax: "Axes", pair: KeypointPair) -> tuple[Placed, Placed]:
    """Draw the two images side by side, each in its own aspect ratio; where they are."""
    places = place_pair(pair)
    for image, place in zip((pair.source, pair.target), places, strict=True):
        ax.imshow(image.crop(), extent=place.extent, interpolation="antialiased")
    right = places[1].left + places[1].width
    ax.set(xlim=(-BORDER, right + BORDER), ylim=(FRAME + BORDER, -BORDER), aspect="equal")
    ax.axis("off")
    return places


def diagonal_order(truth: np.ndarray, n2: int) -> tuple[np.ndarray, np.ndarray]:
    """Orders of rows (n1,) and columns (n2,) of a table of all matches that put the true ones on the diagonal.

    Args:
        truth: (n1,), index of the partner, -1 = none; those without a partner come last.
    """
    rows = np.argsort(truth < 0, kind="stable")
    partners = truth[rows][truth[rows] >= 0]
    return rows, np.concatenate([partners, np.setdiff1d(np.arange(n2), partners)])


def draw_match(ax: "Axes", start: np.ndarray, end: np.ndarray, right: bool) -> None:
    """One line between two points, green and solid or red and dashed; call it under the project's style."""
    draw_line(ax, start, end, RIGHT if right else WRONG, dashed=not right)


def draw_line(
    ax: "Axes", start: np.ndarray, end: np.ndarray, colour: str, *, dashed: bool = False, width: float = 0.9
) -> None:
    """One line between two points, with a mark at each end; call it under the project's style."""
    from matplotlib.patheffects import Normal, Stroke

    # A thin white rim keeps the line visible on any image.
    rim = [Stroke(linewidth=width + 0.9, foreground="white", alpha=0.8), Normal()]
    (x1, y1), (x2, y2) = start, end
    ax.plot(
        [x1, x2], [y1, y2], color=colour, linestyle=(0, (3, 1.2)) if dashed else "-", linewidth=width,
        path_effects=rim, zorder=4 if dashed else 3,
    )  # fmt: skip
    ax.plot(
        [x1, x2], [y1, y2], color=colour, linestyle="", marker="X" if dashed else "o",
        markersize=3.8 if dashed else 3.2, markeredgecolor="white", markeredgewidth=0.4, zorder=5,
    )  # fmt: skip


def draw_unmatched(ax: "Axes", xy: np.ndarray, missed: np.ndarray) -> None:
    """Hollow circles at keypoints (n, 2): red where ``missed`` (n,), a match that should have been made, else white."""
    for colour, points in (("white", xy[~missed]), (WRONG, xy[missed])):
        for size, shade in ((1.6, "black"), (0.9, colour)):
            options: dict[str, Any] = {"markersize": 3.6, "markerfacecolor": "none", "markeredgewidth": size}
            ax.plot(points[:, 0], points[:, 1], "o", markeredgecolor=shade, linestyle="", zorder=5, **options)


def draw_edges(ax: "Axes", xy: np.ndarray, graph: Graph | None = None) -> None:
    """Draw a graph of keypoints (n, 2); default: their Delaunay graph."""
    from matplotlib.collections import LineCollection

    edge_index = (delaunay_graph(xy) if graph is None else graph).edge_index
    source, target = edge_index[:, edge_index[0] < edge_index[1]]
    segments = np.stack([xy[source], xy[target]], axis=1)
    for width, colour in ((1.2, "black"), (0.6, "white")):
        ax.add_collection(LineCollection(list(segments), colors=colour, linewidths=width, alpha=0.7, zorder=2))


@styled
def plot_matchings(
    pairs: Sequence[KeypointPair],
    assignments: Sequence[np.ndarray],
    *,
    columns: int = 2,
    edges: bool | Sequence[bool] = False,
    titles: Sequence[str] | None = None,
    width: float = WIDE,
) -> "Figure":
    """A gallery, one matching per cell; arguments as for :func:`plot_matching`.

    Args:
        edges: for all cells, or for each.

    Raises:
        ValueError: no pairs, or not as many assignments (or titles, or edges) as pairs.
    """
    if not pairs or len(pairs) != len(assignments) or (titles is not None and len(titles) != len(pairs)):
        raise ValueError(
            f"{len(pairs)} pairs, {len(assignments)} assignments and {'no' if titles is None else len(titles)} titles: "
            "give at least one pair and the same number of each"
        )
    with_edges = [edges] * len(pairs) if isinstance(edges, bool) else list(edges)
    if len(with_edges) != len(pairs):
        raise ValueError(f"edges has {len(with_edges)} values for {len(pairs)} pairs: give one value, or one for each")
    columns = min(columns, len(pairs))
    heights = row_heights(pairs, columns, width)
    for pair, assignment in zip(pairs, assignments, strict=True):
        _check(pair, np.asarray(assignment))
    shown = list(titles or map(_title, pairs, assignments))
    alt = f"{'A matching' if len(pairs) == 1 else f'{len(pairs)} matchings'} drawn on two images. {'; '.join(shown)}."
    figure = new_figure(sum(heights), width, alt=alt)
    axes = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights).ravel()
    for k, ax in enumerate(axes):
        if k < len(pairs):
            plot_matching(
                ax, pairs[k], assignments[k], edges=with_edges[k], title=None if titles is None else titles[k]
            )
        else:
            ax.axis("off")
    return figure


def row_heights(pairs: Sequence[KeypointPair], columns: int, width: float) -> list[float]:
    """Heights of the rows of a gallery with titles, in: that of the highest pair of each."""
    heights = [cell_height(pair, width / columns) + TITLE for pair in pairs]
    return [max(heights[start : start + columns]) for start in range(0, len(heights), columns)]


def _title(pair: KeypointPair, assignment: np.ndarray) -> str:
    """Class, right and true matches."""
    right = np.sum((assignment >= 0) & (assignment == pair.truth))
    return f"{pair.source.cls}: {right} of {np.sum(pair.truth >= 0)}"


def draw_matching(pair: KeypointPair, assignment: np.ndarray, path: Path, *, edges: bool = False) -> None:
    """Draw one matching into a PDF or PNG file.

    Raises:
        ValueError: the file has another suffix, or the assignment does not fit the pair.
    """
    write_figure(plot_matchings([pair], [assignment], edges=edges), Path(path))
