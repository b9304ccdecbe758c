"""SplineCNN layer (Fey et al., CVPR 2018; paper Sec. 3.5, 'Geometric Feature Refinement').

The kernel is a function of an edge's relative coordinates u in [0, 1]^2: a product of linear B-splines through K x K
weight matrices, so each edge uses the four matrices around its u:

    x'_i = max_{j in N(i)} sum_{s=1..4} b_s(u_ji) W_{k_s(u_ji)}^T x_j  +  W_root^T x_i  +  bias

Differences from torch_geometric's SplineConv, whose numbers and parameter layout it shares:

1. A node is multiplied only by the matrices that one of its edges uses, one matrix product per matrix; then four rows
   per edge are gathered. (The reference multiplies each edge by each of its four, on a CPU without a fast product.)
2. No atomic scatter: sums and maxima run over rows in a fixed order, so equal inputs give equal bits.
3. Where several edges attain a maximum, the first of them takes the gradient.
4. Coordinates outside of [0, 1] are an error. They get a gradient if they require one: on a knot, that from its right.
"""

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from bbgm.methods.spline.plan import SplinePlan

Aggregation = Literal["max", "mean", "sum"]
RootInit = Literal["channels", "kernel"]

FEW, LARGE = 4, 2**18
"""Up to so many outer products are added one by one on the CPU, if the result has so many numbers or more."""


class _SplineAggregation(torch.autograd.Function):
    """Messages and their aggregation, with the sums of the backward pass in a fixed order too."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, basis: Tensor, plan: SplinePlan, aggregation: Aggregation
    ) -> Tensor:
        """From node features (N, in) and matrices (K K, in, out) to (N, out); nodes without edges get 0.

        ``basis`` is that of the plan; it is an argument because it may require a gradient.
        """
        rows = x[plan.pair_node]
        products = _products(rows, weight, plan)
        messages = F.embedding_bag(plan.pair, products, per_sample_weights=basis, mode="sum")
        if aggregation == "max":
            result, chosen = _first_maximum(messages, plan)
        else:
            chosen = plan.mean_scale if aggregation == "mean" else torch.ones_like(plan.mean_scale)
            filled = torch.cat([messages, messages.new_zeros(1, messages.shape[1])])
            result = filled[plan.incoming].sum(dim=1) * chosen
        ctx.plan, ctx.aggregation = plan, aggregation
        ctx.save_for_backward(rows, weight, basis, chosen)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None, None]:
        """Gradients for x, weight and basis."""
        plan: SplinePlan = ctx.plan
        rows, weight, basis, chosen = ctx.saved_tensors
        edges = len(plan.pair)
        messages = gradient.new_zeros(edges + 1, gradient.shape[1])  # the last row takes what belongs to no edge
        if ctx.aggregation == "max":
            messages.scatter_(0, chosen, gradient)
        else:
            # Each edge enters one node, so no row but the last is written twice.
            messages[plan.incoming.flatten()] = (gradient * chosen).repeat_interleave(plan.incoming.shape[1], dim=0)
        # The transpose of the forward sum: for each pair its edges, weighted.
        order, begins = plan.by_pair
        products = _sum_rows(messages, order // 4, begins, basis.flatten()[order])

        grad_x = grad_weight = grad_basis = None
        if ctx.needs_input_grad[0]:
            grad_x = _sum_rows(_products(products, weight.mT, plan), *plan.by_node)
        if ctx.needs_input_grad[1]:
            grad_weight = _outer_products(rows, products, len(weight), plan)
        if ctx.needs_input_grad[2]:
            made = _products(rows, weight, plan)
            corners = [(made[pair] * messages[:edges]).sum(dim=1) for pair in plan.pair.T]
            grad_basis = torch.stack(corners, dim=1)
        return grad_x, grad_weight, grad_basis, None, None


def _products(rows: Tensor, weight: Tensor, plan: SplinePlan) -> Tensor:
    """The product (P, out) of each pair's row (P, in) with its matrix."""
    products = rows.new_empty(len(rows), weight.shape[2])
    matrices = weight.unbind()
    # Split in one call each: with narrow layers, to slice takes as long as to multiply.
    parts = zip(plan.matrices, torch.split(rows, plan.sizes), torch.split(products, plan.sizes), strict=True)
    for matrix, part, product in parts:
        torch.mm(part, matrices[matrix], out=product)
    return products


def _outer_products(rows: Tensor, gradients: Tensor, matrices: int, plan: SplinePlan) -> Tensor:
    """For each of the matrices the sum (matrices, in, out) of its pairs' outer products of row and gradient."""
    sums = rows.new_empty(matrices, rows.shape[1], gradients.shape[1])
    each = sums.unbind()
    for unused in set(range(matrices)).difference(plan.matrices):
        each[unused].zero_()
    # A matrix at the kernel's rim has few pairs. The general product packs its operands, which takes longer than to
    # pass over a large result once for each of them.
    few = FEW if each[0].numel() >= LARGE and rows.device.type == "cpu" else 0
    parts = zip(plan.matrices, torch.split(rows, plan.sizes), torch.split(gradients, plan.sizes), strict=True)
    for matrix, part, gradient in parts:
        if len(part) > few:
            torch.mm(part.T, gradient, out=each[matrix])
            continue
        torch.outer(part[0], gradient[0], out=each[matrix])
        for row, other in zip(part[1:], gradient[1:], strict=True):
            each[matrix].addr_(row, other)
    return sums


