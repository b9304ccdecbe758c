"""Keypoint graphs as those of torch_geometric, for its layers and transforms."""

from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.graphs.delaunay import Graph, pseudo_coordinates

if TYPE_CHECKING:
    from torch_geometric.data import Data


def to_data(graph: Graph, features: Any = None, frame: float = 256.0) -> "Data":
    """A graph as ``torch_geometric.data.Data``.

    Args:
        features: (n, C) tensor of the keypoints, ``x``; None: there are none.
        frame: side of the image, px: the scale of the coordinates.

    Returns:
        ``pos`` (n, 2) float64, px; ``edge_index`` (2, E) int64; ``edge_attr`` (E, 2) float32, the pseudo-coordinates
        (`pseudo_coordinates`); and ``x``.
    """
    import torch
    from torch_geometric.data import Data

    return Data(
        x=features,
        pos=torch.from_numpy(graph.xy.copy()),
        edge_index=torch.from_numpy(graph.edge_index.copy()),
        edge_attr=torch.from_numpy(pseudo_coordinates(graph, frame)),
    )


def from_data(data: "Data") -> Graph:
    """The graph of a ``torch_geometric.data.Data``: its ``pos`` and ``edge_index``, in their order.

    Pseudo-coordinates follow from the positions, so ``edge_attr`` is not read.

    Raises:
        ValueError: ``pos`` or ``edge_index`` is missing or of another shape, or an edge leads to no node.
    """
    if data.pos is None or data.edge_index is None:
        raise ValueError(f"{data} has no pos or no edge_index: a graph of keypoints needs both")
    xy = np.asarray(data.pos.detach().cpu().numpy(), dtype=np.float64)
    edge_index = np.asarray(data.edge_index.cpu().numpy(), dtype=np.int64)
    if xy.ndim != 2 or xy.shape[1] != 2 or edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"pos must be (n, 2) and edge_index (2, E), not {xy.shape} and {edge_index.shape}")
    if edge_index.size and not 0 <= edge_index.min() <= edge_index.max() < len(xy):
        raise ValueError(f"edge_index must name nodes in [0, {len(xy)}), not {edge_index.min()} to {edge_index.max()}")
    return Graph(xy, edge_index)
