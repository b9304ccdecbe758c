"""Photographs: an annotated keypoint is visible, and an object in front hides others."""

import numpy as np
import pytest
from bbgm_demo.objects import MODELS
from bbgm_demo.rendering.background import indoors
from bbgm_demo.rendering.light import random_light
from bbgm_demo.rendering.photo import Placed, Scenery, compose, look
from bbgm_demo.rendering.shading import Surface, draw


def first_hit(scenery: Scenery, target: np.ndarray) -> float:
    """Distance from the camera to the first triangle on the line to a point, by intersecting all of them."""
    corners = np.concatenate([part.vertices[part.faces] for part in scenery.parts])
    origin = scenery.camera.position
    along = (target - origin) / np.linalg.norm(target - origin)
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p = np.cross(along, v)
    determinant = np.einsum("ij,ij->i", u, p)
    whole = np.abs(determinant) > 1e-12
    inverse = 1 / np.where(whole, determinant, 1)
    s = origin - corners[:, 0]
    first = np.einsum("ij,ij->i", s, p) * inverse
    q = np.cross(s, u)
    second, distance = q @ along * inverse, np.einsum("ij,ij->i", v, q) * inverse
    hit = whole & (first >= 0) & (second >= 0) & (first + second <= 1) & (distance > 0)
    return float(distance[hit].min()) if hit.any() else np.inf


@pytest.mark.parametrize("cls", MODELS)
def test_what_is_annotated_is_seen(cls: str) -> None:
    """Against a ray tracer: no annotated keypoint lies behind a surface, and hardly one in the open lacks."""
    behind, missed, shown = 0, 0, 0
    for seed in range(6):
        generator = np.random.default_rng([seed, 5])
        scenery = compose(MODELS, [cls], generator)
        light, around = random_light(generator, False), indoors(generator, scenery.noise)
        _, surface = draw(scenery.parts, scenery.camera, light, around, 1.0)
        one = scenery.objects[0]
        seen = look(one, scenery.camera, surface).landmarks
        for name, point in one.landmarks.items():
            distance = np.linalg.norm(point - scenery.camera.position)
            gap = distance - first_hit(scenery, point)  # how far behind the first surface
            xy, _ = scenery.camera.project(point)
            inside = (xy >= 0).all() and (xy <= [scenery.camera.width, scenery.camera.height]).all()
            if seen[name] is not None:
                assert inside
                shown += 1
                behind += bool(gap > 0.35)
            elif inside:
                missed += bool(abs(gap) < 0.03)
    assert shown > 25
    assert behind <= 0.04 * shown
    assert missed <= 0.04 * shown


def test_an_object_in_front_hides_keypoints() -> None:
    generator = np.random.default_rng(0)
    scenery = compose(MODELS, ["Car"], generator)
    one, camera = scenery.objects[0], scenery.camera
    points = np.concatenate([part.vertices for part in one.parts]).astype(np.float32)
    place = camera.project(points)[0].astype(np.float32)
    open_ = look(one, camera, Surface(place, points, np.zeros(len(points), np.int64)))
    covered = look(one, camera, Surface(place, points, np.full(len(points), one.last)))
    assert sum(point is not None for point in open_.landmarks.values()) > 5
    assert not any(covered.landmarks.values())
    assert covered.hidden == 1
    assert isinstance(one, Placed)
