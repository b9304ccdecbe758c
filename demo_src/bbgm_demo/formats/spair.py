"""The format of SPair-71k: pairs of the photographs in the format of Pascal VOC, and how difficult each pair is.

As in the real data set, an image shows one object of its class, which may be truncated or occluded, and a pair lists
the keypoints that are visible in both images. Its difficulty follows from what the renderer knows:

1. ``viewpoint_variation``: by the angle between the two directions to the camera, in the axes of the objects; 0 up to
   EASY degrees, 1 up to MEDIUM, 2 above. `SHARES` is about the share of each among the pairs of a class.
2. ``scale_variation``: by the ratio of the areas of the two boxes, each as a share of its image; 0 up to 2, 1 up to 4,
   2 above.
3. ``truncation``, ``occlusion``: 0 neither object, 1 the source, 2 the target, 3 both.
4. ``mirror``: 1 if one view is within EASY degrees of the other's mirror image, but not of the other itself.
"""

import json
import shutil
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from bbgm_demo.formats.voc import DEVKIT, NAMES, Scene, read_scenes
from bbgm_demo.formats.voc import FOLDER as VOC_FOLDER
from bbgm_demo.seeds import key

FOLDER = "SPair-71k"
LAYOUT = "large"
PARTS = {"train": "trn", "test": "test"}
"""SPair's names of the parts of the split."""

EASY, MEDIUM = 35.0, 80.0
SHARES = (0.45, 0.3, 0.25)
PAIRS = {"train": 6, "test": 3}
"""At most so many pairs per class for each image per class in Willow's format."""

LEAST = 3
"""Fewest common keypoints of a pair."""

_STREAM = 2  # keeps the random numbers apart from those of the other formats


