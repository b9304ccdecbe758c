"""Costs of unmatched nodes, against complete enumeration with the definition written out."""

import itertools
import pickle
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pytest
from support.enumeration import definition, matchings
from support.problems import NO_EDGES, draw_unmatched, permuted, same, scaled


@pytest.mark.parametrize("seed", range(60))
def test_optimum_bound_and_proof(seed: int) -> None:
    problem, _ = draw_unmatched(seed)
    values = {labels: definition(problem, labels) for labels in matchings(problem)}
    most = max(sum(j >= 0 for j in labels) for labels in values)
    for labels, value in values.items():
        assert gm.evaluate(problem, np.array(labels, dtype=np.int64)) == pytest.approx(value, abs=1e-12)
    full_values = [value for labels, value in values.items() if sum(j >= 0 for j in labels) == most]
    for full, optimum in ((False, min(values.values())), (True, min(full_values))):
        for method in gm.METHODS:
            result = gm.solve(problem, method, full=full)
            assert result.lower_bound <= optimum + 1e-6 * (method == "exact") + 1e-9
            assert result.objective >= optimum - 1e-9
            assert result.objective == gm.evaluate(problem, result.assignment)
            assert full or result.objective <= sum(problem.unmatched1) + sum(problem.unmatched2) + 1e-12
            if method != "dual":
                assert result.optimal
                assert result.objective == pytest.approx(optimum, abs=1e-6 if method == "exact" else 1e-9)
            if method != "exact":
                assert gm.trace(problem, method, full=full)[-1, 1:].tolist() == [result.lower_bound, result.objective]


