"""Pascal VOC 2011 with the keypoints of Bourdev et al. (Berkeley, Feb 2012), in their original formats.

::

    PascalVOC/VOC2011/JPEGImages/2008_002773.jpg                  or below TrainVal/VOCdevkit/, as the tar file unpacks
    PascalVOC/VOC2011/Annotations/2008_002773.xml                 one <object> for each object of the image
    PascalVOC/annotations/<class>/2008_002773_8.xml               box and keypoints of its 8th object
    PascalVOC/voc2011_pairs.npz                                   the split

What the paper does not say follows the authors' code:

1. Objects that VOC flags as difficult, occluded or truncated are left out. A flag that is absent is not set (images of
   2007 have none for occlusion).
2. Persons in images after 2008 are left out.
3. The input is the box ``visible_bounds``, resized to FRAME x FRAME. Keypoints outside of it are dropped, whatever
   their ``visible`` says; ThinkMatch keeps them (``keep_outside``).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from bbgm.data.fetch.sources import find
from bbgm.data.images.crops import CropCache
from bbgm.data.images.drops import Drop, DropReport
from bbgm.data.images.keypoints import FRAME, SUBSETS, Dataset, KeypointImage, Subset
from bbgm.data.images.pictures import image_size
from bbgm.data.readers.layout import elsewhere
from bbgm.data.readers.voc_split import CLASSES, FILE, Split
from bbgm.data.readers.voc_xml import read_keypoints, read_xml

FOLDER = "PascalVOC"
DEVKITS = ("VOC2011", "VOCdevkit/VOC2011", "TrainVal/VOCdevkit/VOC2011", "VOC2012", "VOCdevkit/VOC2012")
FLAGS = ("difficult", "occluded", "truncated")
TOLERANCE = 1e-5  # px of the input
WILLOW_CLASSES = ("car", "motorbike")

ExcludeWillow = Literal["none", "images_of_2007", "classes"]


def how_to_get(root: Path) -> str:
    """How a user gets the data set: where it goes, and where it comes from."""
    by_hand = "; ".join(find(name).without_network(root.parent) for name in ("voc", "voc-keypoints", "voc-split"))
    return (
        f"Pascal VOC with keypoints is expected in {root} (JPEGImages/ and Annotations/ in {DEVKITS[0]}/ or "
        f"{DEVKITS[2]}/, annotations/<class>/*.xml, {FILE}): run 'bbgm data download voc voc-keypoints voc-split', or "
        f"set BBGM_DATA to the folder that has {FOLDER}/. By hand: {by_hand}"
    )


def found_elsewhere(root: Path) -> str:
    """Where else the missing folder is, to follow its name; "" if it is not near."""
    return elsewhere(root, root.parent, lambda one: any(_has_images(one / name) for name in DEVKITS))


def read_voc(
    root: Path,
    split: Split,
    classes: Sequence[str] = (),
    exclude_willow: ExcludeWillow = "none",
    keep_outside: bool = False,
    crops: CropCache | None = None,
) -> Dataset:
    """Read the annotations of all objects of a split, and the headers of their images.

    Args:
        root: the folder ``PascalVOC``.
        split: of `bbgm.data.readers.voc_split.read_split`; objects keep its order.
        classes: to read, in this order; empty: all of the split.
        exclude_willow: for training that continues on Willow ObjectClass, whose cars and motorbikes partly come from
            VOC: leave the 2007 images of the two classes out of the training part ("images_of_2007", authors' code), or
            leave out both classes ("classes", as the paper says).
        keep_outside: keep keypoints outside the box.
        crops: where decoded images are kept; None: nowhere.

    Raises:
        FileNotFoundError: a folder, or a file that the split names, is missing.
        ValueError: an unknown class, or a broken file. Each error names the file and the remedy.
    """
    known = [cls for cls in CLASSES if cls in split["train"]]
    for cls in classes:
        if cls not in known:
            raise ValueError(f"class {cls!r} is not one of {known} (data.classes)")
    devkit, keypoints = _folders(root)
    wanted = list(classes or known)
    if exclude_willow == "classes":
        wanted = [cls for cls in wanted if cls not in WILLOW_CLASSES]
    objects: list[tuple[Subset, str, str]] = [
        (subset, cls, name) for subset in SUBSETS for cls in wanted for name in split[subset].get(cls, ())
    ]
    _check_files(root, objects, devkit, keypoints)
    parts: dict[Subset, dict[str, list[KeypointImage]]] = {part: {cls: [] for cls in wanted} for part in SUBSETS}
    flags: dict[str, _Flags] = {}
    drops = []
    for subset, cls, name in objects:
        reason = _left_out(subset, cls, name, exclude_willow) or _flagged(devkit, cls, name, flags)
        if reason is None:
            image = _read_object(devkit, keypoints, cls, name, keep_outside, crops)
            if len(image.names):
                parts[subset][cls].append(image)
                continue
            reason = "without a keypoint in the box"
        drops.append(Drop(subset, cls, f"{cls}/{name}", reason))
    train, test = ({cls: tuple(members) for cls, members in parts[part].items()} for part in SUBSETS)
    return Dataset("voc", train, test, dropped=DropReport(tuple(drops)))


def _folders(root: Path) -> tuple[Path, Path]:
    """The folder of JPEGImages/ and Annotations/, and that of the keypoints."""
    devkit = next((root / name for name in DEVKITS if (root / name / "JPEGImages").is_dir()), None)
    if devkit is None or not (devkit / "Annotations").is_dir():
        found = elsewhere(root / DEVKITS[0], root.parent, _has_images)
        raise FileNotFoundError(
            f"no folders JPEGImages/ and Annotations/ in {root / DEVKITS[0]}{found}. {how_to_get(root)}"
        )
    if not (root / "annotations").is_dir():
        found = elsewhere(root / "annotations", root.parent, _has_keypoints)
        raise FileNotFoundError(f"no folder {root / 'annotations'} with the keypoints{found}. {how_to_get(root)}")
    return devkit, root / "annotations"


def _has_images(folder: Path) -> bool:
    return (folder / "JPEGImages").is_dir() and (folder / "Annotations").is_dir()


def _has_keypoints(folder: Path) -> bool:
    """Whether a folder has folders of classes with annotations like 2008_002773_8.xml in them."""
    return any(next((folder / cls).glob("[0-9]*_*_*.xml"), None) for cls in CLASSES if (folder / cls).is_dir())


def _image_of(name: str) -> str:
    """The image of an object, e.g. 2008_002773 of 2008_002773_8."""
    return name.rsplit("_", 1)[0]


def _check_files(root: Path, objects: Sequence[tuple[Subset, str, str]], devkit: Path, keypoints: Path) -> None:
    """Check that all files that the split names are there, including those of objects that are left out."""
    images = [_image_of(name) for _, _, name in objects]
    paths = {
        **{devkit / "JPEGImages" / f"{image}.jpg": None for image in images},
        **{devkit / "Annotations" / f"{image}.xml": None for image in images},
        **{keypoints / cls / f"{name}.xml": None for _, cls, name in objects},
    }
    there = {file for folder in {path.parent for path in paths} if folder.is_dir() for file in folder.iterdir()}
    if absent := [path for path in paths if path not in there]:
        raise FileNotFoundError(
            f"{absent[0]} is missing ({len(absent)} of {len(paths)} files of the split are missing): every file is "
            f"needed, or the split changes. {how_to_get(root)}"
        )


def _left_out(subset: Subset, cls: str, name: str, exclude_willow: ExcludeWillow) -> str | None:
    """Why an object is not used, by its name; None if it is."""
    year = int(name[:4])
    if cls == "person" and year > 2008:
        return "person after 2008"
    if exclude_willow == "images_of_2007" and subset == "train" and cls in WILLOW_CLASSES and year == 2007:
        return "of 2007, as in Willow"
    return None


class _Flags(NamedTuple):
    """What VOC says of the objects of an image, and the release that the file names."""

    release: str
    objects: list[tuple[str, str | None]]  # class, and the flag for which it is not used


def _flagged(devkit: Path, cls: str, name: str, known: dict[str, _Flags]) -> str | None:
    """The flag for which an object is not used; None if it is.

    VOC 2012 has the images and objects of 2011, and may be read in its place: then the class of the object is compared.
    """
    image, number = _image_of(name), int(name.rsplit("_", 1)[1])
    path = devkit / "Annotations" / f"{image}.xml"
    if image not in known:
        root = read_xml(path)
        flags = [
            next((flag for flag in FLAGS if (found.findtext(flag) or "0").strip() == "1"), None)
            for found in root.findall("object")
        ]
        classes = [(found.findtext("name") or "").strip() for found in root.findall("object")]
        release = (root.findtext("folder") or "").strip()
        known[image] = _Flags(release, list(zip(classes, flags, strict=True)))
    release, objects = known[image]
    from_other = "the file is from another release of VOC" + (f" ({release})" if release else "")
    remedy = f"{from_other}; use that of 2011: move {devkit} away and run 'bbgm data download voc'"
    if not 1 <= number <= len(objects):
        raise ValueError(f"{path} has {len(objects)} objects, the split names its object {number}: {remedy}")
    there, flag = objects[number - 1]
    if there not in ("", cls) and release not in ("", "VOC2011"):
        raise ValueError(f"{path}: object {number} is of class {there}, the split has it as {cls}: {remedy}")
    return flag


def _read_object(
    devkit: Path, keypoints: Path, cls: str, name: str, keep_outside: bool, crops: CropCache | None
) -> KeypointImage:
    annotation = keypoints / cls / f"{name}.xml"
    box, names, points = read_keypoints(annotation)
    path = devkit / "JPEGImages" / f"{_image_of(name)}.jpg"
    size = image_size(path)
    if min(box) < 0 or box[2] > size[0] or box[3] > size[1]:
        raise ValueError(
            f"{annotation}: visible_bounds {box} (left, top, right, bottom) is not within {path.name} of "
            f"{size[0]} x {size[1]} px: the annotation belongs to another image or another resolution"
        )
    corner, extent = np.array(box[:2]), np.array(box[2:]) - np.array(box[:2])
    xy = (points - corner) * (FRAME / extent)
    if not keep_outside:
        inside = ((xy >= -TOLERANCE) & (xy <= FRAME + TOLERANCE)).all(axis=1)
        names, xy = tuple(np.array(names, dtype=object)[inside]), xy[inside]
    return KeypointImage(f"{cls}/{name}", cls, path, size, names, xy, box, crops)
