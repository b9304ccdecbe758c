"""Runs of another configuration: moved aside, never deleted, and brought back when they are wanted again.

``<run>/superseded/<hash>/`` holds the files of a run whose folder another configuration took over. The hash is that of
its ``config.yaml`` (`bbgm.config.hash_of`). A move is noted in ``superseded/.move.json`` before its first file, so that
one that was interrupted is completed at the next start.
"""

import logging
from contextlib import suppress
from pathlib import Path

from bbgm.base.atomic import remove_leftovers, write_error, write_json
from bbgm.base.reading.untrusted import parse_json
from bbgm.config import RunConfig, hash_of, read_yaml
from bbgm.runs.checkpoint import DIVERGED
from bbgm.runs.checks.checksums import RECORD, altered_files
from bbgm.runs.results import FILES, OPTIMISER, finished, load_config, read_record

FOLDER = "superseded"
CHECKPOINT = "checkpoint"
_MOVED = (*FILES, OPTIMISER, CHECKPOINT)
_NOTE = ".move.json"
log = logging.getLogger(__name__)


def make_room(folder: Path, config: RunConfig) -> None:
    """Prepare the folder of a run for a configuration: what it holds of another one is moved aside.

    So is a record that ends in ``metrics.json`` but was damaged or edited. Temporary files of writers that were killed
    are deleted. An earlier run of this configuration that was moved aside is brought back, finished or not.

    Raises:
        WriteError: the folder cannot be written to.
    """
    for place in (folder, folder / CHECKPOINT, folder / CHECKPOINT / DIVERGED, folder / FOLDER):
        remove_leftovers(place)
    try:
        _complete_move(folder)
        damaged = (folder / RECORD).exists() and finished(config, folder) is None
        if damaged or not _holds(folder, config):
            _set_aside(folder, _describe(folder, config))
            _bring_back(folder, config)
    except OSError as error:
        raise write_error(error, folder / FOLDER) from error


def _holds(folder: Path, config: RunConfig) -> bool:
    """Whether the folder belongs to a run of this configuration, finished or not."""
    try:
        return load_config(folder).hash() == config.hash()
    except ValueError:  # no configuration, or an unreadable one
        return False


def _describe(folder: Path, config: RunConfig) -> str:
    """What stands in the way of a run of this configuration."""
    altered = altered_files(folder) if (folder / RECORD).exists() else {}
    if altered:
        return f"a damaged run ({'; '.join(f'{name} {fault}' for name, fault in altered.items())})"
    return "a damaged run" if _holds(folder, config) else "a run of another configuration"


def _set_aside(folder: Path, what: str) -> None:
    if not any((folder / name).exists() for name in _MOVED):
        return
    try:
        name = hash_of(read_yaml(folder / "config.yaml"))
    except Exception:  # a content of any kind, which need not be one of a configuration
        name = "unreadable"
    target = _free(folder / FOLDER / name)
    _move(folder, folder, target)
    log.warning("%s holds %s: moved to %s", folder, what, target)


def _free(wanted: Path) -> Path:
    """The folder itself, or a numbered one, that does not exist yet."""
    number, target = 1, wanted
    while target.exists():
        number += 1
        target = wanted.with_name(f"{wanted.name}-{number}")
    return target


def _bring_back(folder: Path, config: RunConfig) -> None:
    earlier = [one for one in sorted((folder / FOLDER).glob("*")) if _holds(one, config)]
    whole = [one for one in earlier if (record := read_record(one)) and record.config.hash() == config.hash()]
    unfinished = [one for one in earlier if not (one / RECORD).exists()]
    if wanted := [*whole, *unfinished][:1]:
        _move(folder, wanted[0], folder)
        log.info("%s: the run of this configuration is brought back from %s", folder, wanted[0])


def _move(folder: Path, source: Path, target: Path) -> None:
    note = {"source": str(source.relative_to(folder)), "target": str(target.relative_to(folder))}
    write_json(folder / FOLDER / _NOTE, note)
    _complete_move(folder)


def _complete_move(folder: Path) -> None:
    """Carry out the noted move, or the rest of it."""
    path = folder / FOLDER / _NOTE
    try:
        note = parse_json(path.read_bytes())
        source, target = folder / note["source"], folder / note["target"]
    except (OSError, ValueError, TypeError, KeyError):  # no move was begun
        return
    # Whoever passed the folder on may have written the note: nothing outside of the run is moved.
    if not {source, target} <= {folder, *(folder / FOLDER).iterdir(), folder / FOLDER / target.name}:
        raise ValueError(f"{path} names a move from {source} to {target}, outside of the run: delete it")
    target.mkdir(parents=True, exist_ok=True)
    for name in _MOVED:
        if (source / name).exists():
            (source / name).rename(target / name)
    path.unlink()
    if source != folder:
        with suppress(OSError):  # it holds something of the user's own
            source.rmdir()
