"""What it costs to leave a keypoint unmatched: learned, for each keypoint.

In the paper (Eq. (GM-problem)) an unmatched keypoint costs 0, and the network can only say that a *match* is bad. Here
a keypoint i of the source costs u1_i, and j of the target u2_j, if it stays unmatched:

    min over v   sum_ij c_ij v_ij  +  sum_i u1_i (1 - sum_j v_ij)  +  sum_j u2_j (1 - sum_i v_ij)  +  edge costs
             =   sum_i u1_i + sum_j u2_j  +  min over v   sum_ij (c_ij - u1_i - u2_j) v_ij  +  edge costs.

The first two sums do not depend on the matching. So the costs are subtracted from the vertex costs, and the solver gets
an instance as before: single pairs, sets, and `solver.full` need nothing else.

The gradient is that of Alg. 1 for the larger problem, whose y has an indicator s1_i = 1 - sum_j v_ij of each unmatched
keypoint as well: the loss does not depend on s1, so w_lambda is the same, and

    dL/du1_i = -sum_j dL/dc_ij = -sum_j (v_lambda - v)_ij / lambda = (s1_lambda - s1)_i / lambda,    the same for u2.
"""

from torch import Tensor, nn

HIDDEN = 64
"""Width of the hidden layer."""


class UnmatchedCosts(nn.Module):
    """u = w . ReLU(W (a * x) + b) + c, with a gate a = tanh(A g + d) from the global features, or without one.

    Both sides have the same parameters. The last layer starts at zero, so all costs do, and training begins as without
    them.

    Args:
        channels: C, of the nodes.
        global_channels: Cg, of both images' global features together.
        gated: multiply the features by a; False: a = 1, and the other image has no influence.
    """

    def __init__(self, channels: int, global_channels: int, gated: bool) -> None:
        super().__init__()
        self.gate = nn.Linear(global_channels, channels) if gated else None
        self.hidden, self.cost = nn.Linear(channels, HIDDEN), nn.Linear(HIDDEN, 1)
        nn.init.zeros_(self.cost.weight)
        nn.init.zeros_(self.cost.bias)

    def forward(self, x: Tensor, g: Tensor) -> Tensor:
        """Costs (P, n) of leaving keypoints with features x (P, n, C) unmatched.

        Args:
            g: (P, Cg), the global features of the keypoints' own image first, then those of the other.
        """
        if self.gate is not None:
            x = x * self.gate(g).tanh()[:, None]
        costs: Tensor = self.cost(self.hidden(x).relu())[..., 0]
        return costs

    def subtract(self, unary: Tensor, x: Tensor, y: Tensor, g: Tensor) -> Tensor:
        """Vertex costs (P, n1, n2) minus u1_i + u2_j, which has the same minima as paying u1 and u2.

        Args:
            x, y: features of the source's and of the target's keypoints, (P, n1, C) and (P, n2, C).
            g: (P, Cg), the global features of the source first, then those of the target.
        """
        swapped = g.roll(g.shape[1] // 2, dims=1)
        return unary - self(x, g)[:, :, None] - self(y, swapped)[:, None]
