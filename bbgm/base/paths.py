"""Where things are: the project's root folder, and the folders that environment variables can move."""

import os
from pathlib import Path


def project_root() -> Path:
    """Folder of the checkout: ``BBGM_ROOT``, or the working folder or the nearest one above it that has a Snakefile.

    Raises:
        FileNotFoundError: no such folder has a Snakefile and ``BBGM_ROOT`` is not set, or its folder has none.
    """
    if given := _variable("BBGM_ROOT"):
        if not (given / "Snakefile").is_file():
            raise FileNotFoundError(f"no Snakefile in {given}: BBGM_ROOT is not the checkout's folder")
        return given
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if (folder / "Snakefile").is_file():
            return folder
    raise FileNotFoundError(f"no Snakefile in {here} or above it: work inside the checkout, or set BBGM_ROOT to it")


def _variable(name: str) -> Path | None:
    value = os.environ.get(name)
    if not value:
        return None
    try:
        return Path(value).expanduser().resolve()
    except RuntimeError as error:
        raise ValueError(f"{name} is {value!r}: there is no such user") from error


def _root(variable: str, default: str) -> Path:
    return _variable(variable) or project_root() / default


def data_root() -> Path:
    """Folder of the original data sets (``WILLOW-ObjectClass/`` ...): ``BBGM_DATA``, else ``data/``."""
    return _root("BBGM_DATA", "data")


def folder_root(name: str) -> Path:
    """A folder of custom data: an absolute path, or one relative to the data root."""
    path = Path(name).expanduser()
    return path if path.is_absolute() else data_root() / path


def weights_root() -> Path:
    """Folder of the backbone weights: ``BBGM_WEIGHTS``, else ``weights/``."""
    return _root("BBGM_WEIGHTS", "weights")


def cache_root() -> Path:
    """Folder of data that can be recomputed (demo data, features, crops): ``BBGM_CACHE``, else ``cache/``."""
    return _root("BBGM_CACHE", "cache")


def instances_root() -> Path | None:
    """Folder of graph matching instances with their best known values: ``BBGM_INSTANCES``, None if it is not set.

    Raises:
        ValueError: no such folder.
    """
    folder = _variable("BBGM_INSTANCES")
    if folder is not None and not folder.is_dir():
        raise ValueError(f"BBGM_INSTANCES is {str(folder)!r}: no such folder; correct it, or unset it")
    return folder


def results_root() -> Path:
    """Folder of the runs and tables: ``BBGM_RESULTS``, else ``results/``."""
    return _root("BBGM_RESULTS", "results")
