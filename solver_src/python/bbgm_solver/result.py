"""What ``solve`` returns."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Result(NamedTuple):
    """A matching, its value and how good it can at most be.

    Attributes:
        assignment: (n1,) int32, node of graph 2 matched to each node of graph 1, -1 = unmatched.
        objective: its cost, summed from the original costs in float64. Unless full=True, it is never above that of the
            empty matching: the sum of the costs of unmatched nodes, 0 by default.
        lower_bound: no matching costs less; where `optimal`, none costs less by more than the tolerance.
        optimal: the bound meets the objective within the tolerance: a proof.
        iterations: iterations of the dual that were made.
        stop_reason: "optimal", "iteration limit", "work limit" or "stalled".
    """

    assignment: NDArray[np.int32]
    objective: float
    lower_bound: float
    optimal: bool
    iterations: int
    stop_reason: str
