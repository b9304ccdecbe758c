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
compared with the file's. ``split`` ("train" or "test") is given for all objects or for none; then
`bbgm.data.images.split` divides each class. The other format is in `bbgm.data.readers.coco`; what happens to positions
that do not fit their image, in `bbgm.data.readers.placed`.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from bbgm.base.reading.foreign import describe, joined
from bbgm.base.reading.untrusted import parse_json
from bbgm.data.images.crops import CropCache
from bbgm.data.images.drops import EITHER, Drop, DropReport
from bbgm.data.images.keypoints import SUBSETS, KeypointImage, Subset
from bbgm.data.images.split import Images
from bbgm.data.readers.annotated import AnnotatedObject, Annotations
from bbgm.data.readers.coco import Coco, objects_of
from bbgm.data.readers.placed import FILE as FILE
from bbgm.data.readers.placed import Placed, place


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
        ValueError: an unknown class, or a broken file. Each error names the file, all that is wrong, and the remedies.
    """
    placed, faults = _place_all(root, boxes, crops)
    if faults:
        kind = FileNotFoundError if all(isinstance(one, FileNotFoundError) for one in faults) else ValueError
        raise kind(f"{root / FILE}: {joined(list(map(str, faults)))}")
    images: dict[str, dict[str, KeypointImage]] = {}
    splits: dict[str, Subset] = {}
    drops, cuts = [], []
    for image_id, (item, one) in placed.items():
        part = item.split or EITHER
        if item.split:
            splits[image_id] = item.split
        cuts += [Drop(part, item.cls, image_id, what) for what in one.cuts]
        if one.image is not None:
            images.setdefault(item.cls, {})[image_id] = one.image
        else:
            drops.append(Drop(part, item.cls, image_id, one.reason))
    for cls in classes:
        if cls not in images:
            raise ValueError(f"class {cls!r} is not one of {sorted(images)}, which have keypoints (data.classes)")
    chosen = {cls: tuple(images[cls][name] for name in sorted(images[cls])) for cls in classes or sorted(images)}
    return chosen, splits, DropReport(tuple(drops), tuple(cuts))


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
    try:  # of two keypoints with the same name, one would silently be lost
        content = parse_json(path.read_text(encoding="utf-8-sig"), unique_keys=True)
    except ValueError as error:
        raise ValueError(describe(path, f"is not valid JSON ({error}): correct it")) from error
    objects = parse(path, content)
    if not objects:
        raise ValueError(f"{path} lists no object: write one entry per object")
    lacking = list(dict.fromkeys(item.file for item in objects if item.split is None))
    faults = []
    if lacking and any(item.split for item in objects):
        have = "have" if len(lacking) > 1 else "has"
        faults.append(f"{joined(lacking)} {have} no split but others have one: give a split to all or to none")
    # Matched with its copy, or in both parts, an object would raise the scores. Without keypoints it is left out.
    known = Counter((item.file, item.cls, item.box, *item.keypoints.items()) for item in objects if item.keypoints)
    if twice := [str(key[0]) for key, count in known.items() if count > 1]:
        faults.append(f"the same object of {joined(twice)} is listed twice: remove one of the two entries")
    if faults:
        raise ValueError(f"{path}: {joined(faults)}")
    return objects


def find_faults(root: Path) -> list[str]:
    """All reasons why `read_folder` cannot read the folder, one phrase each.

    Raises:
        FileNotFoundError, ValueError: there is no annotation file, or it cannot be read at all.
    """
    return list(map(str, _place_all(root, True, None)[1]))


def _place_all(
    root: Path, boxes: bool, crops: CropCache | None
) -> tuple[dict[str, tuple[AnnotatedObject, Placed]], list[Exception]]:
    """For each id its object, and where it is in its image; and all faults, each once."""
    objects = read_objects(root)
    counts, seen = Counter(item.file for item in objects), Counter[str]()
    placed: dict[str, tuple[AnnotatedObject, Placed]] = {}
    faults: dict[str, Exception] = {}
    for item in objects:
        seen[item.file] += 1
        number = f"_{seen[item.file]}" if counts[item.file] > 1 else ""
        try:
            image_id = str(PurePosixPath(item.file).with_suffix("")) + number
            if image_id in placed:
                raise ValueError(f"two objects get the id {image_id!r}: rename one of the image files")
            placed[image_id] = item, place(root, item, image_id, boxes, crops)
        except (ValueError, OSError) as error:
            faults.setdefault(str(error), error)
    return placed, list(faults.values())


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
        raise ValueError(f"{path}: {joined(faults)}: correct it") from error
