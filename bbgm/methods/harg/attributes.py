"""Attributes of a complete keypoint graph: HARG, the histogram-attributed relational graph.

The edge from keypoint i to keypoint j at the offset d = p_j - p_i has

    psi_ij = (lengths ; angles) / norm,    LENGTHS + ANGLES bins,

a histogram of log(|d| / median length of the image) and one of the direction of d from the horizontal. Each is a
discrete Gaussian around the value, one bin wide, with sum 1; that of the angles is circular. The bins of the lengths
divide the range of the training images, and what is beyond the range counts as its end.

Source: Cho, Alahari, Ponce, "Learning Graphs to Match", ICCV 2013, Sec. 3. Their features have a scale and an
orientation, which lengths and angles are relative to; keypoints have none, so the image's median and the horizontal
take their place.
"""

import numpy as np

from bbgm.graphs.delaunay import complete_edges

LENGTHS, ANGLES = 9, 18
BINS = LENGTHS + ANGLES


def log_lengths(xy: np.ndarray) -> np.ndarray:
    """log(|d| / median |d|) of the edges of keypoints (n, 2), (n (n - 1),); of coincident keypoints -inf."""
    source, target = complete_edges(len(xy)).T
    length = np.hypot(*(xy[target] - xy[source]).T)
    scale = np.median(length) if len(length) else 1.0
    with np.errstate(divide="ignore"):
        logs: np.ndarray = np.log(length / scale) if scale > 0 else np.full(len(length), -np.inf)
    return logs


def length_range(logs: np.ndarray) -> tuple[float, float]:
    """Smallest and largest of some `log_lengths`, those of coincident keypoints left out; (-1, 1) if there is one."""
    finite = logs[np.isfinite(logs)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    return (low, high) if high > low else (low - 1, low + 1)


def edge_attributes(xy: np.ndarray, low: float, high: float) -> np.ndarray:
    """psi of all edges of `complete_edges`, (n (n - 1), BINS) float64, rows of length 1.

    Args:
        xy: (n, 2), px.
        low, high: range of the bins of `log_lengths`.
    """
    source, target = complete_edges(len(xy)).T
    offset = xy[target] - xy[source]
    # Values in bins, so that the centre of bin k is k.
    length = (log_lengths(xy) - low) / (high - low) * LENGTHS - 0.5
    length = np.clip(length, -0.5, LENGTHS - 0.5)[:, None] - np.arange(LENGTHS)
    angle = (np.arctan2(offset[:, 1], offset[:, 0]) / (2 * np.pi) * ANGLES)[:, None] - np.arange(ANGLES)
    angle = (angle + ANGLES / 2) % ANGLES - ANGLES / 2
    halves = [np.exp(-(distance**2) / 2) for distance in (length, angle)]
    joined = np.concatenate([half / half.sum(axis=1, keepdims=True) for half in halves], axis=1)
    attributes: np.ndarray = joined / np.linalg.norm(joined, axis=1, keepdims=True)
    return attributes


def principal_axes(rows: np.ndarray, components: int) -> tuple[np.ndarray, np.ndarray]:
    """The axes along which features vary most, for the attributes of nodes.

    Args:
        rows: features of N keypoints, (N, F).
        components: number of axes.

    Returns:
        The mean (F,) and the axes (F, components), orthonormal, the largest entry of each positive.

    Raises:
        ValueError: more axes than the features or the keypoints have.
    """
    if components > min(rows.shape):
        raise ValueError(
            f"harg.components is {components}, but the training images have {rows.shape[0]} keypoints with "
            f"{rows.shape[1]} features: set at most {min(rows.shape)}"
        )
    centre = rows.mean(axis=0)
    axes = np.linalg.svd(rows - centre, full_matrices=False)[2][:components]
    largest = axes[np.arange(components), np.abs(axes).argmax(axis=1)]
    return centre, (axes * np.sign(largest)[:, None]).T