@pytest.mark.parametrize("seed", range(20))
def test_the_same_problem_in_other_words(seed: int) -> None:
    """What a node costs in any case may be added; unmatched nodes are free once matches give their costs back."""
    problem, rng = draw_unmatched(seed, 7)
    left, right = problem.assignments.T
    rest = (problem.terms, problem.term_costs)
    more1, more2 = rng.normal(size=problem.n1), rng.normal(size=problem.n2)
    costlier = gm.Problem.sparse(
        problem.n1,
        problem.n2,
        problem.assignments,
        problem.costs + more1[left] + more2[right],
        *rest,
        unmatched1=problem.unmatched1 + more1,
        unmatched2=problem.unmatched2 + more2,
    )
    free = gm.Problem.sparse(
        problem.n1,
        problem.n2,
        problem.assignments,
        problem.costs - problem.unmatched1[left] - problem.unmatched2[right],
        *rest,
    )
    for full in (False, True):
        result, other, plain = (gm.solve(p, full=full) for p in (problem, costlier, free))
        constant = problem.unmatched1.sum() + problem.unmatched2.sum()
        assert result.optimal
        assert other.objective == pytest.approx(result.objective + more1.sum() + more2.sum(), abs=1e-9)
        assert plain.objective + constant == pytest.approx(result.objective, abs=1e-9)
        assert plain.lower_bound + constant == pytest.approx(result.lower_bound, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_numbering_and_scale_do_not_matter(seed: int) -> None:
    problem, rng = draw_unmatched(seed, 7)
    order1, order2 = rng.permutation(problem.n1), rng.permutation(problem.n2)
    value = gm.solve(problem).objective
    assert gm.solve(permuted(problem, order1, order2)).objective == pytest.approx(value, abs=1e-9)
    for factor in (1e12, 1e-12, 1e-200, 2.0**100):
        assert gm.solve(scaled(problem, factor)).objective == pytest.approx(factor * value, rel=1e-9, abs=1e-9 * factor)


@pytest.mark.parametrize("method", ["best", "dual"])
def test_huge_costs_of_unmatched_nodes(method: str) -> None:
    """They force matches; bounds stay bounds, up to the last bits of such numbers."""
    rng = np.random.default_rng(3)
    for n2 in (4, 5):
        edges1, edges2 = (np.array(list(itertools.permutations(range(n), 2))) for n in (4, n2))
        quadratic = rng.normal(size=(len(edges1), len(edges2)))
        problem = gm.Problem(rng.normal(size=(4, n2)), edges1, edges2, quadratic, unmatched1=np.full(4, 1e12))
        optimum = min(definition(problem, labels) for labels in matchings(problem))
        result = gm.solve(problem, method)
        assert result.assignment.min() >= 0
        assert abs(result.objective) < 1e3  # no trace of 1e12 is left
        assert result.lower_bound <= result.objective
        assert result.lower_bound <= optimum + 1e-9
        if method == "best":
            assert result.lower_bound == pytest.approx(optimum, abs=0.05)
            assert result.objective == pytest.approx(optimum, abs=0.05)
            assert not result.optimal  # within 1e-9: near 1e12, numbers are 1e-4 apart
    # Two nodes cannot be matched: theirs is paid, and the least of it.
    problem = gm.Problem(np.zeros((4, 2)), NO_EDGES, NO_EDGES, np.zeros((0, 0)), unmatched1=[1e12, 3e12, 2e12, 4e12])
    result = gm.solve(problem, method)
    assert (result.assignment >= 0).tolist() == [False, True, False, True]
    assert result.objective == 3e12
    assert result.optimal


def test_empty_matching_costs_the_sum() -> None:
    for method in gm.METHODS:
        dear = gm.Problem([[9.0]], [], [], np.zeros((0, 0)), unmatched1=[1.5], unmatched2=[2.0])
        result = gm.solve(dear, method)
        assert (result.assignment.tolist(), result.objective, result.lower_bound) == ([-1], 3.5, 3.5)
        assert gm.solve(dear, method, full=True).objective == 9.0
        nothing = gm.Problem(np.zeros((0, 2)), [], [], np.zeros((0, 0)), unmatched2=[1.0, -4.0])
        assert gm.solve(nothing, method).objective == -3.0
        forbidden = gm.Problem(
            np.zeros((1, 1)), [], [], np.zeros((0, 0)), allowed=np.array([[False]]), unmatched1=[5.0]
        )
        assert gm.solve(forbidden, method, full=True)[1:4] == (5.0, 5.0, True)


def test_what_the_problem_shows(tmp_path: Path) -> None:
    problem, _ = draw_unmatched(3)
    while not problem.unmatched1.any():
        problem, _ = draw_unmatched(int(problem.n1) + 6)
    copy = pickle.loads(pickle.dumps(problem))
    for name in ("costs", "term_costs", "unmatched1", "unmatched2"):
        assert np.array_equal(getattr(copy, name), getattr(problem, name))
    assert repr(problem) == repr(copy)
    assert repr(problem).endswith(", with costs of unmatched nodes)")
    assert gm.Problem(np.zeros((2, 3)), [], [], np.zeros((0, 0))).unmatched2.tolist() == [0, 0, 0]
    gm.write_dd(tmp_path / "problem.dd", problem)
    read = gm.read_dd(tmp_path / "problem.dd")
    assert isinstance(read, gm.Problem)
    assert same(read, problem)
    for name in ("unmatched1", "unmatched2"):
        assert np.array_equal(getattr(read, name), getattr(problem, name))


@pytest.mark.parametrize(
    ("unmatched", "message"),
    [
        ({"unmatched1": [1.0]}, r"unmatched1 has shape \(1,\), expected \(n1,\) = \(2,\)"),
        ({"unmatched2": [[1.0, 2.0, 3.0]]}, r"unmatched2 has shape \(1, 3\), expected 1 dimension"),
        ({"unmatched2": [1.0, np.inf, 0.0]}, r"unmatched2\[1\] is inf"),
        ({"unmatched1": [np.nan, 0.0]}, r"unmatched1\[0\] is nan"),
    ],
)
def test_wrong_values_are_named(unmatched: dict[str, list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gm.Problem(np.zeros((2, 3)), [], [], np.zeros((0, 0)), **unmatched)
    with pytest.raises(ValueError, match=message):
        gm.Problem.sparse(2, 3, [], [], [], [], **unmatched)
    with pytest.raises(TypeError, match="unmatched1 has dtype"):
        gm.Problem.sparse(2, 3, [], [], [], [], unmatched1=["a", "b"])
