"""scipy's quadratic assignment, which takes full matchings of two weighted graphs: the form of QAPLIB."""

from collections.abc import Callable
from typing import ClassVar

import bbgm_solver as gm
import numpy as np
from scipy.optimize import quadratic_assignment

from bbgm.bench.peers.peer import Answer, Peer, Unsupported, dense_form

EXACT = 1e-6
"""Largest difference between the terms and products of weights, relative to the largest term."""


class FAQ(Peer):
    """Fast approximate QAP (Vogelstein et al., 2015)."""

    title = "scipy FAQ"
    package = "scipy"
    settings = "quadratic_assignment(method='faq'), defaults"
    method: ClassVar[str] = "faq"

    def prepare(self, problem: gm.Problem) -> Callable[[], Answer]:
        """See `Peer`."""
        one, other = weights(problem)

        def solve() -> Answer:
            found = quadratic_assignment(one, other, method=self.method, options={"rng": np.random.default_rng(0)})
            return Answer(found.col_ind, False)

        return solve


class TwoOpt(FAQ):
    """Exchanges of two matches until none pays."""

    title = "scipy 2-opt"
    settings = "quadratic_assignment(method='2opt'), defaults, seed 0"
    method = "2opt"


def weights(problem: gm.Problem) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric weights A (n, n) and B (n, n) with: the terms of a full matching p cost sum_ik A[i, k] B[p(i), p(k)].

    Raises:
        Unsupported: graphs of different sizes, vertex costs that tell matches apart, or terms that are not products.
    """
    if problem.n1 != problem.n2:
        raise Unsupported("graphs of different sizes")
    unary, pairs = dense_form(problem, 4096)
    n = problem.n1
    if np.ptp(unary) > EXACT * np.abs(pairs).max(initial=0.0):
        raise Unsupported("costs of single matches")
    # Rows: two nodes of graph 1, columns: two of graph 2. Products of weights are a matrix of rank 1.
    table = pairs.reshape(n, n, n, n).transpose(0, 2, 1, 3).reshape(n * n, n * n)
    row = int(np.abs(table).max(axis=1).argmax())
    top = table[row]
    one = (table @ top / max(float(top @ top), 1e-300)).reshape(n, n)
    if not np.abs(np.outer(one, top) - table).max() <= EXACT * np.abs(table).max():
        raise Unsupported("terms that are not products of two weights")
    return one, top.reshape(n, n)
