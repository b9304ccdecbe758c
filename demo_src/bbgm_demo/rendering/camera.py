"""A pinhole camera above the ground, looking along y."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Camera:
    """Position, axes, and the mapping to px.

    Attributes:
        position: (3,).
        axes: (3, 3) rows: right, up, forward.
        focal: px; centre: (2,) px, where the forward axis meets the picture.
        width, height: of the picture, px.
    """

    position: np.ndarray
    axes: np.ndarray
    focal: float
    centre: np.ndarray
    width: int
    height: int

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points (..., 3) -> px (..., 2), x right and y down, and depth (...)."""
        seen = (points - self.position) @ self.axes.T
        depth = np.maximum(seen[..., 2], 1e-3)
        return self.centre + self.focal * seen[..., :2] * [1, -1] / depth[..., None], depth

    def rays(self) -> np.ndarray:
        """(height * width, 3) directions through the middle of each px, of length 1 along the forward axis."""
        x, y = np.meshgrid(np.arange(self.width) + 0.5, np.arange(self.height) + 0.5)
        seen = np.stack(
            [(x - self.centre[0]) / self.focal, -(y - self.centre[1]) / self.focal, np.ones_like(x)], axis=-1
        )
        return np.asarray(seen.reshape(-1, 3) @ self.axes)


def aim(
    points: np.ndarray,
    elevation: float,
    roll: float,
    distance: float,
    size: tuple[int, int],
    generator: np.random.Generator,
    scale: tuple[float, float] = (0.58, 1.0),
) -> Camera:
    """A camera that sees all the points, at a random scale and place in the picture.

    Args:
        points: (n, 3) to be inside the picture.
        elevation, roll: degrees.
        distance: from the middle of the points to the camera, in their unit.
        size: width and height of the picture, px.
        scale: range of the points' extent, 1 where they reach from edge to edge.
    """
    tilt, turn = np.radians(elevation), np.radians(roll)
    forward = np.array([0.0, np.cos(tilt), -np.sin(tilt)])
    side, above = np.array([1.0, 0.0, 0.0]), np.array([0.0, np.sin(tilt), np.cos(tilt)])
    right, up = np.cos(turn) * side + np.sin(turn) * above, np.cos(turn) * above - np.sin(turn) * side
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    position = middle - distance * forward
    position[2] = max(position[2], 0.15 * distance / 4)
    axes = np.stack([right, up, forward])
    unit, _ = Camera(position, axes, 1.0, np.zeros(2), *size).project(points)
    low, high = unit.min(axis=0), unit.max(axis=0)
    margin = 7.0
    room = np.array(size) - 2 * margin
    focal = generator.uniform(*scale) * (room / (high - low)).min()
    slack = room - focal * (high - low)
    centre = margin - focal * low + slack * (0.5 + generator.uniform(-0.4, 0.4, 2))
    return Camera(position, axes, focal, centre, *size)
