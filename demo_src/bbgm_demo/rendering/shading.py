"""A scene as a picture: what each sample sees, in which light, averaged over the samples of each px."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter

from bbgm_demo.rendering import background
from bbgm_demo.rendering.camera import Camera
from bbgm_demo.rendering.light import Light, ShadowMap, dot, unit
from bbgm_demo.rendering.mesh import Part
from bbgm_demo.rendering.raster import rasterise

OVERSAMPLING = 2
"""Samples of a px, in each direction."""


@dataclass(frozen=True, eq=False)
class Surface:
    """What the samples of a picture see of the parts; the others see the background.

    Attributes:
        place: (S, 2) float32, px, where a sample lies in the picture.
        points: (S, 3) float32, what it sees.
        part: (S,) the index of its part.
    """

    place: np.ndarray
    points: np.ndarray
    part: np.ndarray


def draw(
    parts: Sequence[Part], camera: Camera, light: Light, around: background.Surroundings, exposure: float
) -> tuple[np.ndarray, Surface]:
    """The parts over the background: the picture (h, w, 3) uint8 RGB, and what its samples see."""
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
    total = empty * share.reshape(camera.height, camera.width, 1) + np.stack(front, axis=-1).reshape(empty.shape)
    place = (np.stack([hits.sample % width, hits.sample // width], axis=1).astype(np.float32) + 0.5) / OVERSAMPLING
    return _expose(total, exposure), Surface(place, points, part_of)


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
