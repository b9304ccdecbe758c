"""Configuration of one run: frozen models, read from ``config/budgets`` and ``config/experiments``.

A run is a budget (how much data, how many iterations) overlaid by an experiment (what differs from BB-GM) and a seed.
Both kinds of file may say below ``datasets:`` and ``filters:`` what holds for one data set or keypoint filter only,
an experiment also below ``budgets:``, and it may be ``like:`` another one. An unknown key, name or a value out of range
is an error that names it.
"""

from bbgm.config.files import load_run, overlay, read_experiment, read_yaml
from bbgm.config.models import (
    BUDGET_NAMES,
    DATASET_NAMES,
    FILTER_NAMES,
    DataConfig,
    DGMCConfig,
    FilterName,
    NetworkConfig,
    OptimiserConfig,
    ProtocolConfig,
    SolverConfig,
)
from bbgm.config.run import ParentConfig, RunConfig, flatten, make_run
from bbgm.config.runs import list_runs

__all__ = [
    "BUDGET_NAMES",
    "DATASET_NAMES",
    "FILTER_NAMES",
    "DGMCConfig",
    "DataConfig",
    "FilterName",
    "NetworkConfig",
    "OptimiserConfig",
    "ParentConfig",
    "ProtocolConfig",
    "RunConfig",
    "SolverConfig",
    "flatten",
    "list_runs",
    "load_run",
    "make_run",
    "overlay",
    "read_experiment",
    "read_yaml",
]
