"""Pictures of matchings: two images side by side, right matches green, wrong ones red and dashed (paper Fig. 1)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.data.images.keypoints import FRAME
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.graphs.delaunay import Graph, delaunay_graph
from bbgm.plotting.style import RIGHT, WIDTH, WRONG, literal, new_figure, styled, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP = 16  # px between the two images


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
    if assignment.shape != truth.shape or np.any(assignment < -1) or np.any(assignment >= len(pair.kept2)):
        raise ValueError(
            f"assignment {assignment.tolist()} does not fit a pair of {len(pair.kept1)} and {len(pair.kept2)} keypoints"
        )
    xy1, xy2 = draw_pair(ax, pair)
    if edges:
        for xy in (xy1, xy2):
            draw_edges(ax, xy)
    matched = assignment >= 0
    for i in np.flatnonzero(matched):
        draw_match(ax, xy1[i], xy2[assignment[i]], right=assignment[i] == truth[i])
    taken = np.isin(np.arange(len(xy2)), assignment)
    draw_unmatched(ax, xy1[~matched], truth[~matched] >= 0)
    draw_unmatched(ax, xy2[~taken], np.isin(np.flatnonzero(~taken), truth))
    right, true = int(np.sum(matched & (assignment == truth))), int(np.sum(truth >= 0))
    ax.set_title(f"{literal(pair.source.cls)}: {right} of {true}" if title is None else title, pad=2)


def draw_pair(ax: "Axes", pair: KeypointPair) -> tuple[np.ndarray, np.ndarray]:
    """Draw the two images side by side; where their keypoints are: (n1, 2) and (n2, 2)."""
    for image, left in ((pair.source, 0), (pair.target, FRAME + GAP)):
        ax.imshow(image.crop(), extent=(left, left + FRAME, FRAME, 0), interpolation="antialiased")
    ax.set(xlim=(-4, 2 * FRAME + GAP + 4), ylim=(FRAME + 4, -4), aspect="equal")
    ax.axis("off")
    return pair.source.xy[pair.kept1], pair.target.xy[pair.kept2] + [FRAME + GAP, 0]


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
    edges: bool = False,
    titles: Sequence[str] | None = None,
    width: float = WIDTH,
) -> "Figure":
    """A gallery, one matching per cell; arguments as for :func:`plot_matching`.

    Raises:
        ValueError: no pairs, or not as many assignments (or titles) as pairs.
    """
    if not pairs or len(pairs) != len(assignments) or (titles is not None and len(titles) != len(pairs)):
        raise ValueError(
            f"{len(pairs)} pairs, {len(assignments)} assignments and {'no' if titles is None else len(titles)} titles: "
            "give at least one pair and the same number of each"
        )
    columns = min(columns, len(pairs))
    rows = -(-len(pairs) // columns)
    height = rows * (width / columns * (FRAME + 8) / (2 * FRAME + GAP + 8) + 0.16)
    figure = new_figure(height, width)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for k, ax in enumerate(axes):
        if k < len(pairs):
            title = None if titles is None else titles[k]
            plot_matching(ax, pairs[k], assignments[k], edges=edges, title=title)
        else:
            ax.axis("off")
    return figure


def draw_matching(pair: KeypointPair, assignment: np.ndarray, path: Path, *, edges: bool = False) -> None:
    """Draw one matching into a PDF or PNG file.

    Raises:
        ValueError: the file has another suffix, or the assignment does not fit the pair.
    """
    write_figure(plot_matchings([pair], [assignment], edges=edges), Path(path))
