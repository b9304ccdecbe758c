"""What a spline convolution needs to know of a graph: which products, and where their results go."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class SplinePlan:
    """Which products a graph needs, and where their results go.

    A "pair" is a (matrix, source node) that some edge uses; P pairs, in the order of the matrices, then nodes.

    Attributes:
        pair_node: (P,), the node of each pair.
        matrices, sizes: the matrices in use, and of each the number of its pairs.
        pair: (E, 4), the pairs whose products make up an edge's message.
        basis: (E, 4), their weights b_s, at least 0, with sum 1.
        incoming: (N, D), the edges into each node in their order, padded with the number E; D the largest degree.
        edge_index, pseudo: (2, E) and (E, 2), the graph itself.
    """

    pair_node: Tensor
    matrices: tuple[int, ...]
    sizes: list[int]
    pair: Tensor
    basis: Tensor
    incoming: Tensor
    edge_index: Tensor
    pseudo: Tensor

    @classmethod
    def make(cls, nodes: int, edge_index: Tensor, pseudo: Tensor, kernel_size: int) -> "SplinePlan":
        """Plan for a graph of that many nodes, made on the CPU in double precision.

        Args:
            nodes: N.
            edge_index: (2, E) int64, sources above targets.
            pseudo: (E, 2) in [0, 1].
            kernel_size: K, matrices per side.
        """
        edge_index, pseudo = edge_index.cpu(), pseudo.cpu().double()
        _check(nodes, edge_index, pseudo.detach())
        source, target = edge_index
        place = pseudo * (kernel_size - 1)
        corner = torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]])
        # The last interval is closed, so that u = 1 lies in it.
        first = place.detach().floor().clamp(max=kernel_size - 2)
        knot = first.long()[:, None] + corner  # (E, 4, 2)
        fraction = (place - first)[:, None]
        weights = torch.where(corner.bool(), fraction, 1 - fraction)
        basis = weights[:, :, 0] * weights[:, :, 1]
        matrix = knot[:, :, 0] + kernel_size * knot[:, :, 1]
        unique, pair = torch.unique(matrix * nodes + source[:, None], return_inverse=True)
        pair_matrix, pair_node = unique.div(max(nodes, 1), rounding_mode="floor"), unique.remainder(max(nodes, 1))
        used, counts = torch.unique_consecutive(pair_matrix, return_counts=True)

        degree = torch.bincount(target, minlength=nodes)
        order = torch.argsort(target, stable=True)
        rank = torch.arange(len(target)) - (degree.cumsum(0) - degree)[target[order]]
        incoming = torch.full((nodes, int(degree.max()) if len(target) else 0), len(target))
        incoming[target[order], rank] = order
        return cls(pair_node, tuple(used.tolist()), counts.tolist(), pair, basis, incoming, edge_index, pseudo)

    def to(self, like: Tensor) -> "SplinePlan":
        """The plan on the device of the features, with weights of their type."""
        indices = (self.pair_node, self.pair, self.incoming, self.edge_index)
        pair_node, pair, incoming, edge_index = (index.to(like.device) for index in indices)
        basis, pseudo = self.basis.to(like), self.pseudo.to(like)
        moved = SplinePlan(pair_node, self.matrices, self.sizes, pair, basis, incoming, edge_index, pseudo)
        if like.device.type != "cpu":
            # Made here, where counts can be read without waiting for a GPU.
            place, columns = self.by_degree
            moved.__dict__["by_degree"] = place.to(like.device), [column.to(like.device) for column in columns]
            for name in ("by_pair", "by_node"):
                moved.__dict__[name] = tuple(part.to(like.device) for part in getattr(self, name))
        return moved

    @cached_property
    def by_degree(self) -> tuple[Tensor, list[Tensor]]:
        """(N,) each node's place in an order of falling degrees; and in that order the first edge into each node that
        has one, the second into each that has two, ...
        """
        degree = (self.incoming < len(self.pair)).sum(dim=1)
        order = torch.argsort(degree, descending=True, stable=True)
        counts = (degree[:, None] > torch.arange(self.incoming.shape[1], device=degree.device)).sum(dim=0).tolist()
        columns = [self.incoming[order[:count], column] for column, count in enumerate(counts)]
        return torch.argsort(order), columns

    @cached_property
    def mean_scale(self) -> Tensor:
        """(N, 1) by what the sum of the messages into each node is multiplied to be their mean."""
        degree = (self.incoming < len(self.pair)).sum(dim=1, keepdim=True)
        return 1 / degree.clamp(min=1).to(self.basis.dtype)

    @cached_property
    def by_pair(self) -> tuple[Tensor, Tensor]:
        """(4 E,) the entries of ``pair``, in the order of their values; and (P,) where each value begins."""
        return _groups(self.pair.flatten(), len(self.pair_node))

    @cached_property
    def by_node(self) -> tuple[Tensor, Tensor]:
        """(P,) the pairs in the order of their nodes; and (N,) where each node begins."""
        return _groups(self.pair_node, len(self.incoming))


def _groups(values: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """A stable order of the values, which are in [0, number), and where each number begins in it."""
    order = torch.argsort(values, stable=True)
    return order, torch.searchsorted(values[order], torch.arange(number, device=values.device))


def _check(nodes: int, edge_index: Tensor, pseudo: Tensor) -> None:
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or pseudo.shape != (edge_index.shape[1], 2):
        raise ValueError(
            f"edge_index must be (2, E) and pseudo (E, 2), not {tuple(edge_index.shape)} and {tuple(pseudo.shape)}"
        )
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < nodes:
        raise ValueError(
            f"edge_index must hold nodes in [0, {nodes}), not {int(edge_index.min())} to {int(edge_index.max())}"
        )
    bad = torch.nonzero(~((pseudo >= 0) & (pseudo <= 1)).all(dim=1))
    if len(bad):
        edge = int(bad[0])
        raise ValueError(
            f"pseudo-coordinates must lie in [0, 1]: those of edge {edge}, {edge_index[:, edge].tolist()}, are "
            f"{pseudo[edge].tolist()}; keypoints outside of the frame give such values"
        )
