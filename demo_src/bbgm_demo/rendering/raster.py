"""A z-buffer: which triangle is seen at each sample of a raster, all in vectorised NumPy."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Hits:
    """The visible samples.

    Attributes:
        sample: (S,) flat index into the raster.
        face: (S,) index of the triangle.
        weights: (S, 3) float32, weights of its corners, linear on the screen.
        nearness: (S,) float32, the largest at that sample.
    """

    sample: np.ndarray
    face: np.ndarray
    weights: np.ndarray
    nearness: np.ndarray


def rasterise(corners: np.ndarray, nearness: np.ndarray, width: int, height: int) -> Hits:
    """Find the nearest triangle at each sample.

    Args:
        corners: (F, 3, 2) positions in samples, x right and y down; sample (i, j) is at (i + 0.5, j + 0.5). Triangles
            that are clockwise on the screen face away and are left out.
        nearness: (F, 3) any number that is linear on the screen and larger nearby, e.g. 1 / depth.
        width, height: of the raster.
    """
    first = corners[:, 0]
    u, v = corners[:, 1] - first, corners[:, 2] - first
    area = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    low = np.maximum(np.ceil(corners.min(axis=1) - 0.5), 0).astype(np.int64)
    high = np.minimum(np.floor(corners.max(axis=1) - 0.5), [width - 1, height - 1]).astype(np.int64)
    extent = np.maximum(high - low + 1, 0)
    keep = np.flatnonzero((area < -1e-9) & (extent.prod(axis=1) > 0))
    first, u, v, area, low, extent = (array[keep] for array in (first, u, v, area, low, extent))

    # The rows of all triangles' bounding boxes; along a row the weights are start + slope * column.
    of = np.repeat(np.arange(len(keep)), extent[:, 1])
    row = _count_within(extent[:, 1]) + low[of, 1]
    dx, dy = (low[:, 0] + 0.5 - first[:, 0])[of], row + 0.5 - first[of, 1]
    (u_x, u_y), (v_x, v_y) = ((side / area[:, None])[of].T for side in (u, v))
    columns = extent[of, 0]
    column = _count_within(columns).astype(np.float32)
    w2, w3 = (
        np.repeat(start.astype(np.float32), columns) + np.repeat(slope.astype(np.float32), columns) * column
        for start, slope in ((dx * v_y - dy * v_x, v_y), (dy * u_x - dx * u_y, -u_y))
    )
    inside = np.flatnonzero((w2 >= -1e-5) & (w3 >= -1e-5) & (w2 + w3 <= 1 + 1e-5))
    w2, w3 = w2[inside], w3[inside]
    entry = np.repeat(np.arange(len(of)), columns)[inside]
    face = keep[of[entry]]
    sample = (row * width + low[of, 0])[entry] + column[inside].astype(np.int64)
    near = nearness.astype(np.float32)
    value = near[face, 0] + w2 * (near[face, 1] - near[face, 0]) + w3 * (near[face, 2] - near[face, 0])
    buffer = np.full(width * height, -np.inf, dtype=np.float32)
    np.maximum.at(buffer, sample, value)
    winner = np.full(width * height, -1, dtype=np.int64)
    best = np.flatnonzero(value == buffer[sample])
    winner[sample[best]] = best  # of equally near ones the last
    sample = np.flatnonzero(winner >= 0)
    best = winner[sample]
    weights = np.stack([1 - w2[best] - w3[best], w2[best], w3[best]], axis=1)
    return Hits(sample, face[best], weights, value[best])


def _count_within(counts: np.ndarray) -> np.ndarray:
    """0, 1, ..., c - 1 for each count c, one after another."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - counts, counts)
