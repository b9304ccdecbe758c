"""Willow ObjectClass (Cho, Alahari, Ponce, ICCV 2013) in its original format.

``<root>/<Class>/<name>.png`` beside ``<root>/<Class>/<name>.mat``, whose ``pts_coord`` (2, 10) holds x and y in px of
the original image; column i is the same keypoint throughout a class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from bbgm.base.reading.foreign import joined, without_companions
from bbgm.data.fetch.integrity import published_names
from bbgm.data.fetch.sources import find
from bbgm.data.images.crops import CropCache
from bbgm.data.images.keypoints import FRAME, KeypointImage
from bbgm.data.images.pictures import image_size
from bbgm.data.readers.layout import elsewhere
from bbgm.data.readers.matfile import read_mat

FOLDER = "WILLOW-ObjectClass"
N_KEYPOINTS = 10

# The data set does not name its points; these names were given after looking at the pictures.
# Left and right are those of the picture.
KEYPOINT_NAMES: dict[str, tuple[str, ...]] = {
    "Car": (
        *("rear wheel", "front wheel", "rear light", "rear window", "roof"),
        *("door", "sill", "headlight", "rear bumper", "windscreen base"),
    ),
    "Duck": (
        *("beak tip", "eye", "back of head", "nape", "breast"),
        *("back", "rump", "tail tip", "rear belly", "front belly"),
    ),
    "Face": (
        *("left eye", "right eye", "nose tip", "left mouth corner", "right mouth corner"),
        *("left cheek", "right cheek", "forehead", "left ear", "right ear"),
    ),
    "Motorbike": (
        *("front wheel", "rear wheel", "frame bottom", "seat frame", "tank rear"),
        *("tank front", "handlebar", "headlight", "engine", "rear mudguard"),
    ),
    "Winebottle": (
        *("mouth right", "mouth left", "neck base left", "neck base right", "shoulder left"),
        *("shoulder right", "body left", "body right", "base left", "base right"),
    ),
}


@dataclass(frozen=True)
class Erratum:
    """One known annotation error, and what is done about it.

    Attributes:
        id: name in run records.
        file: ``<Class>/<name>`` without a suffix.
        what: the error.
        action: leave the image out, or swap two columns of ``pts_coord``.
        columns: the two columns to swap, counted from 0.
        n_points: number of points in the file as it was published.
    """

    id: str
    file: str
    what: str
    action: Literal["exclude", "swap"]
    columns: tuple[int, int] = (0, 0)
    n_points: int = N_KEYPOINTS


ERRATA: tuple[Erratum, ...] = (
    Erratum("face-0160-ears", "Face/image_0160", "has 8 points: the ears are missing", "exclude", n_points=8),
    Erratum("car-030a-sill", "Car/Cars_030a", "door and sill (columns 5 and 6) are interchanged", "swap", (5, 6)),
)


def how_to_get(root: Path) -> str:
    """How a user gets the data set: where it goes, its size, where it comes from."""
    return (
        f"Willow ObjectClass is expected in {root} as {{{','.join(KEYPOINT_NAMES)}}}/*.png with a .mat beside each "
        f"(610 files, 68 MB): run 'bbgm data download willow', or set BBGM_DATA to the folder that has {FOLDER}/. "
        f"By hand: {find('willow').without_network(root.parent)}. "
        "The demo data (data.source: demo) need no download."
    )


def _elsewhere(root: Path) -> str:
    return elsewhere(root, root.parent, lambda folder: all((folder / cls).is_dir() for cls in KEYPOINT_NAMES))


def read_willow(
    root: Path,
    classes: Sequence[str] = (),
    keypoint_names: Mapping[str, tuple[str, ...]] = KEYPOINT_NAMES,
    errata: Sequence[Erratum] = ERRATA,
    crops: CropCache | None = None,
) -> tuple[dict[str, tuple[KeypointImage, ...]], tuple[str, ...]]:
    """Read every annotation, and the header of every image.

    The whole image is the network's input: the object's box is not cut out (authors' code; the paper says crop).

    Args:
        root: the folder that contains the class folders.
        classes: to read, in this order; empty: all of ``keypoint_names``.
        keypoint_names: for each class that may be read, its keypoints' names.
        errata: corrections to apply; with none, files with a known error are read as they are.
        crops: where decoded images are kept; None: nowhere.

    Returns:
        The images of each class, sorted by file name; and the identifiers of the corrections that were applied.

    Raises:
        FileNotFoundError: no such root, class folder, image or annotation.
        ValueError: an unknown class, or a broken file. Each error names the file and the remedy.
    """
    for cls in classes:
        if cls not in keypoint_names:
            raise ValueError(f"class {cls!r} is not one of {sorted(keypoint_names)} (data.classes)")
    if not root.is_dir():
        raise FileNotFoundError(f"no folder {root}{_elsewhere(root)}. {how_to_get(root)}")
    images: dict[str, tuple[KeypointImage, ...]] = {}
    applied: list[str] = []
    for cls in classes or tuple(keypoint_names):
        known = {erratum.file: erratum for erratum in errata}
        members = []
        for stem in _file_names(root, cls):
            erratum = known.get(f"{cls}/{stem}")
            if erratum is not None:
                applied.append(erratum.id)
                if erratum.action == "exclude":
                    continue
            members.append(_read_image(root, cls, stem, keypoint_names[cls], erratum, crops))
        images[cls] = tuple(members)
    return images, tuple(applied)


def _file_names(root: Path, cls: str) -> list[str]:
    """Sorted names, without suffix, of the annotated images of a class."""
    folder = root / cls
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder} for class {cls}{_elsewhere(root)}. {how_to_get(root)}")
    annotations = {file.stem for file in without_companions(folder.glob("*.mat"))}
    pictures = {file.stem for file in without_companions(folder.glob("*.png"))}
    if not annotations:
        raise FileNotFoundError(f"no .mat file in {folder}. {how_to_get(root)}")
    if lonely := sorted(annotations ^ pictures):
        lost = f"{lonely[0]}.png" if lonely[0] in annotations else f"{lonely[0]}.mat"
        raise FileNotFoundError(
            f"{folder / lost} is missing ({len(lonely)} of {len(annotations | pictures)} names there lack a file): "
            "every image needs its annotation and vice versa, or the split changes; copy the class folder again"
        )
    _check_published(folder, annotations)
    return sorted(annotations)


def _check_published(folder: Path, found: set[str]) -> None:
    """Refuse a lost or added image: it would silently change the published split, and with it every number.

    A class that shares no file name with the published one is a custom class or demo data, and is accepted as it is.
    """
    published = published_names("willow.csv", folder.name)
    if not found & published:
        return
    for names, what in ((published - found, "lacks"), (found - published, "has in addition")):
        if names:
            raise FileNotFoundError(
                f"{folder} {what} {len(names)} image(s), e.g. {min(names)}: that is not the published class of "
                f"{len(published)}, and the split would change. Move {folder.parent} away and run "
                "'bbgm data download willow', or keep your own images in a separate class"
            )


def _read_image(
    root: Path, cls: str, stem: str, names: tuple[str, ...], erratum: Erratum | None, crops: CropCache | None
) -> KeypointImage:
    path = root / cls / f"{stem}.png"
    size = image_size(path)
    points = read_points(path.with_suffix(".mat"), _expected_points(f"{cls}/{stem}"), size)
    if erratum is not None and erratum.action == "swap":
        first, second = erratum.columns
        points[:, [first, second]] = points[:, [second, first]]
    xy = points.T * (FRAME / np.array(size))  # no half-pixel or MATLAB offset, as in the authors' code: below 1 px
    return KeypointImage(f"{cls}/{stem}", cls, path, size, names[: len(xy)], xy, crops=crops)


def _expected_points(file: str) -> int:
    return next((erratum.n_points for erratum in ERRATA if erratum.file == file), N_KEYPOINTS)


def read_points(path: Path, n_points: int, size: tuple[int, int]) -> np.ndarray:
    """``pts_coord`` of one .mat file: (2, n_points) float64, x and y in px of an image of ``size``.

    Raises:
        ValueError: no MATLAB file, no such variable, wrong shape, not finite, or points outside the image.
    """
    content = read_mat(path)
    if "pts_coord" not in content:
        raise ValueError(f"{path} has no variable pts_coord, only {sorted(content)}: it is not an annotation of Willow")
    points = content["pts_coord"]
    if points is None or points.shape != (2, n_points):
        found = "not an array of real numbers" if points is None else f"of shape {points.shape}"
        raise ValueError(
            f"{path}: pts_coord is {found}, must be real numbers of shape (2, {n_points}): "
            "x in the first row, y in the second, one column per keypoint"
        )
    points = np.array(points, dtype=np.float64)
    finite = np.isfinite(points).all(axis=0)
    outside = finite & ((points < 0).any(axis=0) | (points > np.array(size)[:, None]).any(axis=0))
    faults = [
        f"keypoint {k} is {points[:, k].tolist()}: correct it, or remove the image" for k in np.flatnonzero(~finite)
    ]
    faults += [
        f"keypoint {k} at {points[:, k].tolist()} lies outside its image of {size[0]} x {size[1]} px: the annotation "
        "belongs to another image or another resolution"
        for k in np.flatnonzero(outside)
    ]
    if faults:
        raise ValueError(f"{path}: {joined(faults)}")
    return points
