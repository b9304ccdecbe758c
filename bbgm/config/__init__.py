"""Configuration of one run: frozen models, read from ``config/budgets`` and ``config/experiments``.

A run is a budget (how much data, how many iterations) overridden by an experiment (what differs from BB-GM), and a
seed. Both kinds of file may have settings for one data set or keypoint filter below ``datasets:`` and ``filters:``, an
experiment also for one budget below ``budgets:``, and it may be ``like:`` another one or a variant of it. An
unknown key or name, or a value out of range, is an error that names it.

`parts` lists everything that a configuration can name: data sets, methods, backbones, affinities, solvers, layers.
Imports `bbgm.base` only; the parts themselves are imported when a run first needs them.
"""

from bbgm.base.reading.yaml_files import read_yaml
from bbgm.config.experiments import experiment_names, is_variant, read_experiment
from bbgm.config.files import budget_names, check_budget, load_run, overlay
from bbgm.config.make import make_data, make_run, setting_names
from bbgm.config.models import (
    FILTER_NAMES,
    BackboneConfig,
    DataConfig,
    FilterName,
    Model,
    OptimiserConfig,
    ProtocolConfig,
)
from bbgm.config.parameters import check_parameters, choose
from bbgm.config.parts import (
    AFFINITIES,
    BACKBONES,
    DATASETS,
    GRADIENTS,
    JOINT_SOLVERS,
    LAYERS,
    MARGINS,
    METHODS,
    SOFT_LOSSES,
    SOLVERS,
    SPLINES,
    TERMS,
)
from bbgm.config.run import ParentConfig, RunConfig, flatten, hash_of
from bbgm.config.runs import list_runs

__all__ = [
    "AFFINITIES",
    "BACKBONES",
    "DATASETS",
    "FILTER_NAMES",
    "GRADIENTS",
    "JOINT_SOLVERS",
    "LAYERS",
    "MARGINS",
    "METHODS",
    "SOFT_LOSSES",
    "SOLVERS",
    "SPLINES",
    "TERMS",
    "BackboneConfig",
    "DataConfig",
    "FilterName",
    "Model",
    "OptimiserConfig",
    "ParentConfig",
    "ProtocolConfig",
    "RunConfig",
    "budget_names",
    "check_budget",
    "check_parameters",
    "choose",
    "experiment_names",
    "flatten",
    "hash_of",
    "is_variant",
    "list_runs",
    "load_run",
    "make_data",
    "make_run",
    "overlay",
    "read_experiment",
    "read_yaml",
    "setting_names",
]
