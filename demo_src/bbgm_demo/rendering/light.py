"""Light: a sun or lamp with shadows, and the sky."""

from dataclasses import dataclass

import numpy as np

from bbgm_demo.rendering.raster import rasterise

SHADOW_SIDE = 320


def dot(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Inner products (P,) of rows (P, 3)."""
    return np.asarray(np.einsum("pk,pk->p", first, second))


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows (P, 3) scaled to length 1."""
    return vectors / np.sqrt(np.maximum(dot(vectors, vectors), 1e-12))[:, None]


@dataclass(frozen=True, eq=False)
class Light:
    """Directional light and a hemisphere.

    Attributes:
        direction: (3,) towards the light, length 1.
        rgb: (3,) of the direct light; sky, ground: (3,) of the light from above and from below.
    """

    direction: np.ndarray
    rgb: np.ndarray
    sky: np.ndarray
    ground: np.ndarray

    def shade(
        self,
        albedo: np.ndarray,
        normals: np.ndarray,
        view: np.ndarray,
        lit: np.ndarray,
        openness: np.ndarray,
        gloss: np.ndarray,
        sharpness: np.ndarray,
    ) -> np.ndarray:
        """Radiance (P, 3) of surface points.

        Args:
            albedo: (P, 3) linear RGB.
            normals, view: (P, 3) unit vectors, outwards and towards the camera.
            lit: (P,) share of the direct light that arrives; openness: (P,) of the sky's.
            gloss, sharpness: (P,) of the material.
        """
        rgb, sky, ground = (array.astype(np.float32) for array in (self.rgb, self.sky, self.ground))
        incidence = normals @ self.direction.astype(np.float32)
        direct = np.maximum(incidence, 0) * lit
        upward = 0.5 + 0.5 * normals[:, 2:]
        ambient = (ground + upward * (sky - ground)) * openness[:, None]
        half = unit(view + self.direction.astype(np.float32))
        spot = np.maximum(dot(normals, half), 0) ** sharpness * (incidence > 0) * lit
        facing = np.maximum(dot(normals, view), 0)
        mirrored = (
            2 * facing * normals[:, 2] - view[:, 2]
        )  # height of the mirrored line of sight: how much sky it meets
        fresnel = 0.08 + 0.92 * (1 - facing) ** 4
        sheen = (gloss * fresnel * np.clip(0.3 + 1.5 * mirrored, 0, 1.3) * openness)[:, None] * sky
        return albedo * (direct[:, None] * rgb + ambient) + (gloss * spot)[:, None] * rgb + 1.6 * sheen


class ShadowMap:
    """Which points the direct light reaches."""

    def __init__(self, corners: np.ndarray, direction: np.ndarray) -> None:
        """From the corners (F, 3, 3) of all triangles."""
        side = np.cross([0.0, 0.0, 1.0], direction)
        side /= np.linalg.norm(side)
        self.axes = np.stack([side, np.cross(side, direction), direction])
        seen = corners @ self.axes.T
        plane = seen[..., :2]
        self.low = plane.min(axis=(0, 1))
        self.scale = (SHADOW_SIDE - 4) / (plane.max(axis=(0, 1)) - self.low).max()
        self.bias = 2.5 / self.scale
        hits = rasterise((plane - self.low) * self.scale + 2, seen[..., 2], SHADOW_SIDE, SHADOW_SIDE)
        self.near = np.full((SHADOW_SIDE, SHADOW_SIDE), -np.inf, dtype=np.float32)
        self.near.reshape(-1)[hits.sample] = hits.nearness

    def lit(self, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """(P,) share of the direct light at points (P, 3) with normals (P, 3) or (3,), softened over four samples."""
        raised = points + np.float32(1.5 / self.scale) * normals  # else rounding lets surfaces shade themselves
        seen = (raised @ self.axes.T.astype(np.float32)).astype(np.float32)
        place = (seen[:, :2] - self.low.astype(np.float32)) * np.float32(self.scale) + 2
        flat, depth = self.near.reshape(-1), seen[:, 2] + np.float32(self.bias)
        total = np.zeros(len(points), dtype=np.float32)
        for dx, dy in ((-0.9, -0.4), (0.4, -0.9), (0.9, 0.4), (-0.4, 0.9)):
            x, y = (
                np.clip(place[:, k] + np.float32(d), 0, SHADOW_SIDE - 1).astype(np.int32) for k, d in ((0, dx), (1, dy))
            )
            total += flat[y * SHADOW_SIDE + x] <= depth
        return total / 4


def random_light(generator: np.random.Generator, outdoors: bool) -> Light:
    """Sun and blue sky, or a lamp and bright walls; from the viewer's side, at any warmth and strength."""
    azimuth, height = np.radians(generator.uniform(-80, 80)), np.radians(generator.uniform(30, 65))
    direction = np.array([np.sin(azimuth) * np.cos(height), -np.cos(azimuth) * np.cos(height), np.sin(height)])
    warmth = generator.uniform(-0.08, 0.12)
    strength = generator.uniform(1.25, 1.8)
    rgb = strength * np.array([1 + warmth, 1.0, 1 - 1.5 * warmth])
    if outdoors:
        return Light(direction, rgb, np.array([0.36, 0.42, 0.52]), np.array([0.18, 0.17, 0.14]))
    return Light(direction, 0.8 * rgb, np.array([0.48, 0.47, 0.45]), np.array([0.27, 0.25, 0.23]))
