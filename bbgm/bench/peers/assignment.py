"""scipy's linear assignment: what the vertex costs alone are worth."""

from collections.abc import Callable

import bbgm_solver as gm
import numpy as np
from scipy.optimize import linear_sum_assignment

from bbgm.bench.peers.peer import Answer, Peer, without_costly


class LinearAssignment(Peer):
    """The cheapest matching by vertex costs; each node of graph 1 also has a column of its own, "unmatched"."""

    title = "scipy assignment"
    package = "scipy"
    settings = "linear_sum_assignment on the vertex costs, edges ignored; matches that cost more than they bring go"

    def prepare(self, problem: gm.Problem) -> Callable[[], Answer]:
        """See `Peer`."""
        n1, n2 = problem.n1, problem.n2
        costs = np.full((n1, n2 + n1), 1 + 4 * n1 * np.abs(problem.costs).max(initial=0.0))
        i, j = problem.assignments.T
        costs[i, j] = problem.costs - problem.unmatched1[i] - problem.unmatched2[j]
        costs[np.arange(n1), n2 + np.arange(n1)] = 0.0

        def solve() -> Answer:
            _, columns = linear_sum_assignment(costs)
            return Answer(np.where(columns < n2, columns, -1), problem.n_terms == 0)

        return solve

    def finish(self, problem: gm.Problem, assignment: np.ndarray) -> np.ndarray:
        """See `Peer`."""
        return without_costly(problem, assignment)
