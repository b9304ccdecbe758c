"""Triangle meshes of smooth parts: swept tubes, surfaces of revolution, lofts, rounded boxes.

Model coordinates: x to the right of the picture, y away from the viewer, z up; the ground is z = 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from bbgm_demo.rendering.paint import Material


@dataclass(frozen=True, eq=False)
class Part:
    """One closed surface, or a sheet whose faces are there in both directions.

    Attributes:
        vertices, normals: (V, 3); normals point outwards and have length 1.
        faces: (F, 3) indices, counter-clockwise seen from outside.
        local: (V, 3) coordinates of the paint: the vertices before the part was placed in the scene.
    """

    vertices: np.ndarray
    normals: np.ndarray
    faces: np.ndarray
    local: np.ndarray
    material: Material

    def placed(self, rotation: np.ndarray, shift: np.ndarray, scale: float = 1.0) -> "Part":
        """Scaled, turned and moved; the paint stays on."""
        return replace(self, vertices=scale * self.vertices @ rotation.T + shift, normals=self.normals @ rotation.T)


def rotation(axis: str, degrees: float) -> np.ndarray:
    """(3, 3) matrix of a turn about a coordinate axis."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    matrix = np.eye(3)
    matrix[[i, i, j, j], [i, j, i, j]] = c, -s, s, c
    return matrix


def surface(grid: np.ndarray, material: Material, wrap: tuple[bool, bool] = (False, True), sheet: bool = False) -> Part:
    """The surface through a grid of points (m, n, 3); ``wrap`` joins the last row, the last column, to the first."""
    m, n = grid.shape[:2]
    index = np.arange(m * n).reshape(m, n)
    rows = np.concatenate([index, index[:1]]) if wrap[0] else index
    full = np.concatenate([rows, rows[:, :1]], axis=1) if wrap[1] else rows
    a, b, c, d = full[:-1, :-1], full[:-1, 1:], full[1:, 1:], full[1:, :-1]
    faces = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    vertices = grid.reshape(-1, 3)
    first, second, third = (vertices[faces[:, k]] for k in range(3))
    crosses = np.cross(second - first, third - first)
    whole = np.linalg.norm(crosses, axis=1) > 1e-12  # rows that shrink to a point give empty triangles
    faces, crosses, first = faces[whole], crosses[whole], first[whole]
    if np.sum(crosses * (first - vertices.mean(axis=0))) < 0:  # 6 times the volume of a closed surface
        faces, crosses = faces[:, ::-1], -crosses
    normals = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(normals, faces[:, k], crosses)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    if sheet:
        faces = np.concatenate([faces, faces[:, ::-1]])
    return Part(vertices, normals, faces, vertices, material)


def loft(sections: np.ndarray, material: Material, flat: bool = False) -> Part:
    """Closed surface through closed sections (m, n, 3); ``flat`` ends have an edge, others are rounded by shading."""
    rows = [sections]
    for end, section in ((0, sections[:1]), (1, sections[-1:])):
        centre = np.broadcast_to(section.mean(axis=1, keepdims=True), section.shape)
        cap = [section, centre] if flat else [centre]
        rows = [*cap[::-1], *rows] if end == 0 else [*rows, *cap]
    return surface(np.concatenate(rows), material)


def superellipsoid(
    centre: ArrayLike,
    radii: ArrayLike,
    material: Material,
    power: tuple[float, float] = (1.0, 1.0),
    n: tuple[int, int] = (13, 24),
) -> Part:
    """An ellipsoid, or with powers below 1 (side view, plan) a box with rounded edges."""
    polar = np.linspace(-np.pi / 2, np.pi / 2, n[0])[:, None]
    turn = np.linspace(-np.pi, np.pi, n[1], endpoint=False)[None, :]

    def bend(value: np.ndarray, exponent: float) -> np.ndarray:
        return np.sign(value) * np.abs(value) ** exponent

    ring = bend(np.cos(polar), power[0])
    x, y = ring * bend(np.cos(turn), power[1]), ring * bend(np.sin(turn), power[1])
    z = bend(np.sin(polar), power[0]) * np.ones_like(turn)
    return surface(np.asarray(centre) + np.asarray(radii) * np.stack([x, y, z], axis=-1), material)


