"""Keypoint graphs: Delaunay triangulation and the edges' relative coordinates (paper Sec. 3.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.spatial import Delaunay, QhullError


@dataclass(frozen=True, eq=False)
class Graph:
    """Directed graph on the keypoints of one image; every edge is there in both directions.

    Attributes:
        xy: (n, 2) float64, px.
        edge_index: (2, E) int64, sources above targets; from `delaunay_graph` in the row-major order of the
            adjacency matrix.
    """

    xy: np.ndarray
    edge_index: np.ndarray

    @property
    def edges(self) -> np.ndarray:
        """(E, 2) int64: the same edges, one per row, as the solver takes them."""
        return np.ascontiguousarray(self.edge_index.T)


def delaunay_graph(xy: np.ndarray) -> Graph:
    """Edges of the Delaunay triangulation of keypoints (n, 2).

    If there is no triangulation, this follows the authors' code:

    1. Fewer than three points, or all on one line: all ordered pairs; one or no point: no edges.
    2. Points that Qhull leaves out of its triangles (duplicates, or closer to others than rounding allows): no edges.

    Raises:
        ValueError: wrong shape, or coordinates that are not finite.
    """
    xy = np.asarray(xy, dtype=np.float64)
    if xy.ndim != 2 or xy.shape[1] != 2 or not np.isfinite(xy).all():
        raise ValueError(f"keypoints must be finite and of shape (n, 2), not {xy.shape} with values {xy.tolist()}")
    return Graph(xy, _edges(xy.tobytes()).copy())


@lru_cache(maxsize=8192)  # in training the same keypoints of an image come again and again
def _edges(content: bytes) -> np.ndarray:
    """Edges (2, E) of the keypoints whose coordinates these bytes are; to be copied, not written to."""
    xy = np.frombuffer(content).reshape(-1, 2)
    n = len(xy)
    adjacency = np.zeros((n, n), dtype=bool)
    try:
        triangles = Delaunay(xy).simplices if n >= 3 else None
    except QhullError:
        triangles = None
    if triangles is None:
        adjacency[:] = True
    else:
        adjacency[triangles[:, :, None], triangles[:, None, :]] = True
    np.fill_diagonal(adjacency, False)
    return np.stack(np.nonzero(adjacency)).astype(np.int64)


def complete_edges(n: int) -> np.ndarray:
    """All ordered pairs of n nodes without loops, in row-major order: (n (n - 1), 2) int64."""
    return np.argwhere(~np.eye(n, dtype=bool))


def joint_edges(graphs: Sequence[Graph], stride: int | None = None) -> np.ndarray:
    """Edges (2, E) int64 of several graphs as of one, one graph after another.

    Args:
        stride: node i of graph b has the number b stride + i; None: the nodes follow those of the graph before.
    """
    sizes = [len(graph.xy) for graph in graphs]
    starts = np.cumsum([0, *sizes]) if stride is None else stride * np.arange(len(graphs) + 1)
    return np.concatenate([g.edge_index + start for g, start in zip(graphs, starts, strict=False)], axis=1)


def pseudo_coordinates(graph: Graph, frame: float = 256.0) -> np.ndarray:
    """Relative position of each edge's ends, 0.5 + 0.5 (p_source - p_target) / frame: (E, 2) float32.

    In [0, 1], also for ends that are further apart than the frame is wide, which only keypoints outside of it can be
    (``data.keep_outside``): they count as that far apart. The scale is the frame's side, the same for all graphs
    (authors' code).
    """
    source, target = graph.edge_index
    return np.asarray(relative_positions(graph.xy[source], graph.xy[target], frame), dtype=np.float32)


def relative_positions(source: Any, target: Any, frame: float) -> Any:
    """`pseudo_coordinates` (E, 2) of edges whose ends are there, arrays or tensors (E, 2), px; in their own type."""
    return (0.5 + 0.5 * (source - target) / frame).clip(0, 1)


def largest_offset(graph: Graph) -> float:
    """Largest difference between the x, or the y, of an edge's ends, px; 1 if there are no edges.

    As the scale of `pseudo_coordinates` it makes them relative to the graph's own size, as DGMC has them.
    """
    source, target = graph.edge_index
    return float(np.abs(graph.xy[source] - graph.xy[target]).max(initial=0)) or 1.0
