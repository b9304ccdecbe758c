"""A folder of your own images: the images and one file ``keypoints.json``, in this format or in COCO's.

::

    rabbits/keypoints.json
    rabbits/meadow.jpg ...                     file names are relative to the folder

    {"images": [
      {"file": "meadow.jpg", "class": "rabbit", "keypoints": {"nose": [412.5, 80], "left ear": [390, 31]}},
      {"file": "hutch.jpg", "class": "rabbit", "keypoints": {"nose": [55, 60]}, "box": [10, 20, 300, 240]}
    ]}

One entry per object: an image with several objects has several entries. Positions are px of the image file, x to the
right and y down from its upper left corner; a keypoint that is not visible is left out. ``box`` (optional: left, top,
right, bottom, px) is what the network sees; keypoints outside of it are dropped. ``size`` (optional: width, height) is
compared with the file's. ``split`` ("train" or "test") is given
for all objects or for none; then `bbgm.data.images.split` divides each class. The other format is in
`bbgm.data.readers.coco`.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from pydantic import ValidationError

from bbgm.data.images.crops import Box, CropCache, image_size, is_turned
from bbgm.data.images.drops import EITHER, Drop, DropReport
from bbgm.data.images.keypoints import FRAME, SUBSETS, KeypointImage, Subset
from bbgm.data.images.split import Images
from bbgm.data.readers.annotated import AnnotatedObject, Annotations
from bbgm.data.readers.coco import Coco, objects_of

FILE = "keypoints.json"
BORDER = 1.0  # px by which positions may be outside of the image: annotation tools round


def read_folder(
    root: Path, classes: Sequence[str] = (), boxes: bool = True, crops: CropCache | None = None
) -> tuple[Images, dict[str, Subset], DropReport]:
    """Read the annotations, and the headers of the images.

    An image's id is its file name without suffix; of several objects of an image ``_1``, ``_2``, ... follows, by their
    order in the file.

    Args:
        root: the folder.
        classes: to read, in this order; empty: all that have keypoints, by name.
        boxes: crop the objects' boxes; False: the whole image is the input.
        crops: where decoded images are kept; None: nowhere.

    Returns:
        The images of each class, sorted by id; the part of each id where the file says so, else empty; and the objects
        that were left out.

    Raises:
        FileNotFoundError: no such folder, annotation file or image.
        ValueError: an unknown class, or a broken file. Each error names the file and the remedy.
    """
    objects = read_objects(root)
    counts, seen = Counter(item.file for item in objects), Counter[str]()
    images: dict[str, dict[str, KeypointImage]] = {}
    ids: set[str] = set()
    splits: dict[str, Subset] = {}
    drops = []
    for item in objects:
        seen[item.file] += 1
        number = f"_{seen[item.file]}" if counts[item.file] > 1 else ""
        image_id = str(PurePosixPath(item.file).with_suffix("")) + number
        if image_id in ids:
            raise ValueError(f"{root / FILE}: two objects get the id {image_id!r}: rename one of the image files")
        ids.add(image_id)
        image = _read_object(root, item, image_id, boxes, crops)
        if item.split:
            splits[image_id] = item.split
        if image.names:
            images.setdefault(item.cls, {})[image_id] = image
        else:
            drops.append(Drop(item.split or EITHER, item.cls, image_id, "without a keypoint"))
    for cls in classes:
        if cls not in images:
            raise ValueError(f"class {cls!r} is not one of {sorted(images)}, which have keypoints (data.classes)")
    chosen = {cls: tuple(images[cls][name] for name in sorted(images[cls])) for cls in classes or sorted(images)}
    return chosen, splits, DropReport(tuple(drops))


def divide(images: Images, splits: dict[str, Subset]) -> tuple[Images, Images]:
    """Training and test part as the annotation file assigns them; all images must be in ``splits``."""
    train, test = (
        {cls: tuple(one for one in members if splits[one.image_id] == part) for cls, members in images.items()}
        for part in SUBSETS
    )
    return train, test


def read_objects(root: Path) -> list[AnnotatedObject]:
    """All entries of ``keypoints.json``, in either format.

    Raises:
        FileNotFoundError, ValueError: as `read_folder`.
    """
    path = root / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"no file {path}, which lists the keypoints: set data.root to the folder that has it, relative to "
            "BBGM_DATA or absolute; see the example in bbgm/data/README.md, 'Your own images'"
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not valid JSON ({error}): correct it") from error
    objects = parse(path, content)
    if not objects:
        raise ValueError(f"{path} lists no object: write one entry per object")
    lacking = next((item.file for item in objects if item.split is None), None)
    if lacking is not None and any(item.split for item in objects):
        raise ValueError(f"{path}: {lacking} has no split but others have one: give a split to all or to none")
    # Matched with its copy, or in both parts, an object would raise the scores. Without keypoints it is left out.
    known = Counter((item.file, item.cls, item.box, *item.keypoints.items()) for item in objects if item.keypoints)
    if twice := next((key for key, count in known.items() if count > 1), None):
        raise ValueError(f"{path} lists the same object of {twice[0]} twice: remove one of the two entries")
    return objects


def find_faults(root: Path) -> list[str]:
    """All reasons why `read_folder` cannot read the folder, one per object; its error names only the first.

    Raises:
        FileNotFoundError, ValueError: there is no annotation file, or it cannot be read at all.
    """
    faults: dict[str, None] = {}
    for item in read_objects(root):
        try:
            _read_object(root, item, item.file, True, None)
        except (ValueError, OSError) as error:
            faults[str(error)] = None
    return list(faults)


def parse(path: Path, content: Any) -> list[AnnotatedObject]:
    """The objects in the content of a file of either format."""
    try:
        if isinstance(content, dict) and "annotations" in content:
            return objects_of(path, Coco.model_validate(content))
        return Annotations.model_validate(content).images
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, item['loc'])) or 'the file'}: {item['msg']} (given: {str(item['input'])[:80]})"
            for item in error.errors()
        ]
        more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise ValueError(f"{path}: {'; '.join(faults[:3])}{more}: correct it") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object without repeated keys: of two keypoints with the same name, one would silently be lost."""
    names = [name for name, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"the name {twice[0]!r} occurs twice in one object")
    return dict(pairs)


