"""The split of Pascal VOC with keypoints that all papers of this field use: a pickle, converted once to JSON."""

import hashlib
import io
import json
import re
from pathlib import Path

import numpy as np

from bbgm.base.atomic import atomic_write
from bbgm.base.reading.foreign import describe
from bbgm.base.reading.untrusted import parse_json, repeated
from bbgm.data.fetch.sources import find
from bbgm.data.images.keypoints import SUBSETS, Subset

FILE = "voc2011_pairs.npz"
SHA256 = find("voc-split").checksum.removeprefix("sha256:")
CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog"),
    *("horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)

_OBJECT = re.compile(r"[0-9]{4}_[0-9]{6}_[0-9]{1,4}")

Split = dict[Subset, dict[str, tuple[str, ...]]]
"""For each part and class the names of its objects, e.g. ``2008_002773_8``: year, image, and the object's place (from
1) in the image's VOC annotation."""


def read_split(root: Path, cache: Path) -> Split:
    """The split in a data set's folder: ``voc2011_pairs.npz``, or a custom split as ``voc2011_pairs.json``.

    The .npz file holds pickles, which can run any code: it is opened only if its SHA-256 is the known one, and its
    content is kept in ``cache`` as JSON, which is read from then on.

    A JSON file is ``{"train": {class: ["2008_002773_8", ...]}, "test": ...}``; it takes precedence if both files exist.

    Raises:
        FileNotFoundError: neither file is there.
        ValueError: the .npz file is a different one, or the JSON file is not a split.
    """
    own, published = (root / FILE).with_suffix(".json"), root / FILE
    if own.is_file():
        return _read_json(own)
    if not published.is_file():
        raise FileNotFoundError(
            f"no split file {published} (707,237 bytes): run 'bbgm data download voc-split', or write {own.name} "
            f"beside it. By hand: {find('voc-split').without_network(root.parent)}"
        )
    content = published.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        fault = (
            f"has the SHA-256 {found}, must have {SHA256}: it is not opened, because it is damaged or another file; "
            "move it away and run 'bbgm data download voc-split'"
        )
        raise ValueError(describe(published, fault))
    converted = cache / f"voc2011_pairs-{SHA256[:8]}.json"
    if not converted.is_file():
        with atomic_write(converted, "w") as file:
            json.dump(_unpickle(content), file, indent=0)
    return _read_json(converted)


def _unpickle(verified: bytes) -> dict[str, dict[str, list[str]]]:
    with np.load(io.BytesIO(verified), allow_pickle=True) as arrays:
        return {
            subset: {
                cls: [Path(name).stem for name in names] for cls, names in zip(CLASSES, arrays[subset], strict=True)
            }
            for subset in SUBSETS
        }


def _read_json(path: Path) -> Split:
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
        split: Split = {part: {cls: tuple(names) for cls, names in content[part].items()} for part in SUBSETS}
        names = [name for part in split.values() for members in part.values() for name in members]
        wrong = [name for name in names if not _OBJECT.fullmatch(name)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fault = (
            f"is not a split ({type(error).__name__}: {error}): it must hold "
            '{"train": {class: ["2008_002773_8", ...]}, "test": {...}}'
        )
        raise ValueError(describe(path, fault)) from error
    if wrong:
        named = ", ".join(map(repr, wrong[:20]))
        raise ValueError(f"{path} names an object {named}: names look like 2008_002773_8, year_image_object")
    if unknown := sorted({cls for part in split.values() for cls in part} - set(CLASSES)):
        named = ", ".join(map(repr, unknown))
        raise ValueError(f"{path} has a class {named}, which is not one of {list(CLASSES)}")
    for cls in split["train"]:
        objects = [*split["train"][cls], *split["test"].get(cls, ())]
        if twice := repeated(objects):
            raise ValueError(f"{path} names the object {cls}/{twice[0]} twice: each belongs to one part, once")
    return split
