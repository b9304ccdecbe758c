"""Every figure. ``plot_...`` gives a ``Figure`` (or draws into given axes), :func:`save_figure` writes PDF and PNG."""

from bbgm.plotting.comparison import plot_table_comparison
from bbgm.plotting.curves import plot_learning_curves, plot_loss_section
from bbgm.plotting.landscape import plot_loss_landscape
from bbgm.plotting.matching import draw_matching, plot_matching, plot_matchings
from bbgm.plotting.style import RIGHT, WIDTH, WRONG, new_figure, save_figure, style, write_figure

__all__ = [
    "RIGHT",
    "WIDTH",
    "WRONG",
    "draw_matching",
    "new_figure",
    "plot_learning_curves",
    "plot_loss_landscape",
    "plot_loss_section",
    "plot_matching",
    "plot_matchings",
    "plot_table_comparison",
    "save_figure",
    "style",
    "write_figure",
]