def tube(
    path: ArrayLike, radius: ArrayLike, material: Material, n: int = 10, flat: bool = True, up: ArrayLike = (0, 0, 1)
) -> Part:
    """A tube along a path (m, 3); ``radius``: one number, one a point, or (m, 2): sideways and along ``up``."""
    points = np.asarray(path, dtype=float)
    along = np.gradient(points, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    side = np.cross(along, np.asarray(up, dtype=float))
    short = np.linalg.norm(side, axis=1) < 1e-3
    side[short] = np.cross(along[short], np.array([0.0, 1.0, 0.0]))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    above = np.cross(side, along)
    sizes = np.asarray(radius, dtype=float)
    sizes = np.broadcast_to(sizes[:, None] if sizes.ndim == 1 else sizes, (len(points), 2))
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)[None, :, None]
    ring = sizes[:, :1, None] * np.cos(angle) * side[:, None] + sizes[:, 1:, None] * np.sin(angle) * above[:, None]
    return loft(points[:, None] + ring, material, flat)


def revolve(
    profile: ArrayLike,
    material: Material,
    base: ArrayLike = (0, 0, 0),
    axis: str = "z",
    n: int = 32,
    ring: bool = False,
) -> Part:
    """A surface of revolution about an axis through ``base``.

    Args:
        profile: (k, 2) radius and height along the axis, from one end to the other; a corner of more than about
            40 degrees stays an edge.
        ring: the profile is a closed curve (tyres).
    """
    points = np.asarray(profile, dtype=float)
    if not ring:
        steps = np.diff(points, axis=0)
        steps /= np.maximum(np.linalg.norm(steps, axis=1, keepdims=True), 1e-12)
        sharp = np.concatenate([[False], np.sum(steps[1:] * steps[:-1], axis=1) < 0.77, [False]])
        points = np.repeat(points, 1 + sharp, axis=0)
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(n)], axis=-1)
    grid = points[:, :1, None] * circle + points[:, 1:, None] * np.array([0.0, 0.0, 1.0])
    order = {"x": [2, 0, 1], "y": [1, 2, 0], "z": [0, 1, 2]}[axis]
    return surface(np.asarray(base) + grid[..., order], material, wrap=(ring, True))


def both_sides(
    points: Mapping[str, ArrayLike], prefixes: tuple[str, str] = ("L_", "R_"), axis: int = 1
) -> dict[str, np.ndarray]:
    """Named points of the left side, and their mirror images across the plane where coordinate ``axis`` is 0."""
    mirror = np.where(np.arange(3) == axis, -1.0, 1.0)
    return {
        f"{prefix}{name}": np.asarray(point, dtype=float) * sign
        for name, point in points.items()
        for prefix, sign in zip(prefixes, (np.ones(3), mirror), strict=True)
    }


def outermost(parts: Sequence[Part], start: ArrayLike, direction: ArrayLike) -> np.ndarray:
    """The last point (3,) at which a ray meets the parts.

    Raises:
        ValueError: it meets none.
    """
    corners = np.concatenate([part.vertices[part.faces] for part in parts])
    origin, along = np.asarray(start, dtype=float), np.asarray(direction, dtype=float)
    first = corners[:, 0]
    u, v = corners[:, 1] - first, corners[:, 2] - first
    # origin + t along = first + b u + c v, by Cramer's rule; faces along the ray are left out.
    normal = np.cross(u, v)
    slope = normal @ along
    crossed = np.abs(slope) > 1e-12
    first, u, v, normal, slope = (array[crossed] for array in (first, u, v, normal, slope))
    offset = origin - first
    t = -np.einsum("fk,fk->f", offset, normal) / slope
    aside = np.cross(offset, along)
    b, c = -np.einsum("fk,fk->f", v, aside) / slope, np.einsum("fk,fk->f", u, aside) / slope
    met = (t > 0) & (b >= -1e-9) & (c >= -1e-9) & (b + c <= 1 + 1e-9)
    if not met.any():
        raise ValueError(f"no part lies on the ray from {origin} along {along}")
    return np.asarray(origin + t[met].max() * along)


def bezier(*controls: ArrayLike, n: int = 12) -> np.ndarray:
    """(n, 3) points on the Bezier curve of the control points."""
    t = np.linspace(0, 1, n)[:, None]
    layer = [np.asarray(point, dtype=float) for point in controls]
    while len(layer) > 1:
        layer = [(1 - t) * first + t * second for first, second in pairwise(layer)]
    return layer[0]
