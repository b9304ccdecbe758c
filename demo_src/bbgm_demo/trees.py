"""Trees of demo data: each appears whole or not at all, and is made once."""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bbgm_demo.files import tree_lock, write_error
from bbgm_demo.formats import FORMATS, Format

MANIFEST = "manifest.json"
"""A file in each tree: all that its images depend on, and the names of its files."""


def renderer_version() -> str:
    """First 8 hex digits of the hash of this package's source: another renderer makes new trees."""
    folder = Path(__file__).parent
    files = sorted(folder.rglob("*.py"), key=lambda file: file.relative_to(folder).as_posix())
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def manifest(format: str, seed: int, images_per_class: int) -> dict[str, Any]:
    """All that the images of a tree depend on."""
    return {
        "content": "rendered demo data of the bbgm package, no photographs",
        "format": format,
        "seed": seed,
        "images_per_class": images_per_class,
        "classes": list(FORMATS[format].classes),
        "renderer": renderer_version(),
    }


def make_tree(folder: Path, format: str, seed: int = 0, images_per_class: int = 40) -> Path:
    """Write the demo data of one format into a folder, unless they are there already.

    The tree appears at once, by a rename; a second process that wants the same one waits for the first.

    Args:
        folder: gets the format's folder, e.g. ``WILLOW-ObjectClass``.
        format: "willow", "voc" or "spair"; the images of "spair" are those of "voc", which is written first.
        seed: of all random numbers.
        images_per_class: in Willow's format, at least 4; the other formats grow with it, and need at least 8.

    Returns:
        The format's folder.

    Raises:
        FileExistsError: the format's folder exists and was not made by this function.
        ValueError: too few images, a negative seed, or an unknown format.
        WriteError: the disk is full or not writable. Nothing half-written is left.
    """
    _check(format, seed, images_per_class)
    wanted, form = manifest(format, seed, images_per_class), FORMATS[format]
    tree = folder / form.folder
    if _is_whole(tree, wanted):
        return tree
    if form.needs:
        make_tree(folder, form.needs, seed, images_per_class)
    with tree_lock(tree):
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


def make_trees(folder: Path, formats: Sequence[str] = (), seed: int = 0, images_per_class: int = 40) -> dict[str, Path]:
    """Write the demo data of several formats, by default of all; see `make_tree`.

    Returns:
        The folder of each format.
    """
    for format in formats or FORMATS:
        _check(format, seed, images_per_class)  # a wrong name is reported before the first image is rendered
    return {format: make_tree(folder, format, seed, images_per_class) for format in formats or FORMATS}


def _check(format: str, seed: int, images_per_class: int) -> None:
    if format not in FORMATS:
        raise ValueError(f"the demo data have the formats {list(FORMATS)}, not {format!r}")
    if images_per_class < FORMATS[format].least:
        raise ValueError(
            f"images_per_class is {images_per_class}, must be at least {FORMATS[format].least} for the demo data in "
            f"the format of {format}: pairs to train, and pairs to test"
        )
    if seed < 0:
        raise ValueError(f"the seed of the demo data is {seed}, must not be negative")


def _fill(part: Path, form: Format, wanted: dict[str, Any]) -> None:
    try:
        part.mkdir()
        form.write(part, wanted["seed"], wanted["images_per_class"])
        files = sorted(file.relative_to(part).as_posix() for file in part.rglob("*") if file.is_file())
        with (part / MANIFEST).open("w", encoding="utf-8", newline="") as file:
            json.dump({**wanted, "files": files}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise write_error(error, part) from error


def _read_manifest(tree: Path) -> dict[str, Any] | None:
    """The manifest of a tree; None if there is none or it is not readable."""
    try:
        content = json.loads((tree / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _is_whole(tree: Path, wanted: dict[str, Any]) -> bool:
    """Whether a tree is the wanted one, and none of its files was deleted."""
    found = _read_manifest(tree) or {}
    files = found.pop("files", [])
    return found == wanted and all((tree / file).is_file() for file in files)
