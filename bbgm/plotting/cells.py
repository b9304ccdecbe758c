"""Entries of a matrix that is drawn with ``imshow``."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def frame_cell(ax: "Axes", row: int, column: int, colour: str, side: float = 1.0, **line: Any) -> None:
    """Draw a frame around an entry.

    Args:
        side: of the frame; 1 follows the entry's border.
        line: further settings of the frame's line, as matplotlib's patches take them.
    """
    from matplotlib.patches import Rectangle

    corner = column - side / 2, row - side / 2
    ax.add_patch(Rectangle(corner, side, side, fill=False, edgecolor=colour, **line))
