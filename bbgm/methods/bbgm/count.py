"""How many keypoints match: a predicted number k, and the best matching with k matches. A comparison with BB-GM.

The idea is that of AFA (Wang, Guo, Jiang, Yang and Yan: "Deep Learning of Partial Graph Matching via Differentiable
Top-K", CVPR 2023): a network says how many keypoints match, and the matching keeps so many. What differs from AFA:

1. The network here is a small head on statistics of the soft matching, not a graph network; and its loss is the cross
   entropy of the share k / min(n1, n2), as if each keypoint of the smaller side were drawn with this probability.
2. The statistics are detached. So the other parameters get the gradient of BB-GM, the trained network gives its costs
   bit for bit, and only the choice of k at test time is compared.
3. AFA takes the k most certain matches of a matching of all keypoints. Here it is the cheapest matching among those
   with k matches, edge costs included, by a Lagrange multiplier.

The multiplier mu is a prize for each match: min over v of w . y - mu sum v. With C(k) the smallest cost with exactly k
matches, the minimum has the k that minimises C(k) - mu k, and k grows with mu. `shift_to_counts` finds mu by bisection.
Limits:

- Only the k on the lower convex hull of C have a mu (there is a duality gap otherwise). Where k is skipped, the nearer
  of both neighbours on the hull is taken, the smaller one if they are equally near; `Shifted.hit` says which k are met.
- C is convex if there are no edge costs (it is the cost of a flow of k units). Each k then has a mu, except for ties.
- Bisection stops after `STEPS` solves, so an interval of mu shorter than about 1e-4 of `_largest_change` may be missed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bbgm.matching.instance import Instance
from bbgm.matching.solvers import Solver
from bbgm.methods.soft.sinkhorn import sinkhorn

STEPS = 14
"""Solves of an instance at most."""
TEMPERATURES = (0.1, 0.5)
"""Of the soft matchings, in units of the costs."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Of the keypoints' smallest costs."""
HIDDEN = 32
"""Width of the hidden layer."""


class CountHead(nn.Module):
    """The share of the smaller side's keypoints that have a partner, from statistics of the vertex costs."""

    def __init__(self) -> None:
        super().__init__()
        statistics = 2 * len(TEMPERATURES) + 2 * len(QUANTILES) + 2
        self.hidden, self.share = nn.Linear(statistics, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, unary: Sequence[Tensor]) -> Tensor:
        """Logarithms of the odds of the shares, (B,), of pairs with vertex costs (n1, n2)."""
        logits: Tensor = self.share(self.hidden(count_statistics(unary)).relu())[:, 0]
        return logits

    def loss(self, unary: Sequence[Tensor], truth: Sequence[Tensor]) -> Tensor:
        """Cross entropy between the true shares and those predicted, averaged over the batch.

        Args:
            unary: vertex costs of each pair, (n1, n2), without margin.
            truth: v* of each pair, (n1, n2).
        """
        logits = self(unary)
        shares = torch.stack([true.sum() / min(true.shape) for true in truth]).to(logits)
        return F.binary_cross_entropy_with_logits(logits, shares)

    def counts(self, unary: Sequence[Tensor]) -> np.ndarray:
        """k of each pair, (B,) int64: the share times min(n1, n2), rounded."""
        smaller = np.array([min(one.shape) for one in unary])
        shares = self(unary).detach().sigmoid().cpu().double().numpy()
        return np.rint(shares * smaller).astype(np.int64)


