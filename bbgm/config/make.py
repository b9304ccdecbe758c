"""From a mapping to the configuration of a run: its classes, and the messages about errors."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, ValidationError, create_model

from bbgm.base.registry import Registry
from bbgm.config.models import DataConfig
from bbgm.config.parts import DATASETS, METHODS
from bbgm.config.run import RunConfig


def make_run(content: Mapping[str, Any], origin: str = "configuration") -> RunConfig:
    """Validate a mapping.

    Keys of other methods and data sets are ignored: a budget may set values for several of them, and runs stored when
    every configuration had them can still be read. An option of another data set that is not at its default is an
    error, because it would change what is read.

    Raises:
        ValueError: one line for each wrong key, with its path, its value and what is allowed.
    """
    data = content.get("data", {})
    model, dataset = (
        content.get("model", "bbgm"),
        data.get("dataset", "willow") if isinstance(data, Mapping) else "willow",
    )
    wrong = [line for one, name in ((METHODS, model), (DATASETS, dataset)) if (line := _unknown(one, name))]
    if wrong:
        raise ValueError(f"{origin} is not valid:\n" + "\n".join(wrong))
    kind = run_class(model, dataset)
    own = _without_foreign(content, kind, METHODS)
    if isinstance(data, Mapping):
        own["data"] = {**data, "dataset": dataset}
        if foreign := _foreign_options(own["data"], dataset):
            raise ValueError(f"{origin} is not valid:\n  data: {foreign}")
        own["data"] = _without_foreign(own["data"], DATASETS[dataset], DATASETS)
    parent = own.get("parent")
    if isinstance(parent, Mapping) and isinstance(parent.get("run"), Mapping):
        own["parent"] = {**parent, "run": make_run(parent["run"], f"{origin}: parent.run")}
    try:
        return kind.model_validate(own)
    except ValidationError as error:
        raise ValueError(f"{origin} is not valid:\n" + "\n".join(_lines(kind, error))) from error


def make_data(dataset: str = "willow", **settings: Any) -> DataConfig:
    """The settings of a data set, e.g. ``make_data("voc", source="original")``.

    Raises:
        ValueError: no such data set, or settings that are not valid.
    """
    data: DataConfig = DATASETS[dataset](dataset=dataset, **settings)
    return data


def run_class(model: str, dataset: str) -> type[RunConfig]:
    """The class of the configurations of a method on a data set."""
    return _run_class(METHODS[model], DATASETS[dataset])


@cache
def _run_class(method: type[RunConfig], data: type[DataConfig]) -> type[RunConfig]:
    return create_model(method.__name__, __base__=method, __module__=method.__module__, data=(data, ...))


def setting_names() -> set[str]:
    """Dotted names of all settings that some run has, such as ``network.backbone``."""
    names: set[str] = set()
    for method in METHODS:
        for dataset in DATASETS:
            names |= _names_in(run_class(method, dataset))
    return names


def _names_in(kind: type[BaseModel], prefix: str = "") -> set[str]:
    names = set()
    for key in _keys(kind) - {"parent"}:
        section = _section(kind, key)
        names |= _names_in(section, f"{prefix}{key}.") if section else {prefix + key}
    return names


def _unknown(registry: Registry[Any], name: Any) -> str:
    """An error line, if no part has this name."""
    if isinstance(name, str) and name in registry:
        return ""
    return (
        f"  {registry.key}: not one of {list(registry.names())} (given: {name!r}); if a plugin registers it, "
        "name the plugin in 'plugins' of config/config.yaml, or with --plugin"
    )


def _section(kind: type[BaseModel], key: str) -> type[BaseModel] | None:
    """The class of a section, if that key of a class is one."""
    field = kind.model_fields.get(key)
    if field is None:
        return None
    annotation = field.annotation
    candidates = (annotation, *get_args(annotation))
    return next((one for one in candidates if isinstance(one, type) and issubclass(one, BaseModel)), None)


def _keys(kind: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in kind.model_fields.items()}


def _without_foreign(
    content: Mapping[str, Any], kind: type[BaseModel], registry: Registry[Any], place: tuple[str, ...] = ()
) -> dict[str, Any]:
    """``content`` without the keys that only other classes of a registry know, section by section.

    The other classes are imported only if there is a key that this one does not know.
    """
    own: dict[str, Any] = {}
    for key, value in content.items():
        if key not in _keys(kind) and _known_elsewhere(registry, (*place, key)):
            continue  # an unknown key stays: the validation reports it
        section = _section(kind, key) if key not in ("data", "parent") else None
        if section is not None and isinstance(value, Mapping):
            value = _without_foreign(value, section, registry, (*place, key))
        own[key] = value
    return own


def _known_elsewhere(registry: Registry[Any], path: Sequence[str]) -> bool:
    for name in registry:
        kind: type[BaseModel] | None = registry[name]
        for part in path[:-1]:
            kind = _section(kind, part) if kind else None
        if kind and path[-1] in _keys(kind):
            return True
    return False


def _foreign_options(content: Mapping[str, Any], dataset: str) -> str:
    """What is wrong with options of other data sets that are set to more than their default; empty if nothing."""
    own = _keys(DATASETS[dataset])
    if content.keys() <= own:
        return ""
    for name in DATASETS:
        fields = DATASETS[name].model_fields
        for key in (key for key in content if key in fields and key not in own):
            value = content[key]
            default = fields[key].get_default()
            if (tuple(value) if isinstance(value, list) else value) != default:
                return f"{key} is an option of {name}, not of {dataset}: leave it out"
    return ""


def _lines(kind: type[RunConfig], error: ValidationError) -> Iterator[str]:
    for item in error.errors():
        name = ".".join(str(part) for part in item["loc"]) or "run"
        if item["type"] == "extra_forbidden":
            yield f"  {name}: no such key; the keys here are {_keys_at(kind, item['loc'][:-1])}"
        else:
            given = "" if item["type"] == "missing" or not item["loc"] else f" (given: {item['input']!r})"
            yield f"  {name}: {item['msg'].removeprefix('Value error, ')}{given}"


def _keys_at(kind: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """Names of the keys of a part of the configuration."""
    for part in place:
        kind = _section(kind, str(part)) or kind
    return [field.alias or name for name, field in kind.model_fields.items()]
