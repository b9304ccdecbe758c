"""SPair-71k (Min et al. 2019) in its original format.

::

    SPair-71k/Layout/large/{trn,val,test}.txt             one pair per line: 000001-2008_000585-2008_002221:aeroplane
    SPair-71k/PairAnnotation/{trn,val,test}/<line>.json   keypoints that both images have; difficulty
    SPair-71k/JPEGImages/<class>/2008_000585.jpg

As in the authors' code the whole image is the input, the keypoints are those of the pair's annotation, training draws a
class and then one of its pairs, and all of them are tested. Copies on other file systems write ``_`` for ``:``.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bbgm.base.reading.foreign import describe, joined
from bbgm.base.reading.untrusted import parse_json
from bbgm.data.fetch.sources import find
from bbgm.data.images.crops import CropCache
from bbgm.data.images.drops import Drop, DropReport
from bbgm.data.images.keypoints import FRAME, Dataset, ImagePair, KeypointImage, Subset
from bbgm.data.images.pictures import image_size
from bbgm.data.readers.layout import elsewhere

FOLDER = "SPair-71k"
LAYOUT = "large"
PARTS: dict[Subset, str] = {"train": "trn", "test": "test"}
CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "dog", "horse"),
    *("motorbike", "person", "pottedplant", "sheep", "train", "tvmonitor"),
)
DIFFICULTY = {
    "viewpoint": "viewpoint_variation",
    "scale": "scale_variation",
    "truncation": "truncation",
    "occlusion": "occlusion",
    "mirror": "mirror",
}
"""Keys of a pair's label, and their names in its file. Viewpoint and scale: 0 easy, 1 medium, 2 hard."""

_PAIR = re.compile(rf"\d+-[^:]+-[^:]+[:_](?P<cls>{'|'.join(CLASSES)})")


def how_to_get(root: Path) -> str:
    """How a user gets the data set: where it goes, and where it comes from."""
    return (
        f"SPair-71k is expected in {root} (Layout/, PairAnnotation/, JPEGImages/): run 'bbgm data download spair', "
        f"or set BBGM_DATA to the folder that has {FOLDER}/. By hand: {find('spair').without_network(root.parent)}"
    )


def parse_difficulty(label: str) -> dict[str, int]:
    """The flags in a pair's label, by the keys of `DIFFICULTY`; empty for an empty label."""
    return {key: int(value) for key, value in (item.split("=") for item in label.split())}


@dataclass(frozen=True, eq=False)
class PairRecord:
    """One pair's annotation: K common keypoints, px of the original images.

    Attributes:
        cls: the class. images: names of the two files. sizes: their width and height, px.
        names: (K,) identifiers. xy: two arrays (K, 2) float64.
        difficulty: label, e.g. ``viewpoint=0 scale=2 truncation=1 occlusion=0 mirror=0``.
    """

    path: Path
    cls: str
    images: tuple[str, str]
    sizes: tuple[tuple[int, int], tuple[int, int]]
    names: tuple[str, ...]
    xy: tuple[np.ndarray, np.ndarray]
    difficulty: str


def read_pair(path: Path) -> PairRecord:
    """Read one file of ``PairAnnotation/``.

    Raises:
        ValueError: not JSON, a key is missing, or keypoints that are not finite, not common, or share a name.
    """
    try:
        content: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        names = tuple(str(name) for name in content["kps_ids"])
        xy = tuple(np.array(content[key], dtype=np.float64).reshape(-1, 2) for key in ("src_kps", "trg_kps"))
        sizes = tuple((int(size[0]), int(size[1])) for size in (content["src_imsize"], content["trg_imsize"]))
        label = " ".join(f"{key}={int(content[name])}" for key, name in DIFFICULTY.items())
        images = str(content["src_imname"]), str(content["trg_imname"])
        cls = str(content["category"])
    except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
        fault = f"is not the annotation of a pair ({type(error).__name__}: {error}): it is damaged, copy it again"
        raise ValueError(describe(path, fault)) from error
    if not len(names) == len(xy[0]) == len(xy[1]):
        raise ValueError(f"{path} has {len(names)} kps_ids, {len(xy[0])} src_kps and {len(xy[1])} trg_kps: correct it")
    faults = [
        f"it has {count} keypoints named {name!r}: names must be unique; correct it"
        for name, count in Counter(names).items()
        if count > 1
    ]
    finite = np.isfinite(xy[0]).all(axis=1) & np.isfinite(xy[1]).all(axis=1)
    faults += [
        f"keypoint {names[k]!r} is at {xy[0][k].tolist()} and {xy[1][k].tolist()}: correct it"
        for k in np.flatnonzero(~finite)
    ]
    if not 0 < min(sizes[0] + sizes[1]) <= max(sizes[0] + sizes[1]) < 2**31:
        faults.append(f"src_imsize and trg_imsize are {sizes[0]} and {sizes[1]}, must be 1 to 2^31 - 1: correct it")
    else:
        for points, size in zip(xy, sizes, strict=True):
            far = finite & (np.abs(points - np.array(size) / 2) > 1.5 * np.array(size)).any(axis=1)
            faults += [
                f"keypoint {names[k]!r} at {points[k].tolist()} is far outside of its image of {size[0]} x {size[1]} "
                "px: correct it"
                for k in np.flatnonzero(far)
            ]
    if faults:
        raise ValueError(f"{path}: {joined(faults)}")
    return PairRecord(path, cls, images, (sizes[0], sizes[1]), names, (xy[0], xy[1]), label)


