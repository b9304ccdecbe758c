"""The format of Pascal VOC 2011 with Berkeley keypoints.

As in the real data set, an image may show several objects, and objects may be small, cut off, or partly behind others.
Only visible keypoints are annotated. Users of the real data set skip objects that are flagged as difficult, occluded or
truncated, and persons after 2008; all of these occur here, too.

Two files are not in the real data set: ``voc2011_pairs.json`` is the split (part -> class -> names of objects), and
``scenes.json`` holds what the renderer knows about each object, see `Scene`.
"""

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np
from PIL import Image

from bbgm_demo.parallel import in_parallel
from bbgm_demo.pictures import CLASSES, SeenObject, render_photo
from bbgm_demo.seeds import key

FOLDER = "PascalVOC"
DEVKIT = "VOC2011"
"""Folder of images and VOC's own annotations; those of Berkeley are in ``annotations``."""

SPLIT = "voc2011_pairs.json"
SCENES = "scenes.json"
NAMES = {"Car": "car", "Duck": "bird", "Face": "person", "Motorbike": "motorbike", "Winebottle": "bottle"}
"""VOC's names for the renderer's classes."""

PHOTOS = 2.4
"""Photographs per class for each image per class in Willow's format."""

TRUNCATED, OCCLUDED = 0.12, 0.12
"""An object is flagged if more than this share of it is outside the picture, or behind others."""

DIFFICULT = 100.0
"""px; an object whose longer side is shorter is flagged as difficult."""

_STREAM = 1  # keeps the random numbers apart from those of the other formats
_POSES = ("Right", "Frontal", "Left", "Rear")  # of an object that faces right where the azimuth is 0


@dataclass(frozen=True)
class Scene:
    """One object of a photograph.

    Attributes:
        name: as in the split, e.g. ``2008_000012_1``: image, and the object's place in its annotation.
        cls: VOC's name of its class.
        part: "train" or "test".
        size: width and height of the image, px.
        box: left, top, right, bottom of the visible part, px.
        azimuth, elevation: degrees, of the direction from the object to the camera: 0 is the side that Willow shows.
        pose: as in VOC's annotations.
        difficult, occluded, truncated: flags.
        keypoints: x and y in px, by name; None where it is not visible.
    """

    name: str
    cls: str
    part: str
    size: tuple[int, int]
    box: tuple[float, float, float, float]
    azimuth: float
    elevation: float
    pose: str
    difficult: bool
    occluded: bool
    truncated: bool
    keypoints: dict[str, tuple[float, float] | None]

    @property
    def image(self) -> str:
        """Name of the image, e.g. ``2008_000012``."""
        return self.name.rsplit("_", 1)[0]


def read_scenes(tree: Path) -> list[Scene]:
    """All objects of a demo tree ``PascalVOC``, in the order of their images."""
    records = json.loads((tree / SCENES).read_text(encoding="utf-8"))
    return [Scene(**{**record, "size": tuple(record["size"]), "box": tuple(record["box"])}) for record in records]


def write_tree(tree: Path, seed: int, images_per_class: int) -> None:
    """Write images, both annotations, split and scenes."""
    for folder in ("JPEGImages", "Annotations"):
        (tree / DEVKIT / folder).mkdir(parents=True)
    for cls in NAMES.values():
        (tree / "annotations" / cls).mkdir(parents=True)
    photos = round(PHOTOS * images_per_class)
    jobs = [
        partial(write_photo, tree, photos * number + index, index, cls, seed)
        for number, cls in enumerate(NAMES)
        for index in range(photos)
    ]
    scenes = [scene for found in in_parallel(jobs, "rendering the demo data like Pascal VOC") for scene in found]
    split = {
        part: {
            cls: [
                one.name
                for one in scenes
                if (one.part, one.cls) == (part, cls) and any(point for point in one.keypoints.values())
            ]
            for cls in sorted(NAMES.values())
        }
        for part in ("train", "test")
    }
    (tree / SPLIT).write_text(json.dumps(split, indent=0), encoding="utf-8")
    (tree / SCENES).write_text(json.dumps([asdict(scene) for scene in scenes], indent=0), encoding="utf-8")


