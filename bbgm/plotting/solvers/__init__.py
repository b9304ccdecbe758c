"""Figures of solvers: several beside each other, and what ours takes by size and by effort."""

from bbgm.plotting.solvers.effort import plot_effort
from bbgm.plotting.solvers.peers import plot_solver_table, plot_time_and_gap
from bbgm.plotting.solvers.scaling import plot_scaling

__all__ = ["plot_effort", "plot_scaling", "plot_solver_table", "plot_time_and_gap"]
