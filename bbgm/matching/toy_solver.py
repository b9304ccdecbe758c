"""A toy solver: linear assignment that ignores the edges."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from bbgm.matching.instance import Instance
from bbgm.matching.solvers import Solver


def assignment(full: bool) -> Solver:
    """Matches all keypoints of the image that has fewer."""

    def solve(instances: Sequence[Instance]) -> list[np.ndarray]:
        found = []
        for instance in instances:
            costs = instance.numpy().unary
            rows, columns = linear_sum_assignment(costs)
            matching = np.full(len(costs), -1, dtype=np.int32)
            matching[rows] = columns
            found.append(matching)
        return found

    return solve
