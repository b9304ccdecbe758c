"""The searches of method "best" where no proof is in reach: what they find does not depend on luck."""

import bbgm_solver as gm
import numpy as np
import pytest
from numpy.typing import NDArray
from support.problems import permuted


def circulant(n: int) -> NDArray[np.int64]:
    """(6 n, 2) directed edges, both ways: each node with those 1, 2 and 5 further round a ring."""
    one_way = np.concatenate([np.stack([np.arange(n), (np.arange(n) + step) % n], axis=1) for step in (1, 2, 5)])
    return np.concatenate([one_way, one_way[:, ::-1]])


@pytest.mark.parametrize("n", [16, 18])
def test_hard_problems_have_one_value_in_any_order_of_nodes(n: int) -> None:
    """Other numbers of the nodes make all searches take other ways; those that end early somewhere else disagree."""
    edges = circulant(n)
    for seed in range(12):
        rng = np.random.default_rng([seed, n])
        unary = rng.standard_normal((n, n))
        quadratic = 0.5 * rng.standard_normal((len(edges), len(edges)))
        problem = gm.Problem(unary, edges, edges, quadratic)
        others = [permuted(problem, rng.permutation(n), rng.permutation(n)) for _ in range(3)]
        values = [gm.solve(one).objective for one in (problem, *others)]
        assert values == pytest.approx([min(values)] * 4, rel=1e-9), seed