def write_tree(tree: Path, seed: int, images_per_class: int) -> None:
    """Write images, annotations, and the pairs of both parts. The tree in the format of VOC must be beside this one."""
    voc = tree.parent / VOC_FOLDER
    scenes = usable(read_scenes(voc))
    for cls in NAMES.values():
        for name in ("JPEGImages", "ImageAnnotation"):
            (tree / name / cls).mkdir(parents=True)
    for scene in scenes:
        photo = voc / DEVKIT / "JPEGImages" / f"{scene.image}.jpg"
        shutil.copyfile(photo, tree / "JPEGImages" / scene.cls / photo.name)
        _write_json(tree / "ImageAnnotation" / scene.cls / f"{scene.image}.json", _image_annotation(scene))
    (tree / "Layout" / LAYOUT).mkdir(parents=True)
    for subset, part in PARTS.items():
        folder = tree / "PairAnnotation" / part
        folder.mkdir(parents=True)
        lines: list[str] = []
        for cls in sorted(NAMES.values()):
            members = [scene for scene in scenes if (scene.cls, scene.part) == (cls, subset)]
            generator = np.random.default_rng([seed, key(cls), _STREAM, key(subset)])
            for source, target in choose_pairs(members, PAIRS[subset] * images_per_class, generator):
                lines.append(f"{len(lines) + 1:06d}-{source.image}-{target.image}:{cls}")
                _write_json(folder / f"{lines[-1]}.json", _pair_annotation(len(lines), lines[-1], source, target))
        (tree / "Layout" / LAYOUT / f"{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def usable(scenes: Sequence[Scene]) -> list[Scene]:
    """Objects that are the only one of their class in their image, not difficult, and have enough visible keypoints."""
    of_class = [(scene.image, scene.cls) for scene in scenes]
    return [
        scene
        for scene in scenes
        if of_class.count((scene.image, scene.cls)) == 1 and not scene.difficult and len(_seen(scene)) >= LEAST
    ]


def choose_pairs(members: Sequence[Scene], wanted: int, generator: np.random.Generator) -> list[tuple[Scene, Scene]]:
    """Distinct pairs with enough common keypoints, about `SHARES` of each viewpoint; order and direction are random."""
    levels: list[list[tuple[Scene, Scene]]] = [[], [], []]
    for first, second in combinations(members, 2):
        if len(_seen(first).keys() & _seen(second).keys()) >= LEAST:
            pair = (first, second) if generator.random() < 0.5 else (second, first)
            levels[viewpoint_variation(first, second)].append(pair)
    chosen = []
    for level, share in zip(levels, SHARES, strict=True):
        order = generator.permutation(len(level))
        chosen += [level[k] for k in order[: round(share * wanted)]]
    return [chosen[k] for k in generator.permutation(len(chosen))]


def direction(scene: Scene, mirrored: bool = False) -> np.ndarray:
    """(3,) of length 1 towards the camera, in the object's axes; mirrored: of the object's mirror image."""
    azimuth, elevation = np.radians([scene.azimuth, scene.elevation])
    x, y = np.sin(azimuth) * np.cos(elevation), -np.cos(azimuth) * np.cos(elevation)
    if mirrored:  # the plane between left and right: faces and bottles look along y, the others along x
        x, y = (-x, y) if scene.cls in ("person", "bottle") else (x, -y)
    return np.array([x, y, np.sin(elevation)])


def angle(first: np.ndarray, second: np.ndarray) -> float:
    """Degrees between two directions."""
    return float(np.degrees(np.arccos(np.clip(first @ second, -1, 1))))


def viewpoint_variation(first: Scene, second: Scene) -> int:
    """0 easy, 1 medium, 2 hard."""
    between = angle(direction(first), direction(second))
    return int(between > EASY) + int(between > MEDIUM)


def scale_variation(first: Scene, second: Scene) -> int:
    """0 easy, 1 medium, 2 hard."""
    small, large = sorted(
        (one.box[2] - one.box[0]) * (one.box[3] - one.box[1]) / (one.size[0] * one.size[1]) for one in (first, second)
    )
    return int(large > 2 * small) + int(large > 4 * small)


def _seen(scene: Scene) -> dict[str, list[int]]:
    """Visible keypoints in whole px, by their numbers in the class."""
    points = enumerate(scene.keypoints.values())
    return {str(number): [round(point[0]), round(point[1])] for number, point in points if point is not None}


def _pair_annotation(number: int, name: str, source: Scene, target: Scene) -> dict[str, Any]:
    common = [key for key in _seen(source) if key in _seen(target)]
    sides = {"src": source, "trg": target}
    near_mirror = angle(direction(source), direction(target, mirrored=True)) <= EASY
    variation = viewpoint_variation(source, target)
    return {
        "pair_id": number,
        "filename": name,
        **{f"{side}_imname": f"{scene.image}.jpg" for side, scene in sides.items()},
        **{f"{side}_imsize": [*scene.size, 3] for side, scene in sides.items()},
        **{f"{side}_bndbox": [round(value) for value in scene.box] for side, scene in sides.items()},
        "category": source.cls,
        **{f"{side}_pose": scene.pose for side, scene in sides.items()},
        **{f"{side}_kps": [_seen(scene)[key] for key in common] for side, scene in sides.items()},
        "kps_ids": common,
        "mirror": int(near_mirror and variation > 0),
        "viewpoint_variation": variation,
        "scale_variation": scale_variation(source, target),
        "truncation": int(source.truncated) + 2 * int(target.truncated),
        "occlusion": int(source.occluded) + 2 * int(target.occluded),
    }


def _image_annotation(scene: Scene) -> dict[str, Any]:
    seen = _seen(scene)
    return {
        "filename": f"{scene.image}.jpg",
        "src_database": "rendered",
        "src_annotation": "rendered",
        "src_image": "rendered",
        "image_width": scene.size[0],
        "image_height": scene.size[1],
        "image_depth": 3,
        "category": scene.cls,
        "pose": scene.pose,
        "truncated": int(scene.truncated),
        "occluded": int(scene.occluded),
        "difficult": int(scene.difficult),
        "bndbox": [round(value) for value in scene.box],
        "kps": {str(number): seen.get(str(number)) for number in range(len(scene.keypoints))},
        "azimuth_id": round(scene.azimuth / 45) % 8,
    }


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
