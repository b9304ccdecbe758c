"""A picture: one model, things around it, camera, light."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bbgm_demo.rendering import background
from bbgm_demo.rendering.camera import aim
from bbgm_demo.rendering.light import random_light
from bbgm_demo.rendering.mesh import Part, revolve, rotation, superellipsoid
from bbgm_demo.rendering.paint import Material, Noise, random_paint
from bbgm_demo.rendering.shading import draw


@dataclass(frozen=True, eq=False)
class Model:
    """One object of a class.

    Attributes:
        parts: its surfaces, about 2 units wide or high, standing on z = 0.
        keypoints: (10, 3), Willow's.
        landmarks: positions (3,) of those of the other formats, by name; left and right are the object's own.
        azimuth: largest turn about the vertical in Willow's format, degrees, either way.
        elevation: range of the camera's, degrees.
        aspect: range of the picture's width / height.
        framed: (n, 3) points that must be inside the picture; None: all vertices.
        clutter_in_front: whether things may stand before it.
        outline: the names of landmarks on the outline as the viewer sees it, which do not turn with the object.
    """

    parts: Sequence[Part]
    keypoints: np.ndarray
    landmarks: Mapping[str, np.ndarray]
    azimuth: float
    elevation: tuple[float, float]
    aspect: tuple[float, float]
    framed: np.ndarray | None = None
    clutter_in_front: bool = True
    outline: frozenset[str] = frozenset()


def render(model: Model, generator: np.random.Generator, noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """One picture of a model.

    Returns:
        (h, w, 3) uint8 RGB, with sides of 256 to 400 px; and (10, 2) float64, px of the keypoints, whether seen or not.
    """
    turn = rotation("z", generator.uniform(-model.azimuth, model.azimuth))
    parts = [part.placed(turn, np.zeros(3)) for part in model.parts]
    keypoints = model.keypoints @ turn.T
    framed = np.concatenate([p.vertices for p in parts]) if model.framed is None else model.framed @ turn.T
    framed = np.concatenate([framed, keypoints])
    roll = float(np.clip(generator.normal(0, 5), -14, 14))
    camera = aim(
        framed,
        generator.uniform(*model.elevation),
        roll,
        generator.uniform(4.5, 8.0),
        _size(model, generator),
        generator,
    )
    outside = bool(generator.random() < 0.5)
    parts += clutter(framed, generator, noise, model.clutter_in_front)
    light = random_light(generator, outside)
    around = (background.outdoors if outside else background.indoors)(generator, noise)
    picture, _ = draw(parts, camera, light, around, generator.uniform(0.85, 1.15))
    return picture, camera.project(keypoints)[0]


def _size(model: Model, generator: np.random.Generator) -> tuple[int, int]:
    """Width and height in px."""
    long, aspect = generator.uniform(300, 400), generator.uniform(*model.aspect)
    width, height = (long, long / aspect) if aspect > 1 else (long * aspect, long)
    return max(round(width), 256), max(round(height), 256)


def clutter(framed: np.ndarray, generator: np.random.Generator, noise: Noise, in_front: bool) -> list[Part]:
    """Balls, boxes, cones and pillars with any paint, behind the object and sometimes before it."""
    low, high = framed.min(axis=0), framed.max(axis=0)
    things = []
    for _ in range(generator.integers(1, 5)):
        size = generator.uniform(0.18, 0.6)
        place = np.array(
            [generator.uniform(low[0] - 1, high[0] + 1), high[1] + size + generator.uniform(0.2, 1.3), 0.0]
        )
        things.append((size, place))
    for _ in range(generator.integers(0, 4) if in_front else 0):
        size = generator.uniform(0.1, 0.26)
        place = np.array([generator.uniform(low[0], high[0]), low[1] - size - generator.uniform(0.05, 0.3), 0.0])
        things.append((size, place))
    parts = []
    for size, place in things:
        shiny = generator.uniform(0.0, 0.5)
        material = Material(random_paint(generator, noise, 1.0), shiny, 40.0)
        kind = generator.integers(4)
        tall = generator.uniform(0.8, 2.0)
        if kind == 0:
            shape = superellipsoid((0, 0, 1), (1, 1, 1), material)
        elif kind == 1:
            shape = superellipsoid((0, 0, tall), (1, 1, tall), material, power=(0.15, 0.15), n=(17, 32))
        elif kind == 2:
            shape = revolve([(0, 0), (1, 0), (0.06, 2 * tall), (0, 2 * tall)], material)
        else:
            shape = revolve([(0, 0), (0.8, 0), (0.8, 2 * tall), (0, 2 * tall)], material)
        parts.append(shape.placed(rotation("z", generator.uniform(0, 90)), place, size))
    return parts
