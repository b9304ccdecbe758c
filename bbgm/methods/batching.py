"""Batches of pairs that share graphs: each graph is computed once, and pairs of different sizes are padded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bbgm.data.images.keypoints import KeypointImage
from bbgm.graphs.delaunay import Graph, delaunay_graph

Key = tuple[str, bytes]


@dataclass(frozen=True, eq=False)
class TracedGraph(Graph):
    """A graph that passes gradients on to the coordinates of its nodes.

    Attributes:
        points: (n, 2) float64, px, on the CPU: the same as ``xy``.
    """

    points: Tensor


def coordinates(graph: Graph) -> Tensor:
    """Where the nodes of a graph are, (n, 2) float64, px; it passes gradients on if the graph does."""
    return graph.points if isinstance(graph, TracedGraph) else torch.tensor(graph.xy)


@dataclass(frozen=True, eq=False)
class Side:
    """One image of a pair.

    Attributes:
        image: the image.
        kept: (n,) its kept keypoints, in the order of the image's list.
        rank: (n,) for each keypoint in the pair's own order its index in ``kept``.
        xy: (n, 2) where the kept keypoints are, px; None: where the image has them.
        points: the same as ``xy``, as a tensor that gets a gradient; None: it gets none.
        seen: (n, C) visual features of the kept keypoints; None: those of the image where it has them.
    """

    image: KeypointImage
    kept: np.ndarray
    rank: np.ndarray
    xy: np.ndarray | None = None
    points: Tensor | None = None
    seen: Tensor | None = None

    @classmethod
    def make(cls, image: KeypointImage, kept: np.ndarray) -> "Side":
        """The side of a pair that keeps these keypoints in this order."""
        ordered = np.sort(kept)
        return cls(image, ordered, np.searchsorted(ordered, kept))

    @property
    def key(self) -> Key:
        """A key, equal for equal graphs, however a pair shuffles them."""
        return self.image.image_id, self.kept.tobytes() + (b"" if self.xy is None else self.xy.tobytes())

    def graph(self) -> Graph:
        """Delaunay graph of the kept keypoints, in the order of the image's list."""
        graph = delaunay_graph(self.place)
        return graph if self.points is None else TracedGraph(graph.xy, graph.edge_index, self.points)

    @property
    def place(self) -> np.ndarray:
        """(n, 2) where the kept keypoints are, px."""
        return self.image.xy[self.kept] if self.xy is None else self.xy

    def shuffled(self, graph: Graph) -> Graph:
        """That graph with its nodes in the pair's order; the edges stay in theirs."""
        place = np.argsort(self.rank)
        edges = place[graph.edge_index]
        if isinstance(graph, TracedGraph):
            return TracedGraph(graph.xy[self.rank], edges, graph.points[torch.from_numpy(self.rank)])
        return Graph(graph.xy[self.rank], edges)


@dataclass(frozen=True, eq=False)
class NodeRows:
    """Rows computed once for each distinct graph, for all the pairs that contain it.

    Attributes:
        rows: (N, C), one row per node, one graph after another.
        first: for each graph its first row. graphs: the graph itself.
    """

    rows: Tensor
    first: dict[Key, int]
    graphs: dict[Key, Graph]

    def gather(self, sides: Sequence[Side]) -> Tensor:
        """Rows of the keypoints of P sides in their pairs' orders, padded with zeros: (P, longest, C)."""
        return gather_rows(self.rows, [self.first[side.key] + side.rank for side in sides])

    def shuffled(self, sides: Sequence[Side]) -> list[Graph]:
        """Their graphs, with the nodes in their pairs' orders."""
        return [side.shuffled(self.graphs[side.key]) for side in sides]


def gather_rows(rows: Tensor, index: list[np.ndarray]) -> Tensor:
    """Rows (N, C) of P lists, padded with zeros: (P, longest, C)."""
    padded = np.full((len(index), max(map(len, index))), len(rows))
    for line, entries in zip(padded, index, strict=True):
        line[: len(entries)] = entries
    filled = F.pad(rows, (0, 0, 0, 1))
    return filled.index_select(0, torch.from_numpy(padded.ravel()).to(rows.device)).view(*padded.shape, rows.shape[1])


def incidence_matrices(graphs: list[Graph]) -> Tensor:
    """Matrices (P, E, n) float64, +1 at an edge's source and -1 at its target, padded with zeros."""
    matrices = np.zeros((len(graphs), max(g.edge_index.shape[1] for g in graphs), max(len(g.xy) for g in graphs)))
    for matrix, graph in zip(matrices, graphs, strict=True):
        edges = np.arange(graph.edge_index.shape[1])
        matrix[edges, graph.edge_index[0]] = 1
        matrix[edges, graph.edge_index[1]] = -1
    return torch.from_numpy(matrices)
