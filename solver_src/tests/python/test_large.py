"""Large problems: matchings, bounds, and the memory that they take."""

import subprocess
import sys

import bbgm_solver as gm
import numpy as np
import pytest
from numpy.typing import NDArray


def grid(rows: int, noise: float, seed: int) -> tuple[gm.Problem, NDArray[np.int64]]:
    """Points of a grid and the same points moved, in random order; edges between neighbours; the true matching."""
    rng = np.random.default_rng(seed)
    points = np.stack(np.meshgrid(np.arange(rows), np.arange(rows)), axis=-1).reshape(-1, 2).astype(float)
    n = len(points)
    order = rng.permutation(n)
    moved = (points + rng.normal(scale=noise, size=points.shape))[order]
    right = np.array([(k, k + 1) for k in range(n) if (k + 1) % rows])
    one_way = np.concatenate([right, [(k, k + rows) for k in range(n - rows)]])
    edges1 = np.concatenate([one_way, one_way[:, ::-1]])
    truth = np.argsort(order)
    edges2 = truth[edges1]
    unary = np.linalg.norm(points[:, None] - moved[None], axis=2) / 3 - 1
    step1, step2 = points[edges1[:, 1]] - points[edges1[:, 0]], moved[edges2[:, 1]] - moved[edges2[:, 0]]
    quadratic = -np.exp(-np.linalg.norm(step1[:, None] - step2[None], axis=2))
    return gm.Problem(unary, edges1, edges2, quadratic), truth


def test_dense_problem_with_implicit_tables() -> None:
    problem, truth = grid(14, 0.2, 0)
    result = gm.solve(problem, effort="fast")
    found = gm.evaluate(problem, result.assignment)
    assert result.objective == pytest.approx(found, rel=1e-12)
    assert result.objective <= gm.evaluate(problem, truth) + 1e-9
    assert result.lower_bound <= result.objective
    assert result.lower_bound >= 1.01 * result.objective
    batch = gm.solve_batch([problem] * 2, effort="fast", threads=2)
    for other in batch:
        assert (other.objective, other.lower_bound) == (result.objective, result.lower_bound)
        np.testing.assert_array_equal(other.assignment, result.assignment)


GROWTH = """
import resource
import numpy as np, bbgm_solver as gm
n, k = {n}, 8
rng = np.random.default_rng(0)
candidates = (np.arange(n)[:, None] + np.arange(k)) % n
assignments = np.stack([np.repeat(np.arange(n), k), candidates.ravel()], axis=1)
node, which = np.divmod(np.arange((n - 1) * k), k)
terms = np.stack([node * k + which, (node + 1) * k + which], axis=1)
problem = gm.Problem.sparse(n, n, assignments, rng.normal(size=n * k), terms, rng.normal(size=len(terms)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = gm.solve(problem, effort="fast")
assert result.lower_bound <= result.objective < 0
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss counts otherwise elsewhere")
def test_memory_of_few_candidates_grows_with_their_number() -> None:
    """One matrix of all pairs of 6,000 nodes would be 288 MB."""
    run = subprocess.run([sys.executable, "-c", GROWTH.format(n=6000)], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 100
