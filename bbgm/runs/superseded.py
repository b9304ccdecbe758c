"""Runs of another configuration: moved aside, never deleted, and restored when they are needed again.

``<run>/superseded/<hash>/`` holds the files of a run whose folder another configuration took over. The hash is that of
its ``config.yaml`` (`bbgm.config.hash_of`).
"""

import logging
from pathlib import Path

from bbgm.base.atomic import remove_leftovers, write_error
from bbgm.config import RunConfig, hash_of, read_yaml
from bbgm.runs.results import FILES, OPTIMISER, load_config, read_record

FOLDER = "superseded"
CHECKPOINT = "checkpoint"
# config.yaml is moved last: while it is there, an interrupted move is resumed.
_MOVED = (*(name for name in (*FILES, OPTIMISER, CHECKPOINT) if name != "config.yaml"), "config.yaml")
log = logging.getLogger(__name__)


def make_room(folder: Path, config: RunConfig) -> None:
    """Prepare the folder of a run for a configuration: files of another one are moved aside.

    Temporary files of writers that were killed are deleted. A finished run of this configuration that was moved aside
    earlier is restored.

    Raises:
        WriteError: the folder cannot be written to.
    """
    remove_leftovers(folder)
    remove_leftovers(folder / CHECKPOINT)
    if _holds(folder, config):
        return
    try:
        _set_aside(folder)
        _bring_back(folder, config)
    except OSError as error:
        raise write_error(error, folder / FOLDER) from error


def _holds(folder: Path, config: RunConfig) -> bool:
    """Whether the folder belongs to a run of this configuration, finished or not."""
    try:
        return load_config(folder).hash() == config.hash()
    except ValueError:  # no configuration, or an unreadable one
        return False


def _set_aside(folder: Path) -> None:
    present = [name for name in _MOVED if (folder / name).exists()]
    if not present:
        return
    try:
        name = hash_of(read_yaml(folder / "config.yaml"))
    except (ValueError, TypeError):
        name = "unreadable"
    target = _free(folder / FOLDER / name)
    target.mkdir(parents=True, exist_ok=True)
    for file in present:
        (folder / file).rename(target / file)
    log.warning("%s holds a run of another configuration: moved to %s", folder, target)


def _free(wanted: Path) -> Path:
    """The folder itself if it is free or left half filled by an interrupted move; else a numbered one."""
    number, target = 1, wanted
    while (target / "config.yaml").exists():
        number += 1
        target = wanted.with_name(f"{wanted.name}-{number}")
    return target


def _bring_back(folder: Path, config: RunConfig) -> None:
    for earlier in sorted((folder / FOLDER).glob("*")):
        record = read_record(earlier)
        if record is not None and record.config.hash() == config.hash():
            for name in _MOVED:
                if (earlier / name).exists():
                    (earlier / name).rename(folder / name)
            earlier.rmdir()
            log.info("%s: the run of this configuration is brought back from %s", folder, earlier)
            return
