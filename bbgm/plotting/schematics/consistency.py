"""What a broken cycle is (paper Fig. 3): keypoints of three images as dots, matches as lines."""

from typing import TYPE_CHECKING

import numpy as np

from bbgm.plotting.schematics import shapes as draw
from bbgm.plotting.style import AGREES, DEMANDS, WRONG, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = {"p": (0.1, 1.2), "q": (1.95, 1.2), "r": (1.02, 0.1)}
"""Lower left corners of the three images, in."""
SIDES = (0.95, 0.85)
DOTS = {
    "p": ((0.22, 0.68), (0.56, 0.2), (0.8, 0.74)),
    "q": ((0.3, 0.78), (0.42, 0.22), (0.8, 0.52)),
    "r": ((0.16, 0.46), (0.5, 0.8), (0.84, 0.42)),
}
"""Keypoints of each, in shares of its sides."""
LINES = (
    (("p", 2), ("q", 0), AGREES, False),
    (("q", 0), ("r", 2), AGREES, False),
    (("r", 2), ("p", 2), AGREES, False),
    (("p", 1), ("q", 1), DEMANDS, False),
    (("q", 1), ("r", 1), DEMANDS, False),
    (("p", 1), ("r", 0), WRONG, True),
)
LETTERS = {("p", 1): "i", ("q", 1): "j", ("r", 1): "k"}


@styled
def plot_consistency() -> "Figure":
    """Three matches that agree (light), two that demand a third (dark), and one that contradicts them (dashed)."""
    alt = (
        "Three images with three keypoints each, drawn as dots. Light lines join one keypoint of each image to a "
        "closed triangle. Dark lines join i of the first with j of the second, and j with k of the third. A dashed "
        "line joins i with another keypoint of the third image than k."
    )
    figure, ax = draw.canvas(5.0, 2.15, alt)
    for name, corner in PANELS.items():
        draw.draw_box(ax, (*corner, *SIDES))
        draw.write(ax, (corner[0] + 0.08, corner[1] + SIDES[1] - 0.1), f"${name}$", ha="left")
    for start, end, colour, dashed in LINES:
        ax.plot(*np.transpose([_place(start), _place(end)]), color=colour, linestyle=(0, (3, 1.5)) if dashed else "-",
                linewidth=2.2, zorder=4)  # fmt: skip
    for name, dots in DOTS.items():
        for k in range(len(dots)):
            ax.plot(*_place((name, k)), "o", color="white", markeredgecolor="0.1", markersize=5, zorder=5)
    for dot, letter in LETTERS.items():
        x, y = _place(dot)
        beside = {"i": (-0.1, -0.03), "j": (0.11, -0.03), "k": (-0.1, 0.06)}[letter]
        draw.write(ax, (x + beside[0], y + beside[1]), f"${letter}$", size=8)
    for y, colour, text in (
        (1.62, AGREES, "light: three matches that agree"),
        (1.2, DEMANDS, "dark: $i$ with $j$, and $j$ with $k$;\nso $i$ has to go with $k$"),
        (0.72, WRONG, "dashed: $i$ with another one\nbreaks the cycle"),
    ):
        ax.plot([3.0, 3.22], [y, y], color=colour, linewidth=2.2, linestyle=(0, (3, 1.5)) if colour == WRONG else "-")
        draw.write(ax, (3.3, y), text, ha="left")
    return figure


def _place(dot: tuple[str, int]) -> tuple[float, float]:
    """Of a keypoint, in."""
    (left, bottom), (x, y) = PANELS[dot[0]], DOTS[dot[0]][dot[1]]
    return left + SIDES[0] * x, bottom + SIDES[1] * y