def read_spair(root: Path, classes: Sequence[str] = (), crops: CropCache | None = None) -> Dataset:
    """Read all annotations of pairs, and the headers of their images.

    An image has all keypoints that its pairs list, so that it is read once for all of them; a pair uses its own.

    Args:
        root: the folder ``SPair-71k``.
        classes: to read, in this order; empty: all.
        crops: where decoded images are kept; None: nowhere.

    Raises:
        FileNotFoundError: a folder, or a file that the layout names, is missing.
        ValueError: an unknown class, or a broken file. Each error names the file and the remedy.
    """
    for cls in classes:
        if cls not in CLASSES:
            raise ValueError(f"class {cls!r} is not one of {list(CLASSES)} (data.classes)")
    if not root.is_dir():
        found = elsewhere(
            root, root.parent, lambda one: all((one / part).is_dir() for part in ("Layout", "PairAnnotation"))
        )
        raise FileNotFoundError(f"no folder {root}{found}. {how_to_get(root)}")
    images: dict[Subset, dict[str, tuple[KeypointImage, ...]]] = {}
    listed: dict[Subset, dict[str, tuple[ImagePair, ...]]] = {}
    drops: list[Drop] = []
    for subset, part in PARTS.items():
        files = pair_files(root, part)
        images[subset], listed[subset] = {}, {}
        for cls in classes or [cls for cls in CLASSES if files[cls]]:
            records = [_checked(read_pair(path), cls) for path in files[cls]]
            empty = [record for record in records if not record.names]
            drops += [Drop(subset, cls, record.path.stem, "without a common keypoint") for record in empty]
            records = [record for record in records if record.names]
            members = _read_images(root, cls, records, crops)
            images[subset][cls] = tuple(members[name] for name in sorted(members))
            listed[subset][cls] = tuple(
                ImagePair(members[source], members[target], frozenset(record.names), record.difficulty)
                for record in records
                for source, target in [record.images]
            )
    for cls in images["train"].keys() ^ images["test"].keys():
        raise ValueError(f"class {cls} has pairs in only one of trn and test ({root / 'Layout' / LAYOUT})")
    return Dataset("spair", images["train"], images["test"], listed=listed, dropped=DropReport(tuple(drops)))


def pair_files(root: Path, part: str, layout: str = LAYOUT) -> dict[str, list[Path]]:
    """For each class the annotations of its pairs in a part ("trn", "val", "test"), in the order of the layout.

    Raises:
        FileNotFoundError: no such part, or an annotation is missing.
        ValueError: a line that is not a pair.
    """
    lines, folder = root / "Layout" / layout / f"{part}.txt", root / "PairAnnotation" / part
    if not lines.is_file() or not folder.is_dir():
        raise FileNotFoundError(f"{folder if lines.is_file() else lines} is missing. {how_to_get(root)}")
    there = {file.name for file in folder.iterdir()}
    files: dict[str, list[Path]] = {cls: [] for cls in CLASSES}
    absent = []
    for line in _words(lines):
        match = _PAIR.fullmatch(line)
        if match is None:
            raise ValueError(
                f"{lines}: {line!r} is not a pair like 000001-2008_000585-2008_002221:aeroplane; copy it again"
            )
        stem, cls = line[: match.start("cls") - 1], match["cls"]
        name = next((name for mark in ":_" if (name := f"{stem}{mark}{cls}.json") in there), None)
        if name is None:
            absent.append(line)
        else:
            files[cls].append(folder / name)
    if absent:
        raise FileNotFoundError(
            f"{folder / absent[0]}.json is missing, with : or _ before the class ({len(absent)} of the files "
            f"that {lines.name} names are missing). {how_to_get(root)}"
        )
    return files


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split()
    except ValueError as error:
        raise ValueError(describe(path, f"is not a text in UTF-8 ({error}): it is damaged, copy it again")) from error


def _checked(record: PairRecord, cls: str) -> PairRecord:
    if record.cls != cls:
        raise ValueError(f"{record.path} is of category {record.cls!r}, its name says {cls!r}: copy it again")
    return record


def _read_images(
    root: Path, cls: str, records: Sequence[PairRecord], crops: CropCache | None
) -> dict[str, KeypointImage]:
    """The images of one class and part by their file names, with all keypoints that the pairs list."""
    points: dict[str, dict[str, tuple[float, float]]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for record in records:
        for image, size, xy in zip(record.images, record.sizes, record.xy, strict=True):
            known = points.setdefault(image, {})
            here = dict(zip(record.names, map(tuple, xy.tolist()), strict=True))
            if sizes.setdefault(image, size) != size or any(known.get(name, at) != at for name, at in here.items()):
                raise ValueError(
                    f"{record.path}: size or keypoints of {image} differ from those in another pair's file"
                )
            known.update(here)
    images = {}
    for image, known in points.items():
        path = root / "JPEGImages" / cls / image
        size = image_size(path)
        if size != sizes[image]:
            raise ValueError(
                f"{path} has {size} px, its pairs say {sizes[image]}: it is a different copy; use the original"
            )
        names = tuple(sorted(known, key=lambda name: (len(name), name)))
        xy = np.array([known[name] for name in names]) * (FRAME / np.array(size))
        images[image] = KeypointImage(f"{cls}/{path.stem}", cls, path, size, names, xy, crops=crops)
    return images
