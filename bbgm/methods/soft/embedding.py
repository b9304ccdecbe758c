"""What the methods share that embed nodes across both graphs of a pair: PCA-GM, CIE, GLMNet.

    layer within each graph -> cross-graph layer, weighted by a soft assignment S -> layer within each graph -> scores

Wang, Yan and Yang (ICCV 2019) introduced it. x1 (n1, D) and x2 (n2, D) are the embeddings of the two graphs.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bbgm.graphs.delaunay import Graph, joint_edges
from bbgm.methods.soft.batch import make_graph
from bbgm.methods.soft.matcher import SoftMatcher


class Bilinear(nn.Module):
    """Scores x1 A x2^T. At the start A is the identity plus numbers drawn from U(-1/sqrt(D), 1/sqrt(D)).

    Args:
        width: D.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        noise = torch.empty(width, width).uniform_(-(width**-0.5), width**-0.5)
        self.weight = nn.Parameter(torch.eye(width) + noise)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """From (P, n1, D) and (P, n2, D) to (P, n1, n2)."""
        return x1 @ self.weight @ x2.transpose(1, 2)


class CrossGraph(nn.Module):
    """Cross-graph layer: x1' = W [x1 ; S x2] + b, computed as (W_own x1 + b) + S (W_other x2).

    Both products depend on one graph alone: where both directions have the same layer, `parts` belongs into
    `SoftMatcher.embed`, and only `combine` is left for each pair.

    Args:
        width: D, of inputs and outputs.
        bias: whether there is b.
    """

    def __init__(self, width: int, bias: bool = True) -> None:
        super().__init__()
        whole = nn.Linear(2 * width, width, bias)  # drawn as one matrix, so its scale is that of 2 D inputs
        self.weight, self.bias = whole.weight, whole.bias

    def parts(self, x: Tensor, following: nn.Linear | None = None) -> tuple[Tensor, Tensor]:
        """W_own x + b and W_other x, of nodes (N, D).

        Args:
            following: a layer that acts on x1' later. It acts on both parts instead, which gives the same: less work at
                test, where few graphs make many pairs, and more work in training, where each graph is in one pair.
        """
        own, other = self.weight.chunk(2, dim=1)
        own, other = F.linear(x, own, self.bias), F.linear(x, other)
        return (own, other) if following is None else (following(own), F.linear(other, following.weight))

    def forward(self, x1: Tensor, x2: Tensor, soft: Tensor) -> Tensor:
        """x1' (P, n1, D) from x1, x2 (P, n2, D) and S (P, n1, n2)."""
        own, other = self.weight.chunk(2, dim=1)
        return self.combine(F.linear(x1, own, self.bias), F.linear(x2, other), soft)

    @staticmethod
    def combine(own: Tensor, other: Tensor, soft: Tensor) -> Tensor:
        """x1' (P, n1, D) from the first part of x1, the second one of x2 (P, n2, D), and S (P, n1, n2)."""
        return own + soft @ other


def neighbour_sum(messages: Tensor, edge_index: Tensor, nodes: int) -> Tensor:
    """Sum of the messages (E, D) that arrive at each node: (nodes, D), 0 without edges.

    On a CPU it adds them in the order of the edges.

    Args:
        edge_index: (2, E), a message goes from the node above to the one below.
    """
    return messages.new_zeros(nodes, messages.shape[1]).index_add(0, edge_index[1], messages)


def neighbour_mean(x: Tensor, edge_index: Tensor) -> Tensor:
    """Mean of the rows of x (N, D) over each node's neighbours: (N, D), 0 without neighbours."""
    degree = torch.bincount(edge_index[1], minlength=len(x)).clamp(min=1).to(x.dtype)
    return neighbour_sum(x[edge_index[0]], edge_index, len(x)) / degree[:, None]


class EmbeddingMatcher(SoftMatcher):
    """Base of these methods. Both graphs have the same kind of edges, since `embed` does not know their side."""

    def edges(self, graphs: Sequence[Graph]) -> tuple[list[Graph], Tensor]:
        """The graphs with the edges that the configuration names, and all edges (2, E), as for one joint graph."""
        graphs = [make_graph(graph, self.settings.graph1) for graph in graphs]
        return graphs, torch.from_numpy(joint_edges(graphs))
