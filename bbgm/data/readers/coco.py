"""COCO's keypoint format (``person_keypoints_val2017.json``), as the ``keypoints.json`` of `bbgm.data.readers.folder`.

It reads ``categories`` (name, names of the keypoints), ``images`` (file name, width and height) and ``annotations``
(category, image, keypoints as a list of x, y, visibility, bbox as left, top, width, height). Keypoints of visibility 0
are not annotated and are left out, whatever stands for their position (exporters write 0, null or NaN); those of
visibility 1, hidden by something, are kept. Where there is nothing to say, null and [] are as good as no key. An image
may have a ``split``, "train" or "test", which is not part of COCO's format.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bbgm.base.reading.foreign import joined
from bbgm.base.reading.untrusted import repeated
from bbgm.data.readers.annotated import AnnotatedObject, Optional

Key = int | str
Number = Annotated[float, Field(allow_inf_nan=True)]


def _list(value: Any) -> Any:
    return [] if value is None else value


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Category(_Part):
    """A class."""

    id: Key
    name: str
    keypoints: Annotated[list[str], BeforeValidator(_list)] = []


class CocoImage(_Part):
    """An image file."""

    id: Key
    file_name: str
    width: int | None = None
    height: int | None = None
    split: Optional[Literal["train", "test"]] = None


class Annotation(_Part):
    """An object."""

    id: Key | None = None
    image_id: Key
    category_id: Key
    keypoints: Annotated[list[Number | None], BeforeValidator(_list)] = []
    bbox: Optional[tuple[float, float, float, float]] = None


class Coco(_Part):
    """The content of the file."""

    images: list[CocoImage]
    annotations: Annotated[list[Annotation], BeforeValidator(_list)]
    categories: list[Category] = Field(min_length=1)


def objects_of(path: Path, coco: Coco) -> list[AnnotatedObject]:
    """The annotations, in the order of the file.

    Raises:
        ValueError: an annotation of an image or category that the file does not have, with a wrong number of keypoints,
            or with a visible keypoint that is nowhere; two keypoints with the same name, two images or categories with
            the same id. The error names all of them.
    """
    faults = list(_faults_of_lists(coco))
    categories, images = {item.id: item for item in coco.categories}, {item.id: item for item in coco.images}
    objects = []
    for item in coco.annotations:
        found, wrong = _object_of(item, categories, images)
        faults += [
            f"annotation {item.id if item.id is not None else '?'} of image {item.image_id} {one}" for one in wrong
        ]
        objects += found
    if faults:
        raise ValueError(f"{path}: {joined(faults)}")
    return objects


def _faults_of_lists(coco: Coco) -> Iterator[str]:
    for what, ids in (("categories", [one.id for one in coco.categories]), ("images", [one.id for one in coco.images])):
        if twice := repeated(ids):
            yield f"two {what} have the id {twice[0]!r}: ids must be unique; correct it"
    for category in coco.categories:
        if twice := repeated(category.keypoints):
            yield f"category {category.name} has two keypoints named {twice[0]!r}: names must be unique"


def _object_of(
    item: Annotation, categories: Mapping[Key, Category], images: Mapping[Key, CocoImage]
) -> tuple[list[AnnotatedObject], list[str]]:
    """The object of an annotation, or its faults."""
    if item.image_id not in images or item.category_id not in categories:
        return [], [f"(category {item.category_id}): no such image or category in the file"]
    category, image = categories[item.category_id], images[item.image_id]
    if item.keypoints and len(item.keypoints) != 3 * len(category.keypoints):
        return [], [
            f"has {len(item.keypoints)} numbers in keypoints, category {category.name} needs "
            f"3 x {len(category.keypoints)}: x, y and visibility of each"
        ]
    keypoints, faults = _visible(category.keypoints, item.keypoints)
    if faults:
        return [], faults
    left, top, width, height = item.bbox or (0, 0, 0, 0)
    content = {
        "file": image.file_name,
        "class": category.name,
        "keypoints": keypoints,
        # Without keypoints the object is left out, and counted, whatever else it has.
        "box": (left, top, left + width, top + height) if item.bbox and keypoints else None,
        "size": (image.width, image.height) if image.width and image.height else None,
        "split": image.split,
    }
    try:
        return [AnnotatedObject.model_validate(content)], []
    except ValidationError as error:
        places = (
            f"{'.'.join(map(str, one['loc']))}: {one['msg']} (given: {one['input']!r:.80})" for one in error.errors()
        )
        return [], [f"cannot be used, {place}: correct it" for place in places]


def _visible(names: Sequence[str], values: Sequence[float | None]) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Positions of the keypoints that are annotated, and what is wrong with others."""
    keypoints, faults = {}, []
    triples = zip(values[::3], values[1::3], values[2::3], strict=True)
    for name, (x, y, seen) in zip(names, triples, strict=False):
        nowhere = [x is None or math.isnan(x), y is None or math.isnan(y)]
        if not seen or (all(nowhere) and math.isnan(seen)):
            continue
        if x is None or y is None or not (math.isfinite(x) and math.isfinite(y) and math.isfinite(seen)):
            faults.append(
                f"has keypoint {name!r} at {[x, y]} with visibility {seen}: give its position, or the visibility 0"
            )
            continue
        keypoints[name] = x, y
    return keypoints, faults
