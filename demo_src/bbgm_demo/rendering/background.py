"""What is around the object: ground and sky, or floor and wall."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bbgm_demo.rendering.camera import Camera
from bbgm_demo.rendering.light import Light, ShadowMap
from bbgm_demo.rendering.paint import Noise, blend, colour, step


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Paints of the ground (P, 2), of a wall at depth ``wall`` (P, 2), or without a wall of the sky (rays)."""

    ground: Callable[[np.ndarray], np.ndarray]
    far: Callable[[np.ndarray], np.ndarray]
    wall: float | None


def draw(around: Surroundings, camera: Camera, light: Light, shadows: ShadowMap) -> np.ndarray:
    """Radiance (height, width, 3) of the empty scene, with the shadows on it."""
    rays = camera.rays()
    radiance = np.zeros_like(rays)
    reach = np.where(rays[:, 2] < -1e-4, -camera.position[2] / np.minimum(rays[:, 2], -1e-4), np.inf)
    if around.wall is None:
        far = np.flatnonzero(~np.isfinite(reach))
        radiance[far] = around.far(rays[far])
    else:
        to_wall = (around.wall - camera.position[1]) / np.maximum(rays[:, 1], 1e-4)
        far = np.flatnonzero(to_wall < reach)
        points = camera.position + to_wall[far, None] * rays[far]
        lit = shadows.lit(points, np.array([0.0, -1.0, 0.0])) * max(-light.direction[1], 0.0)
        corner = 0.75 + 0.25 * step(points[:, 2], 0.3, 0.8)
        glow = (light.rgb * lit[:, None] + 0.5 * (light.sky + light.ground)) * corner[:, None]
        radiance[far] = around.far(points[:, [0, 2]]) * glow
        reach[far] = np.inf
    near = np.flatnonzero(np.isfinite(reach))
    points = camera.position + reach[near, None] * rays[near]
    lit = shadows.lit(points, np.array([0.0, 0.0, 1.0])) * light.direction[2]
    ground = around.ground(points[:, :2]) * (light.rgb * lit[:, None] + light.sky)
    if around.wall is None:
        haze = 1 - np.exp(-np.maximum(reach[near] - 10, 0) / 90)
        ground = blend(haze, ground, around.far(rays[near] * [1, 1, 0] + [0, 0, 0.01]))
    radiance[near] = ground
    return radiance.reshape(camera.height, camera.width, 3)


def outdoors(generator: np.random.Generator, noise: Noise) -> Surroundings:
    """A sky with clouds above hills, on grass, sand, asphalt or snow."""
    hue, deep = generator.uniform(0.54, 0.62), generator.uniform(0.45, 0.8)
    zenith, horizon = colour(hue, deep, 0.9), colour(hue, 0.18, 1.0)
    clouds, offset = generator.uniform(0.45, 0.7), generator.uniform(0, 32, 2)
    hill = colour(generator.uniform(0.22, 0.36), generator.uniform(0.3, 0.6), generator.uniform(0.3, 0.6))
    heights = generator.uniform(0.03, 0.22), generator.uniform(1.5, 5.0)

    def sky(rays: np.ndarray) -> np.ndarray:
        up = rays[:, 2] / np.linalg.norm(rays, axis=1)
        around = rays[:, 0] / np.maximum(rays[:, 1], 0.1)
        rgb = blend(np.clip(up * 2.2, 0, 1), horizon, zenith)
        cover = noise.fractal(np.stack([around * 3, up * 9], axis=1) + offset, 3)
        rgb = blend(step(cover, clouds, 0.25) * 0.8, rgb, np.array([0.95, 0.95, 0.97]))
        ridge = heights[0] * noise.fractal(np.stack([around * heights[1], 0 * around], axis=1) + offset, 2)
        trees = hill * (0.6 + 0.8 * noise(np.stack([around * 40, up * 60], axis=1)))[:, None]
        return blend(step(ridge - up, 0, 0.008), rgb, blend(np.full(len(up), 0.12), trees, horizon))

    kinds = (
        (colour(generator.uniform(0.2, 0.3), 0.55, 0.52), 5.0, 0.9),  # grass
        (colour(0.1, generator.uniform(0.2, 0.45), 0.8), 2.5, 0.35),  # sand
        (colour(0.6, 0.05, generator.uniform(0.35, 0.6)), 7.0, 0.35),  # asphalt
        (colour(0.58, 0.05, 0.93), 1.2, 0.25),  # snow
    )
    rgb, frequency, strength = kinds[generator.integers(len(kinds))]
    drift = generator.uniform(0, 32, 2)

    def ground(points: np.ndarray) -> np.ndarray:
        fine = noise.fractal(points * frequency + drift, 3)
        coarse = noise(points * 0.5 + drift)
        return rgb * (1 + strength * (1.3 * fine + 0.7 * coarse - 1))[:, None]

    return Surroundings(ground, sky, None)


