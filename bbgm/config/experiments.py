"""Experiments by name: a file of ``config/experiments``, or such a file with a variant of ``config/variants``.

``dgmc_pt`` has no file of its own: it is ``experiments/dgmc.yaml`` with ``variants/pt.yaml`` on top, in which
``{method}`` stands for ``dgmc`` and ``{title}`` for its title. If there is a file of that name, it is the experiment.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bbgm.base.paths import project_root
from bbgm.base.reading.foreign import without_companions
from bbgm.base.reading.yaml_files import read_yaml
from bbgm.base.registry import NAME

LONGEST = 200
"""Characters of a name."""


def experiment_names(config_folder: Path | None = None) -> tuple[str, ...]:
    """All experiments, sorted: the files, and each file with each variant."""
    files, variants = _stems(config_folder, "experiments"), _stems(config_folder, "variants")
    return tuple(sorted({*files, *(f"{name}_{variant}" for name in files for variant in variants)}))


def is_variant(method: str, variant: str) -> bool:
    """Whether an experiment is called as that variant of another one, such as ``pretrain``."""
    return method.endswith(f"_{variant}")


def read_experiment(method: str, config_folder: Path | None = None) -> dict[Path, dict[str, Any]]:
    """The files that make up an experiment, by path, weakest first: its own, its variant's, those that it is ``like:``.

    The key ``like`` is left out, and the names in a variant are filled in.

    Raises:
        ValueError: no such experiment, or a chain that comes back to where it began.
    """
    layers: dict[Path, dict[str, Any]] = {}
    name: Any = method
    while name is not None:
        file, base = _find(name, config_folder)
        if file in layers:
            raise ValueError(f"{file.name} is like itself: {', '.join(path.stem for path in layers)}")
        content = read_yaml(file)
        following = content.pop("like", None)
        if base is not None:
            content, following = _fill(content, "{method}", base), base
        layers[file] = content
        name = following
    title, filled = "", {}
    for file, content in reversed(layers.items()):
        filled[file] = _fill(content, "{title}", title)
        title = str(filled[file].get("title", title))
    return filled


def _find(name: str, config_folder: Path | None) -> tuple[Path, str | None]:
    """The file of an experiment; and for a variant the experiment that it is a variant of.

    Raises:
        ValueError: there is neither.
    """
    folder = _folder(config_folder)
    file = folder / "experiments" / f"{name}.yaml"
    # A name leads to no file outside of the folder, and is short enough for one.
    if not NAME.fullmatch(str(name)) or len(str(name)) > LONGEST or not file.is_file():
        for variant in sorted(_stems(config_folder, "variants"), key=len, reverse=True):
            base = str(name).removesuffix(f"_{variant}")
            if (
                base != name
                and NAME.fullmatch(base)
                and len(base) <= LONGEST
                and (folder / "experiments" / f"{base}.yaml").is_file()
            ):
                return folder / "variants" / f"{variant}.yaml", base
        endings = ", ".join(f"_{variant}" for variant in sorted(_stems(config_folder, "variants"))) or "none"
        raise ValueError(
            f"no configuration {file}: {name!r} is not one of {sorted(_stems(config_folder, 'experiments'))}, and not "
            f"a variant of one of them, whose name ends in one of {endings}"
        )
    return file, None


def _fill(content: Any, placeholder: str, text: str) -> Any:
    """``content`` with a placeholder in its strings replaced."""
    if isinstance(content, Mapping):
        return {key: _fill(value, placeholder, text) for key, value in content.items()}
    return content.replace(placeholder, text) if isinstance(content, str) else content


def _folder(config_folder: Path | None) -> Path:
    return config_folder or project_root() / "config"


def _stems(config_folder: Path | None, kind: str) -> list[str]:
    return [file.stem for file in without_companions((_folder(config_folder) / kind).glob("*.yaml"))]
