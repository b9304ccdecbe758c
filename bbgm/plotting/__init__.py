"""Every figure. ``plot_...`` gives a ``Figure`` (or draws into given axes), :func:`save_figure` writes PDF and PNG.

May import `bbgm.tables` and everything below it.
"""

from bbgm.plotting.architecture import plot_construction, plot_extraction, plot_layer
from bbgm.plotting.bounds import plot_bounds, plot_relaxations
from bbgm.plotting.comparison import plot_steps, plot_table_comparison, plot_two_sets
from bbgm.plotting.costs import plot_costs, plot_vertex_costs
from bbgm.plotting.curves import plot_learning_curves, plot_loss_section, plot_wrong_labels
from bbgm.plotting.cycle import plot_cycle
from bbgm.plotting.filtering import plot_filters
from bbgm.plotting.gallery import plot_gallery, plot_images, plot_methods, typical_predictions
from bbgm.plotting.landscape import plot_descent, plot_gradients, plot_loss_landscape, plot_slopes
from bbgm.plotting.matching import draw_matching, plot_matching, plot_matchings
from bbgm.plotting.schematics.consistency import plot_consistency
from bbgm.plotting.schematics.network import plot_image_features, plot_pair_costs
from bbgm.plotting.solvers import plot_effort, plot_scaling, plot_solver_table, plot_time_and_gap
from bbgm.plotting.style import RIGHT, WIDE, WIDTH, WRONG, new_figure, save_figure, style, write_figure

__all__ = [
    "RIGHT",
    "WIDE",
    "WIDTH",
    "WRONG",
    "draw_matching",
    "new_figure",
    "plot_bounds",
    "plot_consistency",
    "plot_construction",
    "plot_costs",
    "plot_cycle",
    "plot_descent",
    "plot_effort",
    "plot_extraction",
    "plot_filters",
    "plot_gallery",
    "plot_gradients",
    "plot_image_features",
    "plot_images",
    "plot_layer",
    "plot_learning_curves",
    "plot_loss_landscape",
    "plot_loss_section",
    "plot_matching",
    "plot_matchings",
    "plot_methods",
    "plot_pair_costs",
    "plot_relaxations",
    "plot_scaling",
    "plot_slopes",
    "plot_solver_table",
    "plot_steps",
    "plot_table_comparison",
    "plot_time_and_gap",
    "plot_two_sets",
    "plot_vertex_costs",
    "plot_wrong_labels",
    "save_figure",
    "style",
    "typical_predictions",
    "write_figure",
]