def count_statistics(unary: Sequence[Tensor]) -> Tensor:
    """What `CountHead` sees of vertex costs (n1, n2) of B pairs, detached: (B, 16).

    For each temperature the number of soft matches, and the sum of squares of the soft matching, which is smaller where
    matches are uncertain; both relative to min(n1, n2). Then quantiles of the smallest cost of each keypoint, of the
    smaller and of the larger side; then n1 and n2, the smaller first, relative to ten.
    """
    costs = [one.detach() if one.shape[0] <= one.shape[1] else one.detach().T for one in unary]
    smaller = torch.tensor([len(one) for one in costs]).to(costs[0])
    levels = torch.tensor(QUANTILES).to(costs[0])
    columns = []
    for temperature in TEMPERATURES:
        soft = [one.exp() for one in sinkhorn(costs, temperature=temperature, iterations=10, partial=True)]
        columns += [torch.stack([one.sum() for one in soft]) / smaller]
        columns += [torch.stack([one.square().sum() for one in soft]) / smaller]
    for dim in (1, 0):
        columns += torch.stack([one.amin(dim=dim).quantile(levels) for one in costs]).unbind(1)
    columns += [smaller / 10, torch.tensor([one.shape[1] for one in costs]).to(smaller) / 10]
    return torch.stack(columns, dim=1)


@dataclass(frozen=True, eq=False)
class Shifted:
    """Instances whose minima have given numbers of matches, or nearly so.

    Attributes:
        instances: the same instances with vertex costs c - mu, each with its own mu.
        assignments: their minima, (n1,) int32 each, -1 = unmatched.
        hit: (B,) bool, whether the number of matches is the one that was asked for.
    """

    instances: list[Instance]
    assignments: list[np.ndarray]
    hit: np.ndarray


def shift_to_counts(instances: Sequence[Instance], counts: Sequence[int] | np.ndarray, solver: Solver) -> Shifted:
    """Shift the vertex costs of each instance so that its cheapest matching has a given number of matches.

    Each step solves all instances that have not met their number together.

    Args:
        counts: (B,), k of each instance, from 0 to min(n1, n2).
        solver: of instances, which may leave keypoints unmatched.

    Raises:
        ValueError: a k outside that range.
    """
    sizes = [min(x.unary.shape) for x in instances]
    if outside := [(int(k), n) for k, n in zip(counts, sizes, strict=True) if not 0 <= k <= n]:
        raise ValueError(f"{outside[0][0]} matches of at most {outside[0][1]}: ask for a number that is possible")
    bounds = [_largest_change(x) for x in instances]
    low, high, mu = [-bound for bound in bounds], list(bounds), [0.0] * len(instances)
    best: list[tuple[tuple[int, int], Instance, np.ndarray]] = []
    active = list(range(len(instances)))
    for _ in range(STEPS):
        shifted = [replace(instances[b], unary=instances[b].unary - mu[b]) for b in active]
        missed = []
        for b, instance, assignment in zip(active, shifted, solver(shifted), strict=True):
            found = int((assignment >= 0).sum())
            # The nearer number; of two that are equally near, the smaller.
            result = (abs(found - int(counts[b])), found), instance, assignment
            if len(best) <= b:
                best.append(result)
            elif result[0] < best[b][0]:
                best[b] = result
            if found == counts[b]:
                continue
            if found < counts[b]:
                low[b] = mu[b]
            else:
                high[b] = mu[b]
            mu[b] = (low[b] + high[b]) / 2
            missed.append(b)
        active = missed
        if not active:
            break
    hit = np.array([distance == 0 for (distance, _), _, _ in best], dtype=bool)
    return Shifted([x for _, x, _ in best], [a for _, _, a in best], hit)


def _largest_change(instance: Instance) -> float:
    """More than one match can change the cost: with a larger mu as many nodes as possible match, below -mu none.

    A match changes the cost by its vertex cost and by its edges: each edge of the source is paid at most once.
    """
    unary, quadratic = np.abs(instance.unary), np.abs(instance.quadratic)
    edges = quadratic.max(axis=1, initial=0.0)
    at_node = np.zeros(unary.shape[0])
    for ends in instance.edges1.T:
        np.add.at(at_node, ends, edges)
    largest: float = (unary.max(axis=1, initial=0.0) + at_node).max(initial=0.0)
    return largest + 1e-3
