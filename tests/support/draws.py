"""Random instances and matchings."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from bbgm.graphs.delaunay import delaunay_graph
from bbgm.matching.instance import Instance
from bbgm.matching.joint_solvers import Pair


def draw_edges(rng: np.random.Generator, n: int) -> np.ndarray:
    """Edges of the Delaunay graph of n random points, (E, 2)."""
    return delaunay_graph(rng.uniform(0, 256, (n, 2))).edges


def draw_instance(rng: np.random.Generator, n1: int = 5, n2: int = 5, scale: float = 1.0) -> Instance:
    """Costs of both signs on two Delaunay graphs."""
    edges1, edges2 = draw_edges(rng, n1), draw_edges(rng, n2)
    unary = scale * rng.normal(-0.5, 1, (n1, n2))
    quadratic = 0.5 * scale * rng.normal(size=(len(edges1), len(edges2)))
    return Instance(unary=unary, edges1=edges1, edges2=edges2, quadratic=quadratic)


def draw_set(rng: np.random.Generator, sizes: Sequence[int] = (3, 3, 3)) -> dict[Pair, Instance]:
    """Costs of both signs on all pairs of several Delaunay graphs."""
    edges = [draw_edges(rng, n) for n in sizes]
    return {
        (p, q): Instance(
            unary=rng.normal(-0.3, 1, (sizes[p], sizes[q])),
            edges1=edges[p],
            edges2=edges[q],
            quadratic=0.5 * rng.normal(size=(len(edges[p]), len(edges[q]))),
        )
        for p, q in combinations(range(len(sizes)), 2)
    }


def draw_direction(rng: np.random.Generator, instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    """A change of the costs of an instance."""
    return rng.normal(size=instance.unary.shape), rng.normal(size=instance.quadratic.shape)


def draw_truth(rng: np.random.Generator, n1: int, n2: int) -> np.ndarray:
    """A partial matching as a matrix (n1, n2) bool."""
    truth = np.zeros((n1, n2), dtype=bool)
    k = int(rng.integers(min(n1, n2) + 1))
    truth[rng.permutation(n1)[:k], rng.permutation(n2)[:k]] = True
    return truth


def with_gradients(instance: Instance, dtype: torch.dtype = torch.float64) -> Instance[Tensor]:
    """The same instance with costs that collect gradients."""
    unary, quadratic = (
        torch.tensor(costs, dtype=dtype, requires_grad=True) for costs in (instance.unary, instance.quadratic)
    )
    return Instance(unary=unary, edges1=instance.edges1, edges2=instance.edges2, quadratic=quadratic)


def gradient(costs: Tensor) -> np.ndarray:
    """The gradient that costs have collected."""
    assert costs.grad is not None
    return costs.grad.numpy()