def _read_object(
    root: Path, item: AnnotatedObject, image_id: str, boxes: bool, crops: CropCache | None
) -> KeypointImage:
    path, where = root / item.file, f"{root / FILE}: {image_id}"
    size = image_size(path)
    if item.size not in (None, size):
        raise ValueError(
            f"{path} is {size[0]} x {size[1]} px, {FILE} says {item.size[0]} x {item.size[1]}: it is another image or "
            "another resolution"
        )
    if is_turned(path):
        raise ValueError(
            f"{path} has an EXIF tag that asks viewers to rotate or mirror it, so its keypoints may fit either "
            "version: store it upright ('mogrify -auto-orient'), or remove the tag if they fit the file as stored"
        )
    box = _box(where, item.box, size) if boxes and item.box else None
    points = np.array(list(item.keypoints.values()), dtype=np.float64).reshape(-1, 2)
    for name, point in zip(item.keypoints, points, strict=True):
        if (point < -BORDER).any() or (point > np.array(size) + BORDER).any():
            raise ValueError(
                f"{where}: keypoint {name!r} at {point.tolist()} lies outside the image of {size[0]} x {size[1]} px: "
                "the annotation belongs to another image or another resolution"
            )
    left, top, right, bottom = box or (0, 0, *size)
    inside = np.array(((points >= (left, top)) & (points <= (right, bottom))).all(axis=1))
    if box is None:
        inside[:] = True
    names = tuple(name for name, kept in zip(item.keypoints, inside, strict=True) if kept)
    xy = (points[inside] - (left, top)) * (FRAME / np.array([right - left, bottom - top]))
    return KeypointImage(image_id, item.cls, path, size, names, xy, box, crops)


def _box(where: str, box: Box, size: tuple[int, int]) -> Box:
    """The part of a box that is within the image."""
    left, top, right, bottom = box
    if min(left, top) < -BORDER or right > size[0] + BORDER or bottom > size[1] + BORDER:
        raise ValueError(
            f"{where}: box {list(box)} (left, top, right, bottom) is not within the image of {size[0]} x {size[1]} px: "
            "the annotation belongs to another image or another resolution"
        )
    clipped = max(left, 0.0), max(top, 0.0), min(right, float(size[0])), min(bottom, float(size[1]))
    if clipped[2] <= clipped[0] or clipped[3] <= clipped[1]:
        raise ValueError(f"{where}: box {list(box)} (left, top, right, bottom) has no area: correct it or leave it out")
    return clipped
