"""COCO's keypoint format (``person_keypoints_val2017.json``), as the ``keypoints.json`` of `bbgm.data.readers.folder`.

It reads ``categories`` (name, names of the keypoints), ``images`` (file name, width and height) and ``annotations``
(category, image, keypoints as a list of x, y, visibility, bbox as left, top, width, height). Keypoints of visibility 0
are not annotated and are left out; those of visibility 1, hidden by something, are kept. An image may have a ``split``,
"train" or "test", which is not part of COCO's format.
"""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from bbgm.data.readers.annotated import AnnotatedObject

Key = int | str


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Category(_Part):
    """A class."""

    id: Key
    name: str
    keypoints: list[str] = []


class CocoImage(_Part):
    """An image file."""

    id: Key
    file_name: str
    width: int | None = None
    height: int | None = None
    split: Literal["train", "test"] | None = None


class Annotation(_Part):
    """An object."""

    id: Key = ""
    image_id: Key
    category_id: Key
    keypoints: list[float] = []
    bbox: tuple[float, float, float, float] | None = None


class Coco(_Part):
    """The content of the file."""

    images: list[CocoImage]
    annotations: list[Annotation]
    categories: list[Category] = Field(min_length=1)


def objects_of(path: Path, coco: Coco) -> list[AnnotatedObject]:
    """The annotations, in the order of the file.

    Raises:
        ValueError: an annotation of an image or category that the file does not have, or with a wrong number of
            keypoints; two keypoints with the same name, two images or categories with the same id.
    """
    for what, ids in (("categories", [one.id for one in coco.categories]), ("images", [one.id for one in coco.images])):
        if len(set(ids)) < len(ids):
            second = next(one for one in ids if ids.count(one) > 1)
            raise ValueError(f"{path}: two {what} have the id {second!r}: ids must be unique; correct it")
    categories, images = {item.id: item for item in coco.categories}, {item.id: item for item in coco.images}
    for category in coco.categories:
        if twice := [name for name in category.keypoints if category.keypoints.count(name) > 1]:
            raise ValueError(
                f"{path}: category {category.name} has two keypoints named {twice[0]!r}: names must be unique"
            )
    objects = []
    for item in coco.annotations:
        where = f"{path}: annotation {item.id} of image {item.image_id}"
        if item.image_id not in images or item.category_id not in categories:
            raise ValueError(f"{where} (category {item.category_id}): no such image or category in the file")
        category, image = categories[item.category_id], images[item.image_id]
        if item.keypoints and len(item.keypoints) != 3 * len(category.keypoints):
            raise ValueError(
                f"{where} has {len(item.keypoints)} numbers in keypoints, category {category.name} needs "
                f"3 x {len(category.keypoints)}: x, y and visibility of each"
            )
        left, top, width, height = item.bbox or (0, 0, 0, 0)
        marks = zip(item.keypoints[::3], item.keypoints[1::3], item.keypoints[2::3], strict=True)
        objects.append(
            AnnotatedObject.model_validate(
                {
                    "file": image.file_name,
                    "class": category.name,
                    # Without keypoints the object is left out, and counted, whatever else it has.
                    "keypoints": {
                        n: (x, y) for n, (x, y, seen) in zip(category.keypoints, marks, strict=False) if seen
                    },
                    "box": item.bbox and (left, top, left + width, top + height),
                    "size": image.width and image.height and (image.width, image.height),
                    "split": image.split,
                }
            )
        )
    return objects
