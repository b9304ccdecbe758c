"""relaxation_bound: the order of the bounds, and programs whose optimum is known."""

import itertools
import sys

import bbgm_solver as gm
import numpy as np
import pytest
from support.enumeration import enumerate_best
from support.problems import linear, mirrored, random_problem, scaled

EPS = 1e-6


def instances(largest: int) -> list[gm.Problem]:
    rng = np.random.default_rng(0)
    return [random_problem(rng, *rng.integers(1, largest + 1, size=2)) for _ in range(20)]


def test_order_of_the_bounds() -> None:
    """Method "dual" <= its own program <= coupled <= optimum; half and half lies below the coupled one, too."""
    strict = np.zeros(3, dtype=int)
    for problem in instances(5):
        optimum = enumerate_best(problem)
        dual = gm.solve(problem, "dual", max_iterations=300).lower_bound
        left, half, coupled = (
            gm.relaxation_bound(problem, coupled=c, share=s) for c, s in ((False, 1.0), (False, 0.5), (True, 1.0))
        )
        assert dual <= left + EPS
        assert left <= coupled + EPS
        assert half <= coupled + EPS
        assert coupled <= optimum + EPS
        strict += [dual < left - EPS, left < coupled - EPS, half < coupled - EPS]
    assert (strict > 0).all(), "no instance on which the bounds differ"


def test_coupling_closes_most_gaps() -> None:
    gaps = []
    for problem in instances(5):
        optimum = enumerate_best(problem)
        gaps.append([optimum - gm.relaxation_bound(problem, coupled=coupled) for coupled in (False, True)])
    uncoupled, coupled = np.sum(gaps, axis=0)
    assert coupled < 0.2 * uncoupled


def test_the_share_is_that_of_graph_1() -> None:
    for problem in instances(4):
        for share in (0.0, 0.3, 1.0):
            value = gm.relaxation_bound(problem, coupled=False, share=share)
            assert value == pytest.approx(
                gm.relaxation_bound(mirrored(problem), coupled=False, share=1 - share), abs=EPS
            )
        assert gm.relaxation_bound(problem, share=0.3) == pytest.approx(gm.relaxation_bound(problem), abs=EPS)


def test_without_edges_it_is_linear_assignment() -> None:
    unary = np.random.default_rng(1).normal(size=(6, 8))
    problem = linear(unary)
    for coupled in (False, True):
        assert gm.relaxation_bound(problem, coupled=coupled) == pytest.approx(gm.solve(problem).objective, abs=EPS)


def test_one_pair_of_edges_is_solved_exactly() -> None:
    """Two nodes on each side: one table holds every matching of both."""
    rng = np.random.default_rng(2)
    edges = np.array([[0, 1], [1, 0]])
    for _ in range(10):
        problem = gm.Problem(rng.normal(size=(2, 2)), edges, edges, rng.normal(size=(2, 2)))
        assert gm.relaxation_bound(problem, coupled=False) == pytest.approx(enumerate_best(problem), abs=EPS)


def test_forbidden_matches_and_scale() -> None:
    rng = np.random.default_rng(3)
    edges = np.array(list(itertools.permutations(range(4), 2)))
    unary, quadratic, allowed = rng.normal(size=(4, 4)), rng.normal(size=(12, 12)), rng.random((4, 4)) < 0.6
    problem = gm.Problem(unary, edges, edges, quadratic, allowed=allowed)
    bound = gm.relaxation_bound(problem)
    assert bound <= enumerate_best(problem) + EPS
    assert bound >= gm.relaxation_bound(gm.Problem(unary, edges, edges, quadratic)) - EPS
    for scale in (1e-9, 1e9):
        assert gm.relaxation_bound(scaled(problem, scale)) == pytest.approx(scale * bound, rel=1e-5)


@pytest.mark.parametrize(("n1", "n2"), [(0, 0), (0, 3), (3, 0)])
def test_empty_problems(n1: int, n2: int) -> None:
    assert gm.relaxation_bound(linear(np.zeros((n1, n2)))) == 0.0


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = instances(3)[0]
    with pytest.raises(ValueError, match=r"share is 1.5, expected a number from 0 to 1"):
        gm.relaxation_bound(problem, share=1.5)
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        gm.relaxation_bound(problem)


def test_costs_of_staying_unmatched() -> None:
    """Paid in the labels "unmatched", as if every node paid and a match gave both costs back."""
    rng = np.random.default_rng(1)
    for problem in instances(4):
        idle1, idle2 = rng.normal(size=problem.n1), rng.normal(size=problem.n2)
        left, right = problem.assignments.T
        rest = (problem.terms, problem.term_costs)
        paid = gm.Problem.sparse(
            problem.n1, problem.n2, problem.assignments, problem.costs, *rest, unmatched1=idle1, unmatched2=idle2
        )
        free = gm.Problem.sparse(
            problem.n1, problem.n2, problem.assignments, problem.costs - idle1[left] - idle2[right], *rest
        )
        for coupled in (True, False):
            expected = gm.relaxation_bound(free, coupled=coupled) + idle1.sum() + idle2.sum()
            assert gm.relaxation_bound(paid, coupled=coupled) == pytest.approx(expected, abs=EPS)


def test_what_is_no_problem_or_no_number_is_named() -> None:
    with pytest.raises(TypeError, match="problem is a NoneType"):
        gm.relaxation_bound(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="share is 'half'"):
        gm.relaxation_bound(random_problem(np.random.default_rng(0), 2, 2), share="half")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_iterations is 2147483648, expected at most 2147483647"):
        gm.solve(random_problem(np.random.default_rng(0), 2, 2), max_iterations=2**31)
