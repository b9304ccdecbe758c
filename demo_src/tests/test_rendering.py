"""The renderer of the demo data: meshes, camera, shadows, paint."""

from collections import Counter

import numpy as np
import pytest
from bbgm_demo.objects import MODELS
from bbgm_demo.rendering.camera import aim
from bbgm_demo.rendering.light import Light, ShadowMap
from bbgm_demo.rendering.mesh import Part, bezier, outermost, revolve, rotation, superellipsoid, surface, tube
from bbgm_demo.rendering.paint import Material, Noise, checked, dotted, plain, striped

GREY = Material(plain(np.full(3, 0.5)))


def volume(part: Part) -> float:
    """Of a closed mesh, by the divergence theorem; negative if it is inside out."""
    a, b, c = (part.vertices[part.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def test_the_last_point_on_a_ray() -> None:
    """Along the axes of an ellipsoid, aslant, and through the outer of two; also where the ray meets a vertex."""
    inner, outer = (superellipsoid((0, 0, 1), (0.5 * k, 0.7 * k, k), GREY, n=(81, 120)) for k in (1.0, 1.3))
    np.testing.assert_allclose(outermost([inner], (0, 0, 1), (0, 1, 0)), [0, 0.7, 1], atol=1e-3)
    np.testing.assert_allclose(outermost([inner], (0, 0, 1), (0, 0, 1)), [0, 0, 2], atol=1e-3)
    np.testing.assert_allclose(outermost([outer, inner], (0, 0, 1), (-1, 0, 0)), [-0.65, 0, 1], atol=1e-3)
    found = outermost([inner], (0.1, 0.05, 1.1), (0.6, 0.8, 0))
    assert np.cross(found - [0.1, 0.05, 1.1], [0.6, 0.8, 0]) == pytest.approx(0, abs=1e-12)
    assert (((found - [0, 0, 1]) / [0.5, 0.7, 1]) ** 2).sum() == pytest.approx(1, abs=3e-3)
    with pytest.raises(ValueError, match="no part lies on the ray"):
        outermost([inner], (0, 0, 5), (0, 0, 1))


def boundary(part: Part) -> set[tuple[bytes, bytes]]:
    """Directed edges whose reverse is missing, by position; none for a closed surface."""
    keys = [np.round(vertex + 0.0, 9).tobytes() for vertex in part.vertices + 0.0]
    edges = Counter((keys[face[i]], keys[face[(i + 1) % 3]]) for face in part.faces for i in range(3))
    return {edge for edge, count in edges.items() if edge[0] != edge[1] and edges[edge[::-1]] != count}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (superellipsoid((1, 2, 3), (1, 2, 0.5), GREY, n=(60, 80)), 4 / 3 * np.pi),
        (revolve([(0, 0), (1, 0), (1, 2), (0, 2)], GREY, base=(5, 0, 0), axis="y", n=200), 2 * np.pi),
        (revolve([(0, 0), (1, 0), (0, 3)], GREY, axis="x", n=200), np.pi),
        (revolve([(2 + 0.5 * np.cos(t), 0.5 * np.sin(t)) for t in np.arange(60) * np.pi / 30], GREY, n=120, ring=True),
         2 * np.pi**2 * 2 * 0.25),
        (tube([(0, 0, 0), (0, 0, 1), (0, 0, 4)], 0.5, GREY, n=120), np.pi),
        (tube([(0, 0, 0), (2, 0, 0)], np.array([[0.5, 0.25]] * 2), GREY, n=120, flat=False), np.pi / 4),
    ],
    ids=["ellipsoid", "cylinder", "cone", "torus", "tube", "flat tube"],
)  # fmt: skip
def test_closed_surfaces_have_their_volume(part: Part, expected: float) -> None:
    assert volume(part) == pytest.approx(expected, rel=0.01)
    assert not boundary(part)
    lengths = np.linalg.norm(part.normals[np.unique(part.faces)], axis=1)
    np.testing.assert_allclose(lengths, 1)


def test_normals_of_a_sphere_are_radial() -> None:
    part = superellipsoid((0, 0, 0), (1, 1, 1), GREY, n=(40, 60))
    used = np.unique(part.faces)
    assert np.einsum("ij,ij->i", part.normals[used], part.vertices[used]).min() > 0.995


def test_sheet_is_seen_from_both_sides() -> None:
    grid = np.stack([*np.meshgrid(np.arange(3.0), np.arange(4.0)), np.zeros((4, 3))], axis=-1)
    part = surface(grid, GREY, (False, False), sheet=True)
    assert len(part.faces) == 2 * 2 * 6
    assert volume(part) == pytest.approx(0)


