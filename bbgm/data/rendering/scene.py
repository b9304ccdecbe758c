"""A picture: one model, things around it, camera, light."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter

from bbgm.data.rendering import background
from bbgm.data.rendering.camera import Camera, aim
from bbgm.data.rendering.light import Light, ShadowMap, dot, random_light, unit
from bbgm.data.rendering.mesh import Part, revolve, rotation, superellipsoid
from bbgm.data.rendering.paint import Material, Noise, random_paint
from bbgm.data.rendering.raster import rasterise

OVERSAMPLING = 2


@dataclass(frozen=True, eq=False)
class Model:
    """One object of a class.

    Attributes:
        parts: its surfaces, about 2 units wide or high, standing on z = 0.
        keypoints: (10, 3).
        azimuth: largest turn about the vertical, degrees, either way.
        elevation: range of the camera's, degrees.
        aspect: range of the picture's width / height.
        framed: (n, 3) points that must be inside the picture; None: all vertices.
        clutter_in_front: whether things may stand before it.
    """

    parts: Sequence[Part]
    keypoints: np.ndarray
    azimuth: float
    elevation: tuple[float, float]
    aspect: tuple[float, float]
    framed: np.ndarray | None = None
    clutter_in_front: bool = True


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
    parts += _clutter(framed, generator, noise, model.clutter_in_front)
    light = random_light(generator, outside)
    around = (background.outdoors if outside else background.indoors)(generator, noise)
    picture = _expose(_radiance(parts, camera, light, around), generator.uniform(0.85, 1.15))
    return picture, camera.project(keypoints)[0]


def _size(model: Model, generator: np.random.Generator) -> tuple[int, int]:
    """Width and height in px."""
    long, aspect = generator.uniform(300, 400), generator.uniform(*model.aspect)
    width, height = (long, long / aspect) if aspect > 1 else (long * aspect, long)
    return max(round(width), 256), max(round(height), 256)


def _clutter(framed: np.ndarray, generator: np.random.Generator, noise: Noise, in_front: bool) -> list[Part]:
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


def _radiance(parts: Sequence[Part], camera: Camera, light: Light, around: background.Surroundings) -> np.ndarray:
    """(h, w, 3): the parts over the background, averaged over the samples of each px."""
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = np.concatenate([part.faces + start for part, start in zip(parts, starts[:-1], strict=True)])
    owner = np.repeat(np.arange(len(parts)), [len(part.faces) for part in parts])
    vertices, normals, local = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("vertices", "normals", "local")
    )
    shadows = ShadowMap(vertices[faces], light.direction)
    values = np.concatenate([vertices, normals, local], axis=1).astype(np.float32)
    empty = background.draw(around, camera, light, shadows)

    width, height = camera.width * OVERSAMPLING, camera.height * OVERSAMPLING
    screen, depth = camera.project(vertices)
    hits = rasterise(screen[faces] * OVERSAMPLING, 1 / depth[faces], width, height)
    corner = faces[hits.face]
    weights = hits.weights / depth.astype(np.float32)[corner]  # perspective: linear in space, not on the screen
    weights /= weights.sum(axis=1, keepdims=True)
    points, normal, where = np.split(sum(weights[:, k, None] * values[corner[:, k]] for k in range(3)), 3, axis=1)
    normal = unit(normal)
    view = unit(camera.position.astype(np.float32) - points)
    normal = np.where(dot(normal, view)[:, None] < 0, -normal, normal)  # back of a sheet
    part_of = owner[hits.face]
    albedo = np.empty_like(points)
    for index in np.unique(part_of):
        mine = np.flatnonzero(part_of == index)
        albedo[mine] = parts[index].material.paint(where[mine])
    gloss = np.array([part.material.gloss for part in parts], dtype=np.float32)[part_of]
    sharpness = np.array([part.material.sharpness for part in parts], dtype=np.float32)[part_of]
    lit = shadows.lit(points, normal)
    openness = _openness(hits.sample, 1 / hits.nearness, width, height) * (
        0.6 + 0.4 * np.clip(points[:, 2] / 0.4, 0, 1)
    )
    radiance = light.shade(albedo, normal, view, lit, openness, gloss, sharpness)

    # Mean over the samples of each px: those that hit no part show the background.
    pixel = hits.sample // (width * OVERSAMPLING) * camera.width + hits.sample % width // OVERSAMPLING
    n_pixels, n_samples = camera.width * camera.height, OVERSAMPLING**2
    share = 1 - np.bincount(pixel, minlength=n_pixels) / n_samples
    front = [np.bincount(pixel, radiance[:, k], n_pixels) / n_samples for k in range(3)]
    return empty * share.reshape(camera.height, camera.width, 1) + np.stack(front, axis=-1).reshape(empty.shape)


def _openness(sample: np.ndarray, depth: np.ndarray, width: int, height: int) -> np.ndarray:
    """(S,) in [0.5, 1]: less where a point lies deeper than its neighbours on the screen (ambient occlusion)."""
    total, weight = np.zeros(width * height, np.float32), np.zeros(width * height, np.float32)
    total[sample], weight[sample] = depth, 1
    side = max(width, height) // 24
    total, weight = (uniform_filter(a.reshape(height, width), side).reshape(-1)[sample] for a in (total, weight))
    return 1 - 0.5 * np.clip((depth - total / weight) / 0.25, 0, 1)


def _expose(radiance: np.ndarray, exposure: float) -> np.ndarray:
    """8-bit picture: a film's response (Narkowicz' fit of ACES: dark toe, soft highlights), then display gamma."""
    light = np.maximum(radiance.astype(np.float32) * np.float32(0.62 * exposure), 0)
    shown = light * (2.51 * light + 0.03) / (light * (2.43 * light + 0.59) + 0.14)
    return (255 * np.clip(shown, 0, 1) ** np.float32(1 / 2.2) + 0.5).astype(np.uint8)
