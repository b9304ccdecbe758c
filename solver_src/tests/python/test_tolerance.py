"""What `optimal` claims: a gap of at most tolerance * max(|objective|, largest cost), full matchings included."""

import bbgm_solver as gm
import numpy as np
import pytest
from support.enumeration import optima
from support.problems import random_problem, scaled

KINDS = ("plain", "one dear match", "one dear term", "far from zero", "cheap terms")


def draw(seed: int, kind: str) -> tuple[gm.Problem, float, float]:
    """A problem, its smallest cost of all full matchings and of all matchings."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n1, n2 = (int(n) for n in rng.integers(3, 6, size=2))
    drawn = random_problem(rng, n1, n2)
    costs, term_costs = drawn.costs.copy(), drawn.term_costs.copy()
    if kind == "one dear match":
        costs[rng.integers(len(costs))] = 1e7
    elif kind == "one dear term" and len(term_costs) > 0:
        term_costs[rng.integers(len(term_costs))] = -1e7
    elif kind == "far from zero":
        costs += 1e5
    elif kind == "cheap terms":
        term_costs *= 1e-6
    problem = gm.Problem.sparse(n1, n2, drawn.assignments, costs, drawn.terms, term_costs)
    optimum, full_optimum = optima(problem)
    return problem, full_optimum, optimum


@pytest.mark.parametrize("tolerance", [0.0, 1e-16, 1e-13, 1e-9, 1e-3, 0.03, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_stated_rule(kind: str, tolerance: float) -> None:
    for seed in range(6):
        problem, full_optimum, optimum = draw(seed, kind)
        largest = max(np.abs(problem.costs).max(), np.abs(problem.term_costs).max(initial=0.0))
        for full, least in ((True, full_optimum), (False, optimum)):
            for method in ("best", "dual"):
                result = gm.solve(problem, method, full=full, tolerance=tolerance)
                allowed = tolerance * max(abs(result.objective), largest)
                rounding = 1e-13 * max(abs(result.objective), largest)
                assert result.objective >= least - rounding
                assert result.lower_bound <= result.objective
                if result.optimal:
                    assert result.objective - result.lower_bound <= allowed + 1e-15 * abs(result.objective)
                    assert result.objective - least <= allowed + rounding
                    assert result.stop_reason == "optimal"
                else:
                    assert result.lower_bound <= least + rounding
                    assert result.stop_reason != "optimal"
                if method == "best" and tolerance >= 1e-9:
                    assert result.optimal


def test_a_tolerance_below_the_resolution_proves_nothing() -> None:
    """The reward for a match is a float64 too: gaps smaller than its last bits cannot be closed."""
    drawn = (draw(seed, "plain") for seed in range(100))
    problem, optimum, _ = next(one for one in drawn if one[1] > one[2])  # without a reward, the best one is not full
    for tolerance in (0.0, 1e-16):
        result = gm.solve(problem, full=True, tolerance=tolerance)
        assert not result.optimal
        assert result.stop_reason == "stalled"
        assert result.objective == pytest.approx(optimum, abs=1e-10)
        assert 0 < result.objective - result.lower_bound < 1e-10


@pytest.mark.parametrize("method", ["best", "dual"])
@pytest.mark.parametrize("tolerance", [0.0, 1e-9])
def test_where_all_costs_are_zero_any_full_matching_is_proved(method: str, tolerance: float) -> None:
    drawn = random_problem(np.random.default_rng(1), 4, 5)
    problem = scaled(drawn, 0)
    result = gm.solve(problem, method, full=True, tolerance=tolerance)
    assert result.assignment.min() >= 0
    assert (result.objective, result.lower_bound, result.optimal) == (0.0, 0.0, True)


def test_large_costs_of_unmatched_nodes_leave_proofs_possible() -> None:
    """A cost of 1000 forces matches, and costs near 1 are still proved to 1e-9."""
    rng = np.random.default_rng(2)
    for n in (4, 6):
        drawn = random_problem(rng, n, n)
        problem = gm.Problem.sparse(
            n, n, drawn.assignments, drawn.costs, drawn.terms, drawn.term_costs, unmatched1=np.full(n, 1000.0)
        )
        result, full = gm.solve(problem), gm.solve(drawn, full=True)
        assert result.optimal
        assert full.optimal
        assert result.objective == pytest.approx(full.objective, abs=1e-9)