def write_photo(tree: Path, number: int, index: int, cls: str, seed: int) -> list[Scene]:
    """Render one photograph, whose main object is of the class; write it and its annotations.

    Args:
        number: of the photograph among all; index: among those of its class.
    """
    generator = np.random.default_rng([seed, key(cls), _STREAM, index])
    classes = [cls]
    if generator.random() < 0.15:
        classes.append(CLASSES[generator.integers(len(CLASSES))])
    pixels, objects = render_photo(classes, generator, _azimuth(index, generator))
    image = f"{_year(index)}_{number + 1:06d}"
    height, width = pixels.shape[:2]
    Image.fromarray(pixels).save(tree / DEVKIT / "JPEGImages" / f"{image}.jpg", quality=92)
    seen = [one for one in objects if one.box[2] > one.box[0]]
    scenes = [
        _scene(f"{image}_{k + 1}", "test" if index % 4 == 3 else "train", (width, height), one)
        for k, one in enumerate(seen)
    ]
    _write_xml(tree / DEVKIT / "Annotations" / f"{image}.xml", _annotation(image, (width, height), scenes))
    for scene in scenes:
        _write_xml(tree / "annotations" / scene.cls / f"{scene.name}.xml", _keypoints(scene))
    return scenes


def _year(index: int) -> int:
    """Most are from 2008; some from 2007, which has no flag for occlusion, and some later, whose persons are unused."""
    return 2007 if index % 9 == 4 else 2010 if index % 13 == 8 else 2008


def _azimuth(index: int, generator: np.random.Generator) -> float:
    """Degrees: a fifth of the photographs from about the side that Willow shows, the others evenly from all sides."""
    if index % 5 == 0:
        return float(generator.normal(0, 40))
    return float(360 * 0.618 * index + generator.uniform(-20, 20))


def _scene(name: str, part: str, size: tuple[int, int], one: SeenObject) -> Scene:
    left, top, right, bottom = one.box  # of the px; a person draws it around them
    box = (max(left - 1, 0.0), max(top - 1, 0.0), min(right + 1, float(size[0])), min(bottom + 1, float(size[1])))
    azimuth = float(np.degrees(np.arctan2(one.view[0], -one.view[1]))) % 360
    elevation = float(np.degrees(np.arcsin(one.view[2])))
    quarter = round(azimuth / 90) + (1 if one.cls == "Face" else 0)
    return Scene(
        name=name,
        cls=NAMES[one.cls],
        part=part,
        size=size,
        box=box,
        azimuth=round(azimuth, 1),
        elevation=round(elevation, 1),
        pose="Unspecified" if one.cls == "Winebottle" else _POSES[quarter % 4],
        difficult=max(box[2] - box[0], box[3] - box[1]) < DIFFICULT,
        occluded=one.hidden > OCCLUDED,
        truncated=one.cut > TRUNCATED,
        keypoints={key: point and (round(point[0], 2), round(point[1], 2)) for key, point in one.landmarks.items()},
    )


def _annotation(image: str, size: tuple[int, int], scenes: list[Scene]) -> Xml.Element:
    """VOC's annotation of an image."""
    root = Xml.Element("annotation")
    year = image[:4]
    _texts(root, folder="VOC2011", filename=f"{image}.jpg")
    _texts(Xml.SubElement(root, "source"), database="rendered", annotation="rendered", image="rendered")
    _texts(Xml.SubElement(root, "size"), width=size[0], height=size[1], depth=3)
    _texts(root, segmented=0)
    for scene in scenes:
        found = Xml.SubElement(root, "object")
        _texts(found, name=scene.cls, pose=scene.pose, truncated=int(scene.truncated))
        if year != "2007":
            _texts(found, occluded=int(scene.occluded))
        corners = zip(("xmin", "ymin", "xmax", "ymax"), (max(round(value), 1) for value in scene.box), strict=True)
        _texts(Xml.SubElement(found, "bndbox"), **dict(corners))
        _texts(found, difficult=int(scene.difficult))
    return root


def _keypoints(scene: Scene) -> Xml.Element:
    """The Berkeley annotation of an object: its visible keypoints."""
    root = Xml.Element("annotation")
    _texts(root, image=scene.image, voc_id=scene.name.rsplit("_", 1)[1], category=scene.cls, subcategory="")
    left, top, right, bottom = scene.box
    sizes = {"height": bottom - top, "width": right - left, "xmin": left, "ymin": top}
    Xml.SubElement(root, "visible_bounds", {key: f"{value:.2f}" for key, value in sizes.items()})
    points = Xml.SubElement(root, "keypoints")
    for name, point in scene.keypoints.items():
        if point is not None:
            place = {"x": f"{point[0]:.2f}", "y": f"{point[1]:.2f}", "z": "0.00"}
            Xml.SubElement(points, "keypoint", {"name": name, "visible": "1", **place})
    return root


def _texts(parent: Xml.Element, **values: object) -> None:
    for tag, value in values.items():
        Xml.SubElement(parent, tag).text = str(value)


def _write_xml(path: Path, root: Xml.Element) -> None:
    Xml.indent(root, "\t")
    path.write_bytes(Xml.tostring(root, encoding="utf-8", xml_declaration=True))
