"""All runs of a budget: what ``config/config.yaml`` lists, and the parents that they start from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bbgm.base.paths import project_root
from bbgm.base.reading.yaml_files import read_yaml
from bbgm.config.experiments import experiment_names
from bbgm.config.files import budget_names, check_budget, load_run
from bbgm.config.models import FILTER_NAMES
from bbgm.config.parts import DATASETS
from bbgm.config.run import RunConfig

OTHERS = "others"
"""Stands for every experiment that is not named beside it."""


def list_runs(
    budget: str, content: Mapping[str, Any] | None = None, config_folder: Path | None = None
) -> list[RunConfig]:
    """Every run of a budget, each once and after its parent.

    Args:
        budget: name of a file in ``config/budgets``.
        content: ``experiments`` and ``seeds``, both by data set and keypoint filter; default: those of ``config.yaml``.
        config_folder: default ``config/`` of the project.

    Raises:
        ValueError: an unknown name, or a run that is not valid.
    """
    folder = config_folder or project_root() / "config"
    content = read_yaml(folder / "config.yaml") if content is None else content
    check_budget(budget, folder)
    experiments, seeds = (_by_filter(content, part) for part in ("experiments", "seeds"))
    budgets = budget_names(folder)
    known = experiment_names(folder)
    runs: dict[Path, RunConfig] = {}
    for (dataset, name), listed in experiments.items():
        place = f"{dataset}.{name}"
        methods = _methods(f"experiments.{place}", listed)
        counts = _counts(f"seeds.{place}", seeds.get((dataset, name)), budget, budgets, known)
        for method in methods:
            _check(f"experiments.{place}: experiment", method, known)  # also one that has no seeds at this budget
            for seed in range(counts.get(method, counts.get(OTHERS, 0))):
                _add(runs, load_run(method, budget, seed, folder, dataset=dataset, filter=name))
    return list(runs.values())


def _check(what: str, name: Any, allowed: tuple[str, ...]) -> None:
    if name not in allowed:
        raise ValueError(f"config.yaml: {what} {name!r} is not one of {list(allowed)}")


def _mapping(place: str, value: Any) -> Mapping[Any, Any]:
    """A part of the file, which may be left empty."""
    if not isinstance(value, Mapping | None):
        raise ValueError(f"config.yaml: {place} is {value!r}, expected a mapping of keys to values")
    return value or {}


def _by_filter(content: Mapping[str, Any], part: str) -> dict[tuple[str, str], Any]:
    """What ``experiments`` or ``seeds`` has below each data set and filter."""
    found = {}
    for dataset, filters in _mapping(part, content.get(part)).items():
        _check(f"{part}: data set", dataset, DATASETS.names())
        for name, value in _mapping(f"{part}.{dataset}", filters).items():
            _check(f"{part}.{dataset}: filter", name, FILTER_NAMES)
            found[dataset, name] = value
    return found


def _methods(place: str, value: Any) -> tuple[str, ...]:
    """Names of experiments."""
    names = [] if value is None else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"config.yaml: {place} is {value!r}, expected a list of names of experiments")
    return tuple(names)


def _counts(place: str, seeds: Any, budget: str, budgets: tuple[str, ...], known: tuple[str, ...]) -> dict[str, int]:
    """Number of runs by experiment, which need not be listed; empty where none is given for the filter or budget."""
    by_budget = _mapping(place, seeds)
    for name in by_budget:
        _check(f"{place}: budget", name, budgets)
    given = by_budget.get(budget, 0)
    if not isinstance(given, Mapping):
        given = {OTHERS: given}
    for method in given:
        _check(f"{place}.{budget}: experiment", method, (*known, OTHERS))
    return {method: _number(f"{place}.{budget}", count) for method, count in given.items()}


def _number(place: str, value: Any) -> int:
    """A number of runs; Snakemake's command line gives numbers within braces as text."""
    text = str(value)
    if isinstance(value, bool | float) or not (text.isascii() and text.isdigit()):
        raise ValueError(f"config.yaml: {place} has {value!r}, expected a number of runs, 0 or more")
    return int(text)


def _add(runs: dict[Path, RunConfig], run: RunConfig) -> None:
    """Add a run after its parent; both may be there already."""
    if run.parent:
        _add(runs, run.parent.run)
    runs.setdefault(run.folder, run)
