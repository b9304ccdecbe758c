"""The data sets and weights that can be downloaded: ``sources.toml``, which explains every key at its top."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bbgm.base.paths import data_root, weights_root

ROOTS = {"BBGM_DATA": data_root, "BBGM_WEIGHTS": weights_root}


@dataclass(frozen=True)
class Item:
    """One thing to download; the attributes are the keys of ``sources.toml``, and ``name`` is the table's name."""

    name: str
    title: str
    root: str
    place: str
    archive: str
    mirrors: tuple[str, ...]
    limit_mb: int
    licence: str
    citation: str
    also: tuple[str, ...] = ()
    inside: str = ""
    size: int | None = None
    about: str = ""
    checksum: str = ""
    at_least: Mapping[str, int] = field(default_factory=dict)
    manifest: str = ""

    def folder(self) -> Path:
        """Where ``place`` is expected: the folder that ``root`` names."""
        return ROOTS[self.root]()

    def locate(self, folder: Path) -> Path:
        """Where it is below ``folder``, or where it would be put."""
        places = [folder / place for place in (self.place, *self.also)]
        return next((place for place in places if place.exists()), places[0])

    @property
    def limit(self) -> int:
        """Bytes."""
        return self.limit_mb * 1_000_000

    def by_hand(self, folder: Path | None = None) -> str:
        """What to do with a file that was downloaded elsewhere."""
        folder = folder or self.folder()
        if not self.inside:
            return f"save {self.archive} as {folder / self.place}"
        return (
            f"put {self.archive} into {folder} and run the same command, which then needs no network; or unpack its "
            f"folder {self.inside} as {folder / self.place}"
        )

    def without_network(self, folder: Path) -> str:
        """The same, and where the file is from."""
        return f"download {' or '.join(self.mirrors)}, {self.by_hand(folder)}"


@cache
def registry() -> dict[str, Item]:
    """Every item, by name, in the order of the file."""
    with (Path(__file__).parent / "sources.toml").open("rb") as file:
        tables: dict[str, dict[str, Any]] = tomllib.load(file)
    frozen = {name: {key: _frozen(value) for key, value in table.items()} for name, table in tables.items()}
    return {name: Item(name=name, **table) for name, table in frozen.items()}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def find(name: str) -> Item:
    """The item of this name.

    Raises:
        ValueError: there is none.
    """
    if name not in registry():
        raise ValueError(f"{name!r} is not one of {list(registry())}: these can be downloaded")
    return registry()[name]
