"""A demo tree appears whole or not at all, and is made once."""

import fcntl
import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bbgm.base.atomic import atomic_write, write_error
from bbgm.base.paths import cache_root
from bbgm.data import rendering
from bbgm.data.demo import spair, voc, willow

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Format:
    """One of the formats.

    Attributes:
        folder: the name of its tree.
        classes: as it names them.
        needs: the format whose tree must be there before.
        write: makes a tree, from the folder, the seed, and the number of images of a class.
    """

    folder: str
    classes: tuple[str, ...]
    write: Callable[[Path, int, int], None]
    needs: str | None = None


FORMATS: dict[str, Format] = {
    "willow": Format(willow.FOLDER, rendering.CLASSES, willow.write_tree),
    "voc": Format(voc.FOLDER, tuple(voc.NAMES.values()), voc.write_tree),
    "spair": Format(spair.FOLDER, tuple(voc.NAMES.values()), spair.write_tree, needs="voc"),
}
LEAST = {"willow": 4, "voc": 8, "spair": 8}
"""Fewest images of a class with which both parts have pairs, as a rule."""


def renderer_version() -> str:
    """Hash of the source of renderer and writers, first 8 hex digits: an edited one makes new images."""
    folders = (Path(rendering.__file__).parent, Path(__file__).parent)
    files = [file for folder in folders for file in sorted(folder.glob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def demo_root(seed: int, images_per_class: int) -> Path:
    """Where ``open_dataset`` keeps the demo data of these parameters; a root like ``BBGM_DATA``."""
    return cache_root() / "demo" / f"{renderer_version()}-seed{seed}-n{images_per_class}"


def manifest(seed: int, images_per_class: int, dataset: str = "willow") -> dict[str, Any]:
    """All that the images depend on."""
    return {
        "content": "rendered demo data of the bbgm package, no photographs",
        "format": dataset,
        "seed": seed,
        "images_per_class": images_per_class,
        "classes": list(FORMATS[dataset].classes),
        "renderer": renderer_version(),
    }


def make_demo(folder: Path, seed: int = 0, images_per_class: int = 40, dataset: str = "willow") -> Path:
    """Make the demo data of one format below ``folder``, unless they are there already.

    The tree appears at once, by a rename; a second process that wants the same one waits for the first.

    Args:
        folder: gets the format's folder, e.g. ``WILLOW-ObjectClass``; usable as ``BBGM_DATA``.
        seed: of all random numbers.
        images_per_class: of Willow's format, at least 4; the others grow with it, and need at least 8.
        dataset: "willow", "voc" or "spair", whose images are voc's.

    Returns:
        The format's folder.

    Raises:
        FileExistsError: there is one that this function did not make.
        ValueError: too few images, a negative seed, or no such format.
        bbgm.base.atomic.WriteError: the disk is full or not writable. Nothing half-written is left.
    """
    _check(seed, images_per_class, dataset)
    wanted, form = manifest(seed, images_per_class, dataset), FORMATS[dataset]
    tree = folder / form.folder
    if _is_whole(tree, wanted):
        return tree
    if form.needs:
        make_demo(folder, seed, images_per_class, form.needs)
    with _lock(folder):
        if _is_whole(tree, wanted):
            return tree
        if _read_manifest(tree) is None and tree.exists():
            raise FileExistsError(f"{tree} exists and is no demo data: choose another folder, or move it away")
        leftovers = f".{form.folder}.*.part"
        for leftover in folder.glob(leftovers):
            shutil.rmtree(leftover)
        part = folder / f".{form.folder}.{secrets.token_hex(4)}.part"
        try:
            _fill(part, form, wanted)
            if tree.exists():
                tree.rename(folder / f".{form.folder}.old.part")
            part.rename(tree)
        finally:
            for leftover in folder.glob(leftovers):
                shutil.rmtree(leftover)
    return tree


def make_all(folder: Path, seed: int = 0, images_per_class: int = 40, datasets: Sequence[str] = ()) -> dict[str, Path]:
    """Make the demo data of several formats, by default of all; see `make_demo`."""
    for dataset in datasets or FORMATS:
        _check(seed, images_per_class, dataset)  # a wrong name is told before the first image
    return {dataset: make_demo(folder, seed, images_per_class, dataset) for dataset in datasets or FORMATS}


def _check(seed: int, images_per_class: int, dataset: str) -> None:
    if dataset not in FORMATS:
        raise ValueError(f"the demo data have the formats {list(FORMATS)}, not {dataset!r}")
    if images_per_class < LEAST[dataset]:
        raise ValueError(
            f"images_per_class is {images_per_class}, must be at least {LEAST[dataset]} for the demo data in the "
            f"format of {dataset}: pairs to train, and pairs to test"
        )
    if seed < 0:
        raise ValueError(f"the seed of the demo data is {seed}, must not be negative")


def _fill(part: Path, form: Format, wanted: dict[str, Any]) -> None:
    try:
        part.mkdir()
        form.write(part, wanted["seed"], wanted["images_per_class"])
    except OSError as error:
        raise write_error(error, part) from error
    files = sorted(file.relative_to(part).as_posix() for file in part.rglob("*") if file.is_file())
    with atomic_write(part / MANIFEST, "w") as file:
        json.dump({**wanted, "files": files}, file, indent=1)


def _read_manifest(tree: Path) -> dict[str, Any] | None:
    """The manifest of a demo tree; None if there is none or it is not readable."""
    try:
        content = json.loads((tree / MANIFEST).read_text())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _is_whole(tree: Path, wanted: dict[str, Any]) -> bool:
    """Whether a tree is the wanted one, and no file of it was deleted."""
    found = _read_manifest(tree) or {}
    files = found.pop("files", [])
    return found == wanted and all((tree / file).is_file() for file in files)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Held by one process at a time; released by the system even when the process is killed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".demo.lock").open("a")
    except OSError as error:
        raise write_error(error, folder) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