def indoors(generator: np.random.Generator, noise: Noise) -> Surroundings:
    """A wall with plaster, stripes, bricks or tiles behind a floor of wood, tiles or cloth."""
    base = colour(generator.random(), generator.uniform(0.03, 0.38), generator.uniform(0.5, 0.92))
    other = np.clip(base * generator.uniform(0.55, 1.25), 0, 0.95)
    kind, size = generator.integers(4), generator.uniform(0.35, 0.8)

    def wall(points: np.ndarray) -> np.ndarray:
        x, z = points.T
        rgb: np.ndarray = base * (0.85 + 0.3 * noise.fractal(points * 1.5, 3))[:, None]
        if kind == 1:
            rgb = blend(step(np.abs(x / size % 1 - 0.5), 0.25, 0.06), rgb, other)
        elif kind == 2:
            course = np.floor(z / (0.4 * size))
            seam = np.minimum(x / size + 0.5 * (course % 2), 99) % 1
            joint = np.maximum(
                step(np.abs(seam - 0.5), 0.47, 0.03), step(np.abs(z / (0.4 * size) % 1 - 0.5), 0.44, 0.06)
            )
            rgb = blend(
                joint,
                rgb * (0.75 + 0.5 * noise(np.stack([np.floor(x / size + 0.5 * (course % 2)), course], 1)))[:, None],
                other,
            )
        elif kind == 3:
            joint = np.maximum(
                step(np.abs(x / size % 1 - 0.5), 0.46, 0.03), step(np.abs(z / size % 1 - 0.5), 0.46, 0.03)
            )
            rgb = blend(joint, rgb, other)
        return blend(step(-z, -0.22, 0.03), rgb, np.array([0.75, 0.73, 0.7]))  # skirting board

    floor_kind = generator.integers(3)
    wood = colour(generator.uniform(0.05, 0.1), generator.uniform(0.35, 0.7), generator.uniform(0.4, 0.8))
    cloth = colour(generator.random(), generator.uniform(0.05, 0.45), generator.uniform(0.4, 0.9))
    second = np.clip(cloth * generator.uniform(0.4, 0.8), 0, 1)

    def floor(points: np.ndarray) -> np.ndarray:
        x, y = points.T
        if floor_kind == 0:
            board = np.floor(y / 0.45)
            grain = noise.fractal(np.stack([x * 0.8 + 5 * board, y * 9], axis=1), 2)
            tone = 0.75 + 0.3 * noise(np.stack([board * 3.7, np.floor(x / 4 + board * 0.37)], axis=1))
            return (
                wood * (tone * (0.7 + 0.5 * grain) * (1 - 0.5 * step(np.abs(y / 0.45 % 1 - 0.5), 0.48, 0.03)))[:, None]
            )
        if floor_kind == 1:
            odd = (np.floor(x / 0.9) + np.floor(y / 0.9)) % 2
            return blend(odd, cloth, second) * (0.9 + 0.2 * noise.fractal(points * 3, 2))[:, None]
        return cloth * (0.7 + 0.6 * noise.fractal(points * 4, 3))[:, None]

    return Surroundings(floor, wall, generator.uniform(2.2, 5.0))
