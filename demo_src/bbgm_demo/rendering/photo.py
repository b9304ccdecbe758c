"""A photograph: objects of any classes, from any side, and what is seen of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bbgm_demo.rendering import background
from bbgm_demo.rendering.camera import Camera, aim
from bbgm_demo.rendering.light import random_light, unit
from bbgm_demo.rendering.mesh import Part, rotation
from bbgm_demo.rendering.paint import Noise
from bbgm_demo.rendering.raster import rasterise
from bbgm_demo.rendering.scene import Model, clutter
from bbgm_demo.rendering.shading import OVERSAMPLING, Surface, draw

NEAR = 0.09
"""A landmark is seen if the visible surface comes this close to it; an object is about 2 long or high."""

REACH = 2.5
"""px of the picture around the landmark in which that surface may show."""


@dataclass(frozen=True, eq=False)
class SeenObject:
    """One object of a photograph.

    Attributes:
        cls: its class, in Willow's names.
        box: left, top, right, bottom of what is seen of it, px.
        landmarks: all of the class by name: x and y in px, or None where it is not seen.
        view: (3,) direction from the object to the camera, in the object's own axes, length 1.
        hidden: share of its picture that other things cover.
        cut: share of it (of its head, for a face) outside of the picture.
    """

    cls: str
    box: tuple[float, float, float, float]
    landmarks: Mapping[str, tuple[float, float] | None]
    view: np.ndarray
    hidden: float
    cut: float


@dataclass(frozen=True, eq=False)
class Placed:
    """A model in the scene: its parts are ``parts[first:last]`` of all."""

    cls: str
    model: Model
    turn: np.ndarray
    parts: list[Part]
    framed: np.ndarray
    landmarks: dict[str, np.ndarray]
    first: int = 0

    @property
    def last(self) -> int:
        return self.first + len(self.parts)


@dataclass(frozen=True, eq=False)
class Scenery:
    """All that is in a photograph: the objects, their parts and those of other things, the camera."""

    objects: list[Placed]
    parts: list[Part]
    camera: Camera
    noise: Noise


def photograph(
    models: Mapping[str, Callable[[np.random.Generator, Noise], Model]],
    classes: Sequence[str],
    generator: np.random.Generator,
    azimuth: float | None = None,
) -> tuple[np.ndarray, list[SeenObject]]:
    """Objects of the given classes in one picture, the first in the middle, with things around and before them.

    Args:
        models: by class.
        azimuth: degrees, from where the first is seen, 0 the side that Willow shows; None: any, as for the others.

    Returns:
        (h, w, 3) uint8 RGB, with sides of 200 to 360 px; and for each class its object.
    """
    scenery = compose(models, classes, generator, azimuth)
    outside = bool(generator.random() < 0.5)
    light = random_light(generator, outside)
    around = (background.outdoors if outside else background.indoors)(generator, scenery.noise)
    picture, surface = draw(scenery.parts, scenery.camera, light, around, generator.uniform(0.85, 1.15))
    return picture, [look(one, scenery.camera, surface) for one in scenery.objects]


def compose(
    models: Mapping[str, Callable[[np.random.Generator, Noise], Model]],
    classes: Sequence[str],
    generator: np.random.Generator,
    azimuth: float | None = None,
) -> Scenery:
    """Place objects and things, and aim the camera; see `photograph`."""
    noise = Noise(generator)
    placed: list[Placed] = []
    for cls in classes:
        angle = generator.uniform(0, 360) if placed or azimuth is None else azimuth
        placed.append(_place(cls, models[cls](generator, noise), angle, placed, generator))
    framed = np.concatenate([one.framed for one in placed])
    camera = _aim(framed, placed[0].model, generator)
    parts = [part for one in placed for part in one.parts]
    parts += clutter(framed, generator, noise, all(one.model.clutter_in_front for one in placed))
    return Scenery(placed, parts, camera, noise)


def _place(cls: str, model: Model, azimuth: float, before: Sequence[Placed], generator: np.random.Generator) -> Placed:
    """Turn a model, and put it beside those before it."""
    turn = rotation("z", -azimuth)
    shift = np.zeros(3)
    if before:
        shift = np.array([generator.choice([-1, 1]) * generator.uniform(1.3, 2.2), generator.uniform(0.4, 1.8), 0])
    parts = [part.placed(turn, shift) for part in model.parts]
    framed = np.concatenate([p.vertices for p in parts]) if model.framed is None else model.framed @ turn.T + shift
    landmarks = {
        name: (point if name in model.outline else turn @ point) + shift for name, point in model.landmarks.items()
    }
    return Placed(cls, model, turn, parts, framed, landmarks, before[-1].last if before else 0)


def _aim(framed: np.ndarray, model: Model, generator: np.random.Generator) -> Camera:
    """At a random distance, large or small in the picture; in some pictures off the middle, so that part is cut off."""
    long, aspect = generator.uniform(270, 360), generator.uniform(*model.aspect) * generator.uniform(0.9, 1.25)
    width, height = (long, long / aspect) if aspect > 1 else (long * aspect, long)
    size = max(round(width), 200), max(round(height), 200)
    low, high = model.elevation
    elevation = generator.uniform(low, high + 8)
    roll = float(np.clip(generator.normal(0, 5), -14, 14))
    camera = aim(framed, elevation, roll, generator.uniform(4.5, 8.0), size, generator, scale=(0.55, 1.0))
    if generator.random() < 0.15:
        away = generator.choice([-1, 1], size=2) * generator.uniform(0.1, 0.4, 2) * size
        camera = replace(camera, centre=camera.centre + away)
    return camera


def look(one: Placed, camera: Camera, surface: Surface) -> SeenObject:
    """What a picture shows of an object."""
    mine = np.flatnonzero((surface.part >= one.first) & (surface.part < one.last))
    place, points = surface.place[mine], surface.points[mine]
    box = (0.0, 0.0, 0.0, 0.0)
    if len(place):
        columns, rows = np.ascontiguousarray(place.T)
        left, top, right, bottom = (float(edge) for edge in (columns.min(), rows.min(), columns.max(), rows.max()))
        box = left - 0.25, top - 0.25, right + 0.25, bottom + 0.25
    middle = (one.framed.min(axis=0) + one.framed.max(axis=0)) / 2
    view = unit((camera.position - middle)[None])[0] @ one.turn
    cut, hidden = _cut(one.framed, camera), 1 - len(place) / max(_samples_alone(one, camera), 1)
    return SeenObject(one.cls, box, _seen(one.landmarks, camera, place, points), view, max(hidden, 0.0), cut)


def _seen(
    landmarks: Mapping[str, np.ndarray], camera: Camera, place: np.ndarray, points: np.ndarray
) -> dict[str, tuple[float, float] | None]:
    """Where the landmarks are that the object's visible samples show; None for the others."""
    seen: dict[str, tuple[float, float] | None] = {}
    columns, rows = np.ascontiguousarray(place.T)
    for name, point in landmarks.items():
        xy, _ = camera.project(point)
        close = np.flatnonzero((np.abs(columns - xy[0]) <= REACH) & (np.abs(rows - xy[1]) <= REACH))
        inside = (xy >= 0).all() and (xy <= [camera.width, camera.height]).all()
        shown = inside and len(close) and np.linalg.norm(points[close] - point, axis=1).min() <= NEAR
        seen[name] = (float(xy[0]), float(xy[1])) if shown else None
    return seen


def _samples_alone(one: Placed, camera: Camera) -> int:
    """Samples that would see the object if there were nothing before it."""
    corners = np.concatenate([part.vertices[part.faces] for part in one.parts])
    screen, depth = camera.project(corners)
    return OVERSAMPLING**2 * len(rasterise(screen, 1 / depth, camera.width, camera.height).sample)


def _cut(points: np.ndarray, camera: Camera) -> float:
    """Share of the points' bounding box on the screen that is outside of the picture."""
    xy, _ = camera.project(points)
    low, high = xy.min(axis=0), xy.max(axis=0)
    inside = np.clip(np.minimum(high, [camera.width, camera.height]) - np.maximum(low, 0), 0, None)
    return float(1 - inside.prod() / np.maximum(high - low, 1e-6).prod())
