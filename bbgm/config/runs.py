"""All runs of a budget: what ``config/config.yaml`` lists, and the parents that they start from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bbgm.config.files import load_run, read_yaml
from bbgm.config.models import BUDGET_NAMES, DATASET_NAMES, FILTER_NAMES, RunConfig
from bbgm.paths import project_root

OTHERS = "others"
"""Stands for every experiment that is not named beside it."""


def list_runs(
    budget: str, content: Mapping[str, Any] | None = None, config_folder: Path | None = None
) -> list[RunConfig]:
    """Every run of a budget, each once and after its parent.

    Args:
        budget: name of a file in ``config/budgets``.
        content: ``experiments`` and ``seeds``, both by data set and keypoint filter; default those of ``config.yaml``.
        config_folder: default ``config/`` of the project.

    Raises:
        ValueError: an unknown name, or a run that is not valid.
    """
    folder = config_folder or project_root() / "config"
    content = read_yaml(folder / "config.yaml") if content is None else content
    if budget not in BUDGET_NAMES:
        raise ValueError(f"budget {budget!r} is not one of {list(BUDGET_NAMES)}")
    for part in ("experiments", "seeds"):
        for dataset, filters in content[part].items():
            _check(f"{part}: data set", dataset, DATASET_NAMES)
            for name in filters:
                _check(f"{part}.{dataset}: filter", name, FILTER_NAMES)
    runs: dict[Path, RunConfig] = {}
    for dataset, filters in content["experiments"].items():
        for name, methods in filters.items():
            seeds = _seeds(content["seeds"], dataset, name, budget, methods)
            for method in methods:
                for seed in range(seeds[method]):
                    _add(runs, load_run(method, budget, seed, folder, dataset=dataset, filter=name))
    return list(runs.values())


def _check(what: str, name: Any, allowed: tuple[str, ...]) -> None:
    if name not in allowed:
        raise ValueError(f"config.yaml: {what} {name!r} is not one of {list(allowed)}")


def _seeds(seeds: Mapping[str, Any], dataset: str, name: str, budget: str, methods: list[str]) -> dict[str, int]:
    """Number of runs of each method: 0 where none is given for the data set, the filter or the budget."""
    given = seeds.get(dataset, {}).get(name, {}).get(budget, 0)
    if not isinstance(given, Mapping):
        given = {OTHERS: given}
    for method in given:
        _check(f"seeds.{dataset}.{name}.{budget}: experiment", method, (*methods, OTHERS))
    return {method: given.get(method, given.get(OTHERS, 0)) for method in methods}


def _add(runs: dict[Path, RunConfig], run: RunConfig) -> None:
    """Add a run after its parent; both may be there already."""
    if run.parent:
        _add(runs, run.parent.run)
    runs.setdefault(run.folder, run)
