"""The graph of an image and where the weights of its model graph are: their product is the score of a matching."""

from dataclasses import dataclass

import numpy as np

from bbgm.graphs.delaunay import complete_edges


@dataclass(frozen=True)
class Place:
    """Where the weights of one class are: rows of `HargSSVM.nodes` and of `HargSSVM.edges`, and its own number."""

    number: int
    names: tuple[str, ...]
    nodes: slice
    edges: slice


@dataclass(frozen=True, eq=False)
class ImageGraph:
    """An image as its model graph sees it.

    Attributes:
        place: of the model graph.
        names: (n,) of the keypoints; read by `true_nodes` alone.
        phi: (n, C) float64.
        psi: (n (n - 1), 27) float64, in the order of `complete_edges`.
    """

    place: Place
    names: tuple[str, ...]
    phi: np.ndarray
    psi: np.ndarray

    def true_nodes(self) -> np.ndarray:
        """y*: the model's node of each keypoint, (n,)."""
        return np.array([self.place.names.index(name) for name in self.names], dtype=np.int64)

    def add_features(self, y: np.ndarray, scale: float, nodes: np.ndarray, edges: np.ndarray) -> None:
        """Add scale Phi(x, y) to arrays in the shapes of all classes' weights; y matches every keypoint."""
        nodes[self.place.nodes][y] += scale * self.phi
        edges[self.place.edges][edge_numbers(y.astype(np.int64), len(self.place.names))] += scale * self.psi


def edge_numbers(nodes: np.ndarray, k: int) -> np.ndarray:
    """For each edge i -> j of `complete_edges` the number of the model's edge y(i) -> y(j), of k nodes."""
    source, target = nodes[complete_edges(len(nodes)).T]
    numbers: np.ndarray = source * (k - 1) + target - (target > source)
    return numbers
