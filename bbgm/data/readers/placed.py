"""An annotated object in its image: the part that the network sees, and its keypoints there.

What annotation tools and exporters do to positions:

1. Up to ``BORDER`` px outside of the image is rounding, and is taken as it is.
2. Up to ``OUTSIDE`` px, or 1 % of the longer side, is a hand that slipped: it is cut to the border of the image, and
   counted. Farther outside, the annotation belongs to another image or resolution, and is refused.
3. A box that has no area because it is the box of one keypoint, or of keypoints on a line, shows nothing: the object is
   left out, and counted. So is an object without keypoints, whatever else it has.
4. An image that its EXIF tag turns is refused: its keypoints may fit the version as stored or as shown.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bbgm.data.images.crops import CropCache
from bbgm.data.images.keypoints import FRAME, KeypointImage
from bbgm.data.images.pictures import Box, image_size, is_turned
from bbgm.data.readers.annotated import AnnotatedObject

FILE = "keypoints.json"
BORDER, OUTSIDE, OUTSIDE_SHARE = 1.0, 5.0, 0.01
NO_KEYPOINT, NO_AREA = "without a keypoint", "with a box without area around its keypoints"
CUT_KEYPOINT, CUT_BOX = "keypoints outside of the image", "boxes partly outside of the image"


@dataclass(frozen=True, eq=False)
class Placed:
    """What becomes of an object.

    Attributes:
        image: None: it is left out.
        reason: why.
        cuts: kinds of what is cut to the border of the image, one entry for each keypoint and box.
    """

    image: KeypointImage | None
    reason: str = ""
    cuts: tuple[str, ...] = ()


def place(root: Path, item: AnnotatedObject, image_id: str, boxes: bool, crops: CropCache | None) -> Placed:
    """See above.

    Args:
        root: the folder of the images.
        boxes: the input is the object's box; False: the complete image.
        crops: where decoded images are kept; None: nowhere.

    Raises:
        FileNotFoundError: no such image.
        ValueError: a broken or turned image, another size than the annotation says, or positions far outside of it. The
            error names them all.
    """
    if not item.keypoints:
        return Placed(None, NO_KEYPOINT)
    path = root / item.file
    size = image_size(path)
    _check_upright(path, item, size)
    if item.size not in (None, size):
        raise ValueError(
            f"{path} is {size[0]} x {size[1]} px, {FILE} says {item.size[0]} x {item.size[1]}: it is another image or "
            "another resolution; put the right one there, or scale its keypoints"
        )
    points = np.array(list(item.keypoints.values()), dtype=np.float64).reshape(-1, 2)
    box = item.box if boxes else None
    if box and _is_around(box, points):
        return Placed(None, NO_AREA)
    faults = [*_far_keypoints(list(item.keypoints), points, size), *(_wrong_box(box, size) if box else ())]
    if faults:
        raise ValueError(f"{image_id}: {', '.join(faults)}")
    outside = ((points < -BORDER) | (points > np.array(size) + BORDER)).any(axis=1)
    points[outside] = points[outside].clip(0, size)
    cuts = [CUT_KEYPOINT] * int(outside.sum())
    if box:
        if _beyond(box, size) > BORDER:
            cuts.append(CUT_BOX)
        box = max(box[0], 0.0), max(box[1], 0.0), min(box[2], float(size[0])), min(box[3], float(size[1]))
    left, top, right, bottom = box or (0, 0, *size)
    inside = np.array(((points >= (left, top)) & (points <= (right, bottom))).all(axis=1))
    if box is None:
        inside[:] = True
    names = tuple(name for name, kept in zip(item.keypoints, inside, strict=True) if kept)
    if not names:
        return Placed(None, NO_KEYPOINT, tuple(cuts))
    xy = (points[inside] - (left, top)) * (FRAME / np.array([right - left, bottom - top]))
    return Placed(KeypointImage(image_id, item.cls, path, size, names, xy, box, crops), "", tuple(cuts))


def _check_upright(path: Path, item: AnnotatedObject, size: tuple[int, int]) -> None:
    if not is_turned(path):
        return
    what = f"{path} has an EXIF tag that asks viewers to rotate or mirror it"
    if item.size == size[::-1] != size:
        remedy = f", and {FILE} has the size as shown, {item.size[0]} x {item.size[1]}: store it upright"
        raise ValueError(f"{what}{remedy} ('mogrify -auto-orient {path.name}')")
    raise ValueError(
        f"{what}, so its keypoints may fit either version: store it upright ('mogrify -auto-orient {path.name}'), or "
        "remove the tag if they fit the file as stored"
    )


def _limit(size: tuple[int, int]) -> float:
    """How far outside of an image positions may be, px."""
    return max(OUTSIDE, OUTSIDE_SHARE * max(size))


def _far_keypoints(names: list[str], points: np.ndarray, size: tuple[int, int]) -> list[str]:
    limit = _limit(size)
    far = np.array(((points < -limit) | (points > np.array(size) + limit)).any(axis=1))
    if not far.any():
        return []
    where = ", ".join(f"{name!r} at {points[k].tolist()}" for k, name in enumerate(names) if far[k])
    number = "keypoint {} lies" if far.sum() == 1 else "keypoints {} lie"
    return [
        f"{number.format(where)} outside the image of {size[0]} x {size[1]} px: the annotation belongs to another "
        "image or another resolution; correct the positions, or leave them out"
    ]


def _beyond(box: Box, size: tuple[int, int]) -> float:
    """How far a box reaches outside of an image, px."""
    return max(-box[0], -box[1], box[2] - size[0], box[3] - size[1])


def _wrong_box(box: Box, size: tuple[int, int]) -> list[str]:
    what = f"box {list(box)} (left, top, right, bottom)"
    if _beyond(box, size) > _limit(size):
        return [
            f"{what} is not within the image of {size[0]} x {size[1]} px: the annotation belongs to another image or "
            "another resolution; correct it, or leave it out"
        ]
    if min(box[2], size[0]) <= max(box[0], 0) or min(box[3], size[1]) <= max(box[1], 0):
        return [f"{what} has no area: correct it or leave it out"]
    return []


def _is_around(box: Box, points: np.ndarray) -> bool:
    """Whether a box without area is that of the keypoints: as exporters make it of one keypoint."""
    left, top, right, bottom = box
    if (right > left and bottom > top) or right < left or bottom < top:
        return False
    return bool(((points >= (left - BORDER, top - BORDER)) & (points <= (right + BORDER, bottom + BORDER))).all())
