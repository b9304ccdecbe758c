"""HiGHS, a general solver of integer programs, through scipy."""

from collections.abc import Callable

import bbgm_solver as gm
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, vstack

from bbgm.bench.peers.peer import Answer, Peer, Unsupported

SECONDS = 10
LARGEST = 100_000
"""Terms: beyond, HiGHS finds nothing within the time."""


class HiGHS(Peer):
    """The linearisation of Adams and Johnson (1994): y_ab = 1 where both assignments of a term are chosen.

    Each node is matched once; the terms of an assignment with those of one other node sum up to it at most. Terms that
    cost something also have y_ab >= x_a + x_b - 1.
    """

    title = "scipy HiGHS"
    package = "scipy"
    settings = f"milp, linearised by Adams and Johnson, one thread, at most {SECONDS} s"

    def prepare(self, problem: gm.Problem) -> Callable[[], Answer]:
        """See `Peer`."""
        if problem.n_terms > LARGEST:
            raise Unsupported(f"{problem.n_terms} terms")
        if problem.unmatched1.any() or problem.unmatched2.any():
            raise Unsupported("costs of unmatched nodes")
        n = problem.n_assignments
        costs = np.concatenate([problem.costs, problem.term_costs])
        scale = float(np.abs(costs).max(initial=0.0)) or 1.0
        constraints = _constraints(problem)

        def solve() -> Answer:
            found = milp(
                costs / scale,
                integrality=np.arange(len(costs)) < n,
                bounds=Bounds(0, 1),
                constraints=constraints,
                options={"time_limit": SECONDS, "mip_rel_gap": 0.0},
            )
            assignment = np.full(problem.n1, -1)
            if found.x is not None:
                i, j = problem.assignments[found.x[:n] > 0.5].T
                assignment[i] = j
            return Answer(assignment, found.status == 0)

        return solve


def _constraints(problem: gm.Problem) -> list[LinearConstraint]:
    n, m = problem.n_assignments, problem.n_terms
    nodes, (a, b), terms = problem.assignments, problem.terms.T, n + np.arange(m)
    rows, upper = [], []

    def add(row: np.ndarray, column: np.ndarray, value: np.ndarray, limit: float) -> None:
        size = int(row.max(initial=-1)) + 1
        rows.append(csr_array((value, (row, column)), shape=(size, n + m)))
        upper.append(np.full(size, limit))

    for side in (0, 1):
        add(nodes[:, side], np.arange(n), np.ones(n), 1.0)
        owner, partner = np.concatenate([a, b]), np.concatenate([b, a])
        width = max(problem.n1, problem.n2)
        groups, row = np.unique(owner * width + nodes[partner, side], return_inverse=True)
        size = len(groups)
        add(
            np.concatenate([row, np.arange(size)]),
            np.concatenate([terms, terms, groups // width]),
            np.concatenate([np.ones(2 * m), -np.ones(size)]),
            0.0,
        )
    paid = np.flatnonzero(problem.term_costs > 0)
    row = np.arange(len(paid))
    add(
        np.concatenate([row, row, row]),
        np.concatenate([a[paid], b[paid], terms[paid]]),
        np.repeat([1.0, 1.0, -1.0], len(paid)),
        1.0,
    )
    return [LinearConstraint(vstack(rows, format="csr"), -np.inf, np.concatenate(upper))]
