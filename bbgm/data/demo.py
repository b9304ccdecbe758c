"""The demo data: a rendered counterpart of Willow ObjectClass, in its on-disk format.

The same five classes, with the same ten keypoints each, as random 3-D objects: shape, viewpoint, paint, light,
background and things that stand in front differ from image to image. Made in seconds, the same bytes for the same seed.
"""

import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.io import savemat

from bbgm.atomic import atomic_write, write_error
from bbgm.data import rendering
from bbgm.data.split import class_key
from bbgm.data.willow import FOLDER
from bbgm.paths import cache_root
from bbgm.progress import progress

MANIFEST = "manifest.json"


def renderer_version() -> str:
    """Hash of the renderer's source, first 8 hex digits: an edited renderer makes new images."""
    files = sorted(Path(rendering.__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def demo_root(seed: int, images_per_class: int) -> Path:
    """Where ``open_dataset`` keeps the demo data of these parameters; a root like ``BBGM_DATA``."""
    return cache_root() / "demo" / f"{renderer_version()}-seed{seed}-n{images_per_class}"


def manifest(seed: int, images_per_class: int) -> dict[str, Any]:
    """All that the images depend on."""
    return {
        "content": "rendered demo data of the bbgm package, no photographs",
        "seed": seed,
        "images_per_class": images_per_class,
        "classes": list(rendering.CLASSES),
        "renderer": renderer_version(),
    }


def make_demo(folder: Path, seed: int = 0, images_per_class: int = 40) -> Path:
    """Make the demo data below ``folder``, unless they are there already.

    The tree appears at once, by a rename; a second process that wants the same one waits for the first.

    Args:
        folder: gets a folder ``WILLOW-ObjectClass``; usable as ``BBGM_DATA``.
        seed: of all random numbers.
        images_per_class: at least 4, two for training and two for testing.

    Returns:
        The folder ``WILLOW-ObjectClass``.

    Raises:
        FileExistsError: there is one that this function did not make.
        ValueError: too few images, or a negative seed.
        bbgm.atomic.WriteError: the disk is full or not writable. Nothing half-written is left.
    """
    if images_per_class < 4:
        raise ValueError(f"images_per_class is {images_per_class}, must be at least 4: two to train, two to test")
    if seed < 0:
        raise ValueError(f"the seed of the demo data is {seed}, must not be negative")
    tree, wanted = folder / FOLDER, manifest(seed, images_per_class)
    if _is_whole(tree, wanted):
        return tree
    with _lock(folder):
        if _is_whole(tree, wanted):
            return tree
        if _read_manifest(tree) is None and tree.exists():
            raise FileExistsError(f"{tree} exists and is no demo data: choose another folder, or move it away")
        for leftover in folder.glob(f".{FOLDER}.*.part"):
            shutil.rmtree(leftover)
        part = folder / f".{FOLDER}.{secrets.token_hex(4)}.part"
        try:
            _write_tree(part, seed, images_per_class)
            with atomic_write(part / MANIFEST, "w") as file:
                json.dump(wanted, file, indent=1)
            if tree.exists():
                tree.rename(folder / f".{FOLDER}.old.part")
            part.rename(tree)
        finally:
            for leftover in folder.glob(f".{FOLDER}.*.part"):
                shutil.rmtree(leftover)
    return tree


def _read_manifest(tree: Path) -> dict[str, Any] | None:
    """The manifest of a demo tree; None if there is none or it is not readable."""
    try:
        content = json.loads((tree / MANIFEST).read_text())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _is_whole(tree: Path, wanted: dict[str, Any]) -> bool:
    """Whether a tree is the wanted one, and no file of it was deleted."""
    return _read_manifest(tree) == wanted and all(
        (tree / cls / f"demo_{index:04d}{suffix}").is_file()
        for cls in wanted["classes"]
        for index in range(wanted["images_per_class"])
        for suffix in (".png", ".mat")
    )


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


def _write_tree(tree: Path, seed: int, images_per_class: int) -> None:
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        jobs = [
            pool.submit(write_example, tree / cls / f"demo_{index:04d}", cls, [seed, class_key(cls), index])
            for cls in rendering.CLASSES
            for index in range(images_per_class)
        ]
        try:
            for job in progress(jobs, "rendering the demo data"):
                job.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def write_example(stem: Path, cls: str, seed: list[int]) -> None:
    """Render one object; write the picture and its annotation."""
    pixels, xy = rendering.render_image(cls, np.random.default_rng(seed))
    with atomic_write(stem.with_suffix(".png")) as file:
        Image.fromarray(pixels).save(file, format="png", compress_level=3)
    with atomic_write(stem.with_suffix(".mat")) as file:
        file.write(mat_bytes(xy))


def mat_bytes(xy: np.ndarray) -> bytes:
    """A .mat file with ``pts_coord`` = xy.T, without the date that SciPy writes into its header."""
    buffer = BytesIO()
    savemat(buffer, {"pts_coord": np.ascontiguousarray(xy.T, dtype=np.float64)})
    return b"MATLAB 5.0 MAT-file".ljust(116) + buffer.getvalue()[116:]
