"""From the files in ``config/`` to the configuration of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bbgm.base.paths import project_root
from bbgm.base.reading.yaml_files import read_yaml
from bbgm.base.registry import NAME
from bbgm.config.experiments import read_experiment
from bbgm.config.make import make_run
from bbgm.config.models import FILTER_NAMES
from bbgm.config.parts import DATASETS
from bbgm.config.run import RunConfig

SECTIONS = ("datasets", "filters", "budgets")
"""Keys for settings of some runs only; later ones take precedence."""

OF_RUN = "run"
"""As ``protocol.split_seed``: the seed of the run, so that each has another split."""


def budget_names(config_folder: Path | None = None) -> tuple[str, ...]:
    """The budgets: names of the files in ``config/budgets`` (lower-case letters, digits, underscores), sorted."""
    folder = config_folder or project_root() / "config"
    stems = (file.stem for file in (folder / "budgets").glob("*.yaml"))
    return tuple(sorted(stem for stem in stems if NAME.fullmatch(stem)))


def check_budget(budget: str, config_folder: Path | None = None) -> None:
    """Raises:
    ValueError: there is no such budget.
    """
    if budget not in (names := budget_names(config_folder)):
        raise ValueError(f"budget {budget!r} is not one of {list(names)}")


def overlay(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with the keys of ``top``, nested mappings merged."""
    merged = dict(base)
    for key, value in top.items():
        old = merged.get(key)
        merged[key] = overlay(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def load_run(
    method: str,
    budget: str,
    seed: int,
    config_folder: Path | None = None,
    *,
    dataset: str | None = None,
    filter: str | None = None,
    **overrides: Any,
) -> RunConfig:
    """The run of one experiment at one budget: ``budgets/<budget>.yaml`` overridden by ``experiments/<method>.yaml``.

    An experiment may be ``like:`` another one, or a variant of it: then it overrides that one's settings.

    From weakest to strongest: the budget, its ``datasets.<dataset>``, its ``filters.<filter>``, the experiment with its
    sections in the same order and then its ``budgets.<budget>``, and the overrides. A section may contain further ones,
    e.g. ``datasets.voc.filters.unfiltered``. The ``parent:`` of an experiment becomes that run's complete
    configuration; null means none, even if a weaker layer has one. Its seed is that of the run itself; where a budget
    has a number of ``parents``, seeds count up to it and begin again.

    Args:
        method: name of a file in ``config/experiments``.
        budget: name of a file in ``config/budgets``.
        seed: of the run's random numbers.
        config_folder: default ``config/`` of the project.
        dataset: short for ``data={"dataset": ...}``; default what the files say, else Willow.
        filter: short for ``protocol={"filter": ...}``; default what the files say, else intersection.
        overrides: override the files, e.g. ``optimiser={"epochs": 1}``; they do not reach the parent.

    Raises:
        ValueError: no such file, its content is not valid, or a chain of parents that comes back to where it began.
    """
    given = overlay(
        {"data": {"dataset": dataset}} if dataset else {}, {"protocol": {"filter": filter}} if filter else {}
    )
    return _load(method, budget, seed, config_folder or project_root() / "config", overlay(given, overrides), ())


def _load(
    method: str, budget: str, seed: int, folder: Path, overrides: Mapping[str, Any], children: tuple[str, ...]
) -> RunConfig:
    """As :func:`load_run`; ``children``: the methods that this one is the parent of."""
    if not NAME.fullmatch(budget):  # a path, which could lead to another folder
        check_budget(budget, folder)
    budget_file = folder / "budgets" / f"{budget}.yaml"
    budget_content, layers = read_yaml(budget_file), read_experiment(method, folder)
    origin = f"{budget_file.name} with {method}.yaml"
    whole = dict(budget_content)
    for layer in (*layers.values(), overrides):
        whole = overlay(whole, layer)
    chosen = {
        "datasets": _chosen(whole, "data", "dataset", "willow"),
        "filters": _chosen(whole, "protocol", "filter", "intersection"),
        "budgets": budget,
    }
    names = {"datasets": DATASETS.names(), "filters": FILTER_NAMES, "budgets": budget_names(folder)}
    of_budget = {section: names[section] for section in ("datasets", "filters")}
    content = _select(budget_content, chosen, of_budget, budget_file.name)
    parents = _parents(content.pop("parents", None), budget_file.name)
    for file, layer in layers.items():
        content = overlay(content, _select(layer, chosen, names, file.name))
    if fixed := sorted({"method", "budget", "seed"} & content.keys()):
        raise ValueError(
            f"{origin} sets {fixed[0]!r}, which comes from the file's name or the command line: leave it out"
        )
    content = overlay(content, {"method": method, "budget": budget, "seed": seed, **overrides})
    protocol = content.get("protocol")
    if isinstance(protocol, Mapping) and protocol.get("split_seed") == OF_RUN:
        content = overlay(content, {"protocol": {"split_seed": seed}})
    content.setdefault("setting", _setting(chosen["datasets"], chosen["filters"]))
    if content.get("parent") is not None:
        parent_seed = seed if parents is None else seed % parents
        content["parent"] = _parent(content["parent"], budget, parent_seed, folder, (*children, method))
    return make_run(content, origin=origin)


def _chosen(content: Mapping[str, Any], part: str, key: str, default: str) -> str:
    """A name in ``content``; the default if it is not a name, which make_run will refuse."""
    value = content[part].get(key, default) if isinstance(content.get(part), Mapping) else default
    return value if isinstance(value, str) else default


def _mapping(value: Any, name: str) -> Mapping[Any, Any]:
    """A part of a configuration file, which may be left empty."""
    if not isinstance(value, Mapping | None):
        raise ValueError(f"{name} is {value!r}, expected a mapping of keys to values")
    return value or {}


def _select(
    content: Mapping[str, Any],
    chosen: Mapping[str, str],
    sections: Mapping[str, tuple[str, ...]],
    file: str,
    place: str = "",
) -> dict[str, Any]:
    """``content`` without its sections, overridden by those of the chosen names. Every section is checked.

    Args:
        sections: the names that each may have.
    """
    result = {key: value for key, value in content.items() if key not in sections}
    for section in sections:
        for name, part in _mapping(content.get(section), f"{file}: {place}{section}").items():
            here = f"{place}{section}.{name}"
            if name not in sections[section]:
                raise ValueError(f"{file} sets {here}, which is not one of {list(sections[section])}")
            selected = _select(_mapping(part, f"{file}: {here}"), chosen, sections, file, f"{here}.")
            if name == chosen[section]:
                result = overlay(result, selected)
    return result


def _setting(dataset: str, keypoint_filter: str) -> str:
    """What distinguishes rows of one method in the published tables."""
    return str(DATASETS[dataset].setting).format(filter=keypoint_filter) if dataset in DATASETS else ""


def _parents(value: Any, file: str) -> int | None:
    """How many runs of a parent there are, by a budget's key ``parents``; None: one for each seed."""
    if value is not None and (type(value) is not int or value < 1):
        raise ValueError(f"{file}: parents is {value!r}, expected a number of runs, 1 or more")
    return value


def _parent(content: Any, budget: str, seed: int, folder: Path, children: tuple[str, ...]) -> dict[str, Any]:
    """From ``method, dataset, filter, seed`` of a parent to its complete configuration.

    Args:
        seed: of the parent, if it does not say.
    """
    file = f"{children[-1]}.yaml"
    parent = dict(_mapping(content, f"{file}: parent"))
    allowed = {"method", "dataset", "filter", "seed", "optimiser_state"}
    if unknown := sorted(parent.keys() - allowed, key=str):
        raise ValueError(f"{file} sets parent.{unknown[0]}, which is not one of {sorted(allowed)}")
    if "method" not in parent:
        raise ValueError(f"{file}: parent has no method: name the experiment whose run it starts from")
    if parent["method"] in children:
        raise ValueError(f"{file}: its parent {parent['method']!r} starts from it: {' <- '.join(children)}")
    given = {
        "data": {"dataset": parent.get("dataset", "willow")},
        "protocol": {"filter": parent.get("filter", "intersection")},
    }
    run = _load(parent["method"], budget, parent.get("seed", seed), folder, given, children)
    state = {"optimiser_state": parent["optimiser_state"]} if "optimiser_state" in parent else {}
    return {"run": run, **state}
