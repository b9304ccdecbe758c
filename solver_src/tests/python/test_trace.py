"""trace: how a solve goes, row by row."""

import time

import bbgm_solver as gm
import numpy as np
import pytest
from support.problems import linear, random_problem, scaled

VARIANTS: list[dict[str, object]] = [{}, {"full": True}, {"effort": "fast"}]
OPTIONS: list[dict[str, object]] = [
    *({"method": method, **more} for method in ("best", "dual") for more in VARIANTS),
    {"method": "dual", "max_iterations": 0, "full": True},
    {"method": "dual", "max_iterations": 7, "round_every": 3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e120])
def test_bounds_never_fall_objectives_never_rise_and_the_end_is_the_result(
    options: dict[str, object], scale: float
) -> None:
    rng = np.random.default_rng(1)
    for _ in range(8):
        problem = scaled(random_problem(rng, int(rng.integers(0, 10)), int(rng.integers(0, 10))), scale)
        rows, result = gm.trace(problem, **options), gm.solve(problem, **options)  # type: ignore[arg-type]
        iterations, bounds, objectives = rows.T
        assert rows.dtype == np.float64
        assert rows[-1].tolist() == [result.iterations, result.lower_bound, result.objective]
        assert np.all(np.diff(iterations) >= 0)
        assert np.all(bounds[1:] >= bounds[:-1])
        assert np.all(objectives[1:] <= objectives[:-1])
        assert np.all(np.isfinite(bounds))
        assert np.all(bounds <= objectives)


def test_dual_has_a_row_before_the_first_iteration_and_after_each() -> None:
    rng = np.random.default_rng(2)
    for full in (False, True):
        problem = random_problem(rng, 7, 8)
        rows = gm.trace(problem, "dual", max_iterations=12, round_every=5, full=full)
        assert rows[:, 0].tolist() == list(range(13))
        # A run that ends with a rounding that comes anyway is the beginning of the longer one.
        assert np.array_equal(gm.trace(problem, "dual", max_iterations=10, round_every=5, full=full), rows[:11])
        assert rows[0, 2] == (np.inf if full else 0.0)
        assert np.all(np.isfinite(rows[1:, 2]))
        assert len(np.unique(rows[:, 1])) > 10  # the bound rises


def test_best_shows_its_stages() -> None:
    """A hard problem: a start, passes of the cheap bound, levels of the dual."""
    problem = random_problem(np.random.default_rng(3), 9, 9)
    rows = gm.trace(problem)
    assert rows[0, 2] < 0.0
    assert len(np.unique(rows[:, 0])) >= 4
    assert len(np.unique(rows[:, 1])) >= 4


def test_problems_that_are_solved_at_once() -> None:
    for unary in (np.zeros((0, 3)), -np.ones((1, 1)), -np.ones((4, 2))):
        problem = linear(unary)
        for method in ("best", "dual"):
            rows = gm.trace(problem, method)
            assert len(rows) >= 1
            assert rows[-1, 1:].tolist() == [-min(unary.shape)] * 2


def test_times_are_a_further_column_that_never_falls() -> None:
    problem = random_problem(np.random.default_rng(3), 9, 9)
    for method in ("best", "dual"):
        began = time.process_time()
        rows = gm.trace(problem, method, timed=True)
        took = time.process_time() - began
        assert np.array_equal(rows[:, :3], gm.trace(problem, method))
        seconds = rows[:, 3]
        assert seconds[0] >= 0
        assert np.all(np.diff(seconds) >= 0)
        assert 0 < seconds[-1] <= took + 1e-5  # two clocks, one of which counts in steps of 1e-6


def test_trace_refuses_exact() -> None:
    problem = random_problem(np.random.default_rng(4), 2, 2)
    with pytest.raises(ValueError, match='method "exact" cannot be traced'):
        gm.trace(problem, "exact")
    with pytest.raises(TypeError, match="problem is a int, expected a Problem"):
        gm.trace(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_iterations is -1"):
        gm.trace(problem, max_iterations=-1)
