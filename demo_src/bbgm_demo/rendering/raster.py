"""A z-buffer: which triangle is seen at each sample of a raster, all in vectorised NumPy."""

from dataclasses import dataclass

import numpy as np

EDGE = 1e-5
"""A sample is inside of a triangle if no weight of its corners is below zero by more than this."""


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
    lines = ((dx * v_y - dy * v_x, v_y), (dy * u_x - dx * u_y, -u_y))
    begin, columns = _columns_inside(*lines, extent[of, 0])
    entry = np.repeat(np.arange(len(of)), columns)
    column = _count_within(columns) + begin[entry]
    across = column.astype(np.float32)
    w2, w3 = (start.astype(np.float32)[entry] + slope.astype(np.float32)[entry] * across for start, slope in lines)
    inside = np.flatnonzero((w2 >= -EDGE) & (w3 >= -EDGE) & (w2 + w3 <= 1 + EDGE))
    w2, w3, entry = w2[inside], w3[inside], entry[inside]
    sample = (row * width + low[of, 0])[entry] + column[inside]
    face = keep[of][entry]
    near = nearness.astype(np.float32)
    rise = near[:, 1:] - near[:, :1]
    value = near[face, 0] + w2 * rise[face, 0] + w3 * rise[face, 1]
    buffer = np.full(width * height, -np.inf, dtype=np.float32)
    np.maximum.at(buffer, sample, value)
    winner = np.full(width * height, -1, dtype=np.int64)
    best = np.flatnonzero(value == buffer[sample])
    winner[sample[best]] = best  # of equally near ones the last
    sample = np.flatnonzero(winner >= 0)
    best = winner[sample]
    weights = np.stack([1 - w2[best] - w3[best], w2[best], w3[best]], axis=1)
    return Hits(sample, face[best], weights, value[best])


def _columns_inside(
    second: tuple[np.ndarray, np.ndarray], third: tuple[np.ndarray, np.ndarray], columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First column and number of columns (R,) of each row that may be in its triangle: all that are, and few others.

    Args:
        second, third: start and slope (R,) of the weights of these corners along the row.
        columns: (R,) of the bounding boxes.
    """
    (s2, d2), (s3, d3) = second, third
    # The test of each column has the precision of float32.
    doubt = 2 * EDGE + 1e-6 * (np.abs(s2) + np.abs(s3) + (np.abs(d2) + np.abs(d3)) * columns)
    low, high = np.zeros(len(columns)), columns - 1.0
    for start, slope in (second, third, (1 - s2 - s3, -d2 - d3)):
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = -(start + doubt) / slope
        low = np.where(slope > 0, np.maximum(low, np.floor(crossing)), low)
        high = np.where(slope < 0, np.minimum(high, np.ceil(crossing)), high)
    low = np.minimum(low, columns)
    return low.astype(np.int64), np.maximum(high - low + 1, 0).astype(np.int64)


def _count_within(counts: np.ndarray) -> np.ndarray:
    """0, 1, ..., c - 1 for each count c, one after another."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - counts, counts)