def test_placing_turns_and_moves_but_keeps_the_paint() -> None:
    part = superellipsoid((1, 0, 0), (1, 2, 3), GREY)
    turn = rotation("z", 90)
    np.testing.assert_allclose(turn @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    placed = part.placed(turn, np.array([0, 0, 5.0]), 2)
    np.testing.assert_allclose(placed.vertices.mean(axis=0), [0, 2, 5], atol=1e-9)
    assert volume(placed) == pytest.approx(8 * volume(part))
    assert placed.local is part.vertices


def test_bezier_ends_and_middle() -> None:
    curve = bezier((0, 0), (1, 2), (2, 0), n=5)
    np.testing.assert_allclose(curve[[0, 2, 4]], [[0, 0], [1, 1], [2, 0]])


def test_camera_sees_all_points_and_rays_meet_them() -> None:
    for seed in range(20):
        generator = np.random.default_rng(seed)
        points = generator.uniform(-1, 1, (30, 3)) + [0, 0, 1]
        camera = aim(points, generator.uniform(0, 40), generator.uniform(-15, 15), 6, (300, 260), generator)
        xy, depth = camera.project(points)
        assert (xy > 6).all()
        assert (xy < [294, 254]).all()
        assert np.ptp(xy, axis=0).max() > 0.45 * 250
        rays = camera.rays().reshape(260, 300, 3)
        column, row = np.floor(xy).astype(int).T
        reached = camera.position + depth[:, None] * rays[row, column]
        assert np.abs(reached - points).max() < 0.06  # up to half a px


def test_upright_camera_has_up_up() -> None:
    camera = aim(np.array([[-1.0, 0, 0], [1, 0, 2]]), 10, 0, 6, (300, 300), np.random.default_rng(0))
    (low, _), (high, _) = camera.project(np.array([[0.0, 0, 0], [0.2, 0, 1]]))[0][:, ::-1]
    assert high < low


def test_shadow_of_a_ball() -> None:
    ball = superellipsoid((0, 0, 2), (0.5, 0.5, 0.5), GREY)
    direction = np.array([0.6, 0.0, 0.8])
    shadows = ShadowMap(ball.vertices[ball.faces], direction)
    up = np.array([0.0, 0.0, 1.0])
    below = np.array([[-1.5, 0, 0], [-1.4, 0.1, 0], [0, 0, 0], [1.5, 0, 0], [-1.5, 0.9, 0]], dtype=np.float32)
    np.testing.assert_array_equal(shadows.lit(below, up), [0, 0, 1, 1, 1])
    towards = ball.vertices[ball.normals @ direction > 0.3]
    normals = ball.normals[ball.normals @ direction > 0.3]
    assert shadows.lit(towards.astype(np.float32), normals).min() == 1  # no surface shades itself


def test_light_falls_by_the_cosine() -> None:
    light = Light(np.array([0.0, 0.0, 1.0]), np.ones(3), np.zeros(3), np.zeros(3))
    angles = np.radians([0, 60, 90, 150])
    normals = np.stack([np.sin(angles), 0 * angles, np.cos(angles)], axis=1)
    one, none = np.ones(4), np.zeros(4)
    shade = light.shade(np.full((4, 3), 0.5), normals, normals, one, one, none, one)
    np.testing.assert_allclose(shade, 0.5 * np.array([1, 0.5, 0, 0])[:, None] * np.ones(3), atol=1e-7)


def test_noise_is_smooth_periodic_and_bounded() -> None:
    noise = Noise(np.random.default_rng(0))
    points = np.random.default_rng(1).uniform(-50, 50, (2000, 3))
    for value in (noise(points), noise.fractal(points, 3), noise(points[:, :2])):
        assert value.min() >= 0
        assert value.max() <= 1
        assert value.std() > 0.05
    np.testing.assert_allclose(noise(points), noise(points + [32, -64, 32]), atol=1e-4)
    assert np.abs(noise(points) - noise(points + 1e-3)).max() < 0.01


@pytest.mark.parametrize("paint", [striped, dotted, checked])
def test_patterns_use_both_colours(paint: object) -> None:
    black, white = np.zeros(3), np.ones(3)
    if paint is striped:
        pattern = striped(black, white, (1, 0, 0), 0.3)
    else:
        pattern = dotted(black, white, 0.3) if paint is dotted else checked(black, white, 0.3)
    rgb = pattern(np.random.default_rng(0).uniform(-1, 1, (3000, 3)))
    assert rgb.shape == (3000, 3)
    assert (rgb == 0).any()
    assert (rgb == 1).any()


@pytest.mark.parametrize("cls", MODELS)
def test_models_are_sound(cls: str) -> None:
    """Ten keypoints at the surface of an object of about two units that stands on the ground, its shape by the seed."""
    seen = []
    for seed in range(5):
        generator = np.random.default_rng(seed)
        model = MODELS[cls](generator, Noise(generator))
        vertices = np.concatenate([part.vertices for part in model.parts])
        assert np.isfinite(vertices).all()
        assert 1.5 < np.ptp(vertices, axis=0).max() < 3.2
        assert -0.05 < vertices[:, 2].min() < 0.15
        assert model.keypoints.shape == (10, 3)
        distance = np.linalg.norm(model.keypoints[:, None] - vertices, axis=2).min(axis=1)
        assert distance.max() < 0.35
        for part in model.parts:
            rgb = part.material.paint(part.local)
            assert rgb.shape == part.local.shape
            assert rgb.min() >= -1e-6
            assert rgb.max() <= 1.6
        seen.append(model.keypoints)
    assert np.std(seen, axis=0).max() > 0.02
