"""What block diagrams are made of. Positions and sizes are inches from the lower left corner of the figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.plotting.matching import draw_edges
from bbgm.plotting.style import RIGHT, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bbgm.graphs.delaunay import Graph

Point = tuple[float, float]
Area = tuple[float, float, float, float]
"""Left, bottom, width, height."""

INK, FAINT = "0.25", "0.93"
SOURCE, TARGET = ("#0072B2", "#CFE4F2"), ("#B86E00", "#FBE3C8")
"""Line and filling."""
LEARNED, PLAIN = (RIGHT, "#D5EEE5"), (INK, FAINT)


def canvas(width: float, height: float, alt: str) -> tuple["Figure", "Axes"]:
    """A figure with one system of axes that covers it, in inches."""
    figure = new_figure(height, width, alt=alt)
    figure.set_layout_engine("none")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.axis("off")
    return figure, ax


def draw_box(ax: "Axes", area: Area, text: str = "", look: tuple[str, str] = PLAIN) -> None:
    """A box with rounded corners, its text in the middle."""
    from matplotlib.patches import FancyBboxPatch

    x, y, width, height = area
    line, filling = look
    ax.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.05", edgecolor=line,
                       facecolor=filling, linewidth=0.9)
    )  # fmt: skip
    write(ax, (x + width / 2, y + height / 2), text)


def draw_funnel(ax: "Axes", area: Area, text: str, look: tuple[str, str] = LEARNED) -> None:
    """A box that becomes narrower to the right, as a backbone's maps do."""
    x, y, width, height = area
    line, filling = look
    corners = [(x, y), (x, y + height), (x + width, y + 0.8 * height), (x + width, y + 0.2 * height)]
    ax.fill(*np.transpose(corners), edgecolor=line, facecolor=filling, linewidth=0.9, joinstyle="round")
    write(ax, (x + width / 2, y + height / 2), text)


def draw_stack(ax: "Axes", corner: Point, side: float, look: tuple[str, str] = PLAIN, sheets: int = 4) -> None:
    """The channels of a map, one behind another; ``corner``: lower left of the one in front."""
    from matplotlib.patches import Rectangle

    line, filling = look
    for k in reversed(range(sheets)):
        x, y = corner[0] + 0.045 * k, corner[1] + 0.045 * k
        ax.add_patch(Rectangle((x, y), side, side, edgecolor=line, facecolor=filling, linewidth=0.7))


def draw_rows(
    ax: "Axes", area: Area, rows: int, look: tuple[str, str] = PLAIN, parts: Sequence[tuple[float, str]] = ()
) -> None:
    """A matrix with a line between each two rows; many rows are drawn as twelve.

    Args:
        parts: share of the columns and filling of each part; default one part.
    """
    from matplotlib.patches import Rectangle

    x, y, width, height = area
    line, filling = look
    left = x
    for share, colour in parts or ((1.0, filling),):
        ax.add_patch(Rectangle((left, y), share * width, height, facecolor=colour, linewidth=0))
        left += share * width
    for k in range(1, min(rows, 12)):
        ax.plot([x, x + width], 2 * [y + height * k / min(rows, 12)], color="white", linewidth=0.8, linestyle="-")
    ax.add_patch(Rectangle((x, y), width, height, edgecolor=line, facecolor="none", linewidth=0.9, zorder=3))


def draw_values(ax: "Axes", area: Area, values: np.ndarray, colours: str = "cividis") -> None:
    """A matrix of numbers, each a small rectangle."""
    from matplotlib.patches import Rectangle

    x, y, width, height = area
    rows, columns = values.shape
    ax.pcolormesh(
        np.linspace(x, x + width, columns + 1), np.linspace(y + height, y, rows + 1), values, cmap=colours,
        rasterized=values.size > 400,
    )  # fmt: skip
    ax.add_patch(Rectangle((x, y), width, height, edgecolor=INK, facecolor="none", linewidth=0.9))


def draw_picture(
    ax: "Axes", area: Area, pixels: np.ndarray, xy: np.ndarray, colour: str, graph: "Graph | None"
) -> None:
    """An image (side, side, 3) in a square, with keypoints (n, 2) in its px, and their graph if one is given."""
    from matplotlib.patches import Rectangle

    x, y, width, height = area
    ax.imshow(pixels, extent=(x, x + width, y, y + height), aspect="auto", interpolation="antialiased", zorder=1)
    ax.add_patch(Rectangle((x, y), width, height, edgecolor=colour, facecolor="none", linewidth=1.4, zorder=4))
    draw_keypoints(ax, area, xy / pixels.shape[0], colour, graph)


def draw_keypoints(ax: "Axes", area: Area, places: np.ndarray, colour: str, graph: "Graph | None") -> None:
    """Keypoints (n, 2) in [0, 1], y downwards, and their graph."""
    x, y, width, height = area
    points = np.stack([x + width * places[:, 0], y + height * (1 - places[:, 1])], axis=1)
    if graph is not None:
        draw_edges(ax, points, graph)
    ax.plot(*points.T, "o", markersize=3.4, color=colour, markeredgecolor="white", markeredgewidth=0.6, zorder=5)


def draw_arrow(ax: "Axes", *points: Point, colour: str = INK, dashed: bool = False) -> None:
    """A line through points, with a head at the last."""
    if len(points) > 2:
        ax.plot(*np.transpose(points[:-1]), color=colour, linewidth=0.9, linestyle="--" if dashed else "-", zorder=3)
    look: dict[str, Any] = {
        "arrowstyle": "-|>",
        "color": colour,
        "linewidth": 0.9,
        "shrinkA": 0,
        "shrinkB": 0,
        "mutation_scale": 7,
    }
    look |= {"linestyle": "--" if dashed else "-", "zorder": 3}
    ax.annotate("", points[-1], points[-2], arrowprops=look)


def write(ax: "Axes", place: Point, text: str, **look: Any) -> None:
    """Text with its middle, or what ``ha`` and ``va`` say, at a place."""
    usual: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.15, "color": "0.1", "zorder": 6}
    ax.text(*place, text, **{**usual, **look})
