"""Is a data set complete? Its files are compared with counts and, if there is one, with a manifest.

A manifest is a CSV file with a header and one row per file: name below the folder, size in bytes, sha256. That of
Willow is part of this package (``manifests/``); a download without one gets a ``<place>.manifest.csv`` beside it.
"""

import csv
import hashlib
import io
import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bbgm.base.atomic import atomic_write
from bbgm.base.reading.foreign import is_companion
from bbgm.data.fetch.sources import Item

HEADER = ["file", "bytes", "sha256"]


class FileState(NamedTuple):
    """Size in bytes, and sha256 as hex digits."""

    bytes: int
    sha256: str


Manifest = dict[str, FileState]


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises:
        ValueError: it is damaged.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        if header != HEADER:
            raise ValueError(f"its header is {header}, must be {HEADER}")
        return {name: FileState(int(size), sha256) for name, size, sha256 in rows}
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path} is not a manifest ({error}): delete it") from error


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest, sorted by name, atomically."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([HEADER, *([name, *manifest[name]] for name in sorted(manifest))])
    with atomic_write(path, "w") as file:
        file.write(text.getvalue())


def file_state(path: Path) -> FileState:
    """Size and sha256 of a file."""
    with path.open("rb") as file:
        return FileState(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def manifest_path(place: Path) -> Path:
    """Where the manifest of a download is."""
    return place.with_name(f"{place.name}.manifest.csv")


@cache
def packaged_manifest(file: str) -> Mapping[str, FileState]:
    """A manifest that comes with this package; "" is an empty one."""
    return read_manifest(Path(__file__).parent / "manifests" / file) if file else {}


@cache
def published_names(manifest: str, cls: str) -> frozenset[str]:
    """Names, without suffix, of the images of a class in a packaged manifest."""
    files = map(PurePosixPath, packaged_manifest(manifest))
    return frozenset(file.stem for file in files if file.parent.name == cls)


def sizes_in(place: Path) -> dict[str, int]:
    """Every file below a folder, by its name there, and its size in bytes; without a Mac's companions."""
    sizes: dict[str, int] = {}
    for folder, _, files in os.walk(place, followlinks=True):  # people link to images on another disk
        below = Path(folder).relative_to(place)
        for file in files:
            if is_companion(below / file):
                continue
            with suppress(FileNotFoundError):  # a broken link
                sizes[(below / file).as_posix()] = os.stat(os.path.join(folder, file)).st_size
    return sizes


def matching(item: Item, names: Collection[str]) -> dict[str, list[str]]:
    """For each pattern of ``at_least``, the names that match it; a star matches part of a name, without a slash."""
    patterns = {pattern: re.compile(re.escape(pattern).replace(r"\*", "[^/]*")) for pattern in item.at_least}
    return {pattern: [name for name in names if regex.fullmatch(name)] for pattern, regex in patterns.items()}


def missing_files(item: Item, names: Collection[str]) -> list[str]:
    """What is missing from a tree of these files, one phrase each; an empty list if nothing is."""
    found = matching(item, names)
    lacks = [
        f"{len(found[pattern])} of at least {count} files {pattern}"
        for pattern, count in item.at_least.items()
        if len(found[pattern]) < count
    ]
    lost = [name for name in packaged_manifest(item.manifest) if name not in names]
    return [*lacks, *([f"{_some(lost)} missing"] if lost else [])]


def changed_files(item: Item, place: Path, sizes: Mapping[str, int], thorough: bool) -> list[str]:
    """What differs from the manifest, one phrase each: foreign files that would join a class, other sizes.

    Args:
        sizes: of the files below ``place``, as from `sizes_in`.
        thorough: hash the files too.
    """
    published = packaged_manifest(item.manifest)
    lost: list[str] = []
    foreign: list[str] = []
    known = published
    if published:
        foreign = sorted({name for names in matching(item, sizes).values() for name in names} - published.keys())
    elif manifest_path(place).is_file():
        known = read_manifest(manifest_path(place))
        lost = [name for name in known if name not in sizes]
    there = {name: state for name, state in known.items() if name in sizes}
    resized = [name for name, state in there.items() if sizes[name] != state.bytes]
    other = [
        name
        for name, state in there.items()
        if thorough and sizes[name] == state.bytes and file_state(place / name) != state
    ]
    phrases = {"missing": lost, "not of the data set": foreign, "of another size": resized, "of other content": other}
    return [f"{_some(names)} {phrase}" for phrase, names in phrases.items() if names]


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
