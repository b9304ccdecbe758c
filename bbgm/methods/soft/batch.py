"""Pairs of graphs padded to a common size: what the methods with a soft assignment compute with."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bbgm.graphs.delaunay import Graph, complete_edges, joint_edges
from bbgm.methods.soft.settings import GraphName


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """One side of P pairs, padded to n nodes; nodes in their pairs' orders.

    Attributes:
        x: (P, n, C), features of the nodes, 0 for padding.
        sizes: number of nodes of each graph.
        graphs: with directed edges, both directions of each; their coordinates are px of the frame.
        edge_index: (2, sum of the numbers of edges) int64, sources above targets: the edges of all graphs in turn,
            with node i of graph b as b n + i, for layers that work on the nodes (P n, C) of all graphs together.
    """

    x: Tensor
    sizes: tuple[int, ...]
    graphs: tuple[Graph, ...]
    edge_index: Tensor

    @classmethod
    def make(cls, x: Tensor, graphs: Sequence[Graph]) -> "GraphBatch":
        """Of features (P, n, C) and their graphs."""
        edge_index = torch.from_numpy(joint_edges(graphs, stride=x.shape[1])).to(x.device)
        return cls(x, tuple(len(graph.xy) for graph in graphs), tuple(graphs), edge_index)

    @property
    def real(self) -> Tensor:
        """(P, n) bool, False for padding."""
        sizes = torch.tensor(self.sizes, device=self.x.device)
        return torch.arange(self.x.shape[1], device=self.x.device) < sizes[:, None]


@dataclass(frozen=True, eq=False)
class PairBatch:
    """P pairs of graphs."""

    source: GraphBatch
    target: GraphBatch

    def cut(self, padded: Tensor) -> list[Tensor]:
        """From (P, n1, n2), padded, the matrix of each pair, (its n1, its n2)."""
        sizes = zip(padded, self.source.sizes, self.target.sizes, strict=True)
        return [one[:rows, :columns] for one, rows, columns in sizes]


def make_graph(graph: Graph, name: GraphName) -> Graph:
    """The graph with the edges that a configuration names: its own from the triangulation, or all ordered pairs."""
    return graph if name == "delaunay" else Graph(graph.xy, complete_edges(len(graph.xy)).T)
