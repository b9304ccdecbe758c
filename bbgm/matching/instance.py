"""The graph matching instance (paper Eq. (GM-problem)): the one type that networks make and solvers take."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic

import numpy as np
from torch import Tensor
from typing_extensions import TypeVar

if TYPE_CHECKING:
    import bbgm_solver

Solution = tuple[np.ndarray, np.ndarray]
"""v (n1, n2) and e (E1, E2), float64 with values 0 and 1."""

Costs = TypeVar("Costs", np.ndarray, Tensor, default=np.ndarray)


@dataclass(frozen=True, eq=False, kw_only=True)
class Instance(Generic[Costs]):
    """One graph matching problem; costs are minimised.

    `Instance[Tensor]` has the costs of a network, which may need gradients; `numpy` makes an `Instance`, whose costs
    are float64 arrays. The methods below `numpy` are for these.

    Attributes:
        unary: c^v, (n1, n2).
        edges1, edges2: directed edges, (E1, 2) and (E2, 2), with indices of nodes.
        quadratic: c^e, (E1, E2).

    Raises:
        ValueError: costs whose shapes do not fit the above.
    """

    unary: Costs
    edges1: np.ndarray
    edges2: np.ndarray
    quadratic: Costs

    def __post_init__(self) -> None:
        if self.unary.ndim != 2:
            raise ValueError(f"unary has shape {tuple(self.unary.shape)}, expected (n1, n2)")
        edges = len(self.edges1), len(self.edges2)
        if tuple(self.quadratic.shape) != edges:
            raise ValueError(f"quadratic has shape {tuple(self.quadratic.shape)}, expected {edges}, the edges' numbers")

    @classmethod
    def linear(cls, unary: Costs) -> "Instance[Costs]":
        """An instance of graphs without edges: the linear assignment problem with the costs (n1, n2)."""
        none = np.zeros((0, 2), dtype=np.int64)
        empty = unary.new_zeros(0, 0) if isinstance(unary, Tensor) else np.zeros((0, 0))
        return Instance(unary=unary, edges1=none, edges2=none, quadratic=empty)

    def without_edges(self) -> "Instance[Costs]":
        """The same as if edges cost nothing."""
        return replace(self, quadratic=0 * self.quadratic)

    def numpy(self) -> "Instance":
        """The same with costs as float64 arrays: without gradients, on the CPU."""
        unary, quadratic = _as_array(self.unary), _as_array(self.quadratic)
        return Instance(unary=unary, edges1=self.edges1, edges2=self.edges2, quadratic=quadratic)

    def problem(self) -> "bbgm_solver.Problem":
        """The same as our solver takes it.

        Raises:
            ValueError: costs that are not finite, which is what a network that diverged gives, or edges that are not
                those of graphs with n1 and n2 nodes.
        """
        import bbgm_solver

        x = self.numpy()
        try:
            return bbgm_solver.Problem(x.unary, x.edges1, x.edges2, x.quadratic)
        except ValueError:
            check_finite("costs for the solver", x.unary, x.quadratic)
            raise

    def solution(self, assignment: np.ndarray) -> Solution:
        """The indicators of a matching: v from the assignment (n1,), -1 = unmatched, and e, which v determines.

        e = 1 for an edge i -> i' and an edge j -> j' where i is matched with j and i' with j'.
        """
        v = np.zeros(self.unary.shape)
        rows = np.flatnonzero(assignment >= 0)
        v[rows, assignment[rows]] = 1.0
        (i1, j1), (i2, j2) = self.edges1.T, self.edges2.T
        return v, v[np.ix_(i1, i2)] * v[np.ix_(j1, j2)]

    def cost(self: "Instance", solution: Solution) -> float:
        """w . y, the objective."""
        return float((self.unary * solution[0]).sum() + (self.quadratic * solution[1]).sum())

    def plus(self: "Instance", gradient: Solution, scale: float) -> "Instance":
        """The instance with the costs w + scale * gradient."""
        v, e = gradient
        return Instance(
            unary=self.unary + scale * v,
            edges1=self.edges1,
            edges2=self.edges2,
            quadratic=self.quadratic + scale * e,
        )


class NotFiniteError(ValueError):
    """What a network gives to be matched is NaN or infinite."""


def check_finite(what: str, *numbers: np.ndarray) -> None:
    """Check what a network gives to be matched.

    Raises:
        NotFiniteError: it is not finite.
    """
    if not all(np.isfinite(one).all() for one in numbers):
        raise NotFiniteError(
            f"{what} are NaN or infinite: the network has diverged, or its weights are broken; lower "
            "optimiser.learning_rate, or take other weights"
        )


def _as_array(costs: np.ndarray | Tensor) -> np.ndarray:
    if isinstance(costs, Tensor):
        return costs.detach().cpu().double().numpy()
    return np.asarray(costs, dtype=np.float64)