def _first_maximum(messages: Tensor, plan: SplinePlan) -> tuple[Tensor, Tensor]:
    """Largest message (N, C) into each node and the edge (N, C) it came by; 0 and the number E without an edge."""
    place, columns = plan.by_degree
    best = messages.new_zeros(len(place), messages.shape[1])
    column = torch.zeros(best.shape, dtype=torch.uint8 if len(columns) < 256 else torch.int64, device=best.device)
    best[: len(columns[0])] = messages[columns[0]]
    for number, edges in enumerate(columns[1:], start=1):
        candidate, so_far = messages[edges], best[: len(edges)]
        column[: len(edges)].masked_fill_(candidate > so_far, number)
        torch.maximum(so_far, candidate, out=so_far)  # NaN stays, so that a network that has diverged shows it
    return best[place], plan.incoming.gather(1, column[place].long())


def _sum_rows(rows: Tensor, index: Tensor, begins: Tensor, weight: Tensor | None = None) -> Tensor:
    """Sums (G, C) of ``rows[index]``, weighted, each from where it begins to where the next does."""
    if len(index) == 0:
        return rows.new_zeros(len(begins), rows.shape[1])
    return F.embedding_bag(index, rows, begins, per_sample_weights=weight, mode="sum")


class SplineConv(nn.Module):
    """The layer; see the module's docstring for the equation.

    Args:
        in_channels, out_channels: of the node features.
        dim: dimension of the pseudo-coordinates; only 2 is supported.
        kernel_size: K, matrices per side; K K in all.
        aggr: "max" as in the paper, "mean" or "sum".
        root_weight: add the node's own feature times a separate matrix.
        bias: add a learned constant.
        root_init: first values of the root's matrix, uniform within +-1 / sqrt(in) ("channels", torch_geometric since
            2.0) or +-1 / sqrt(K K in) as the kernel's ("kernel", torch_geometric of 2020, when BB-GM was trained).

    Attributes:
        weight: (K K, in, out); the matrix of knot (a, b) has index a + K b.

    Raises:
        ValueError: a dimension, size or aggregation that is not supported.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 2,
        kernel_size: int = 5,
        aggr: Aggregation = "max",
        root_weight: bool = True,
        bias: bool = True,
        root_init: RootInit = "channels",
    ) -> None:
        super().__init__()
        if dim != 2:
            raise ValueError(f"dim {dim} is not supported: pseudo-coordinates are positions in the image, dim = 2")
        if kernel_size < 2:
            raise ValueError(f"kernel_size {kernel_size} is too small: linear splines need 2 or more")
        if aggr not in ("max", "mean", "sum"):
            raise ValueError(f"aggr {aggr!r} is not one of ['max', 'mean', 'sum']")
        self.kernel_size, self.aggr, self.root_init = kernel_size, aggr, root_init
        self.weight = nn.Parameter(torch.empty(kernel_size**2, in_channels, out_channels))
        self.lin = nn.Linear(in_channels, out_channels, bias=False) if root_weight else None
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform as in torch_geometric: +-1 / sqrt(K K in) for the kernel, ``root_init`` for the root, bias 0."""
        matrices, channels, _ = self.weight.shape
        bound = (matrices * channels) ** -0.5
        nn.init.uniform_(self.weight, -bound, bound)
        if self.lin is not None:
            root = channels**-0.5 if self.root_init == "channels" else bound
            nn.init.uniform_(self.lin.weight, -root, root)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Tensor, pseudo: Tensor) -> Tensor:
        """Apply the layer to a graph, or to the disjoint union of several.

        Args:
            x: (N, in).
            edge_index: (2, E) int64, sources above targets.
            pseudo: (E, 2) in [0, 1].

        Returns:
            (N, out).

        Raises:
            ValueError: wrong shapes, an edge of a node that does not exist, or a coordinate outside of [0, 1].
        """
        return self.apply_plan(x, SplinePlan.make(len(x), edge_index, pseudo, self.kernel_size).to(x))

    def apply_plan(self, x: Tensor, plan: SplinePlan) -> Tensor:
        """Apply the layer to the graph of a plan, which several layers can share."""
        result = x.new_zeros(len(x), self.weight.shape[2])
        if len(plan.pair):
            result = _SplineAggregation.apply(x, self.weight, plan.basis, plan, self.aggr)
        if self.lin is not None:
            result = result + F.linear(x, self.lin.weight, self.bias)
        elif self.bias is not None:
            result = result + self.bias
        return result
