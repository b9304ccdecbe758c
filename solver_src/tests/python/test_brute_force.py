"""Properties of the solver on random small problems, against complete enumeration."""

import bbgm_solver as gm
import numpy as np
import pytest
from support.enumeration import optima
from support.problems import COST_KINDS, draw, mirrored, permuted, scaled


@pytest.mark.parametrize("kind", COST_KINDS)
@pytest.mark.parametrize("seed", range(30))
def test_optimum_bound_and_proof(seed: int, kind: str) -> None:
    problem, _ = draw(seed, kind, 4)
    partial, full = optima(problem)
    for optimum, options in ((partial, {"full": False}), (full, {"full": True})):
        for method, effort in (("best", "default"), ("best", "fast"), ("best", "thorough"), ("dual", "default")):
            result = gm.solve(problem, method, effort=effort, **options)
            assert result.lower_bound <= optimum + 1e-9
            assert result.objective >= optimum - 1e-9
            assert gm.evaluate(problem, result.assignment) == result.objective
            assert not result.optimal or result.objective == pytest.approx(optimum, abs=1e-8)
            if method == "best" and effort != "fast":
                assert result.objective == pytest.approx(optimum, abs=1e-9)
                assert result.optimal


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", COST_KINDS)
def test_exact_agrees(seed: int, kind: str) -> None:
    problem, _ = draw(seed + 1000, kind, 6)
    for full in (False, True):
        exact, best = gm.solve(problem, "exact", full=full), gm.solve(problem, full=full)
        assert best.optimal
        assert best.objective == pytest.approx(exact.objective, abs=1e-6)
        assert exact.lower_bound <= best.objective + 1e-6


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", COST_KINDS)
def test_numbering_and_scale_do_not_matter(seed: int, kind: str) -> None:
    problem, rng = draw(seed + 2000, kind, 8)
    base = gm.solve(problem)
    order1, order2 = rng.permutation(problem.n1), rng.permutation(problem.n2)
    assert base.optimal
    others = ((permuted(problem, order1, order2), 1.0), (mirrored(problem), 1.0), (scaled(problem, 1024.0), 1024.0))
    for other, factor in others:
        result = gm.solve(other)
        assert result.optimal
        assert result.objective == pytest.approx(factor * base.objective, rel=1e-8, abs=1e-9)


def test_earlier_calls_do_not_matter() -> None:
    problem, _ = draw(5, "normal", 8)
    first = gm.solve(problem)
    for seed in range(10):
        gm.solve(draw(seed, "integer", 8)[0])
    again = gm.solve(problem)
    assert np.array_equal(first.assignment, again.assignment)
    assert first[1:] == again[1:]
