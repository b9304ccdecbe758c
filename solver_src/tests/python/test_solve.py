"""solve and solve_batch: options, edge cases, determinism, silence."""

import itertools
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bbgm_solver as gm
import numpy as np
import pytest
from support.enumeration import enumerate_best
from support.problems import NO_EDGES, linear, random_problem, scaled


@pytest.mark.parametrize("method", gm.METHODS)
@pytest.mark.parametrize(("n1", "n2"), [(0, 0), (0, 3), (3, 0), (1, 1), (1, 30), (30, 1)])
def test_small_and_lopsided_problems(method: str, n1: int, n2: int) -> None:
    unary = np.random.default_rng([n1, n2]).normal(size=(n1, n2))
    result = gm.solve(linear(unary), method)
    assert result.assignment.shape == (n1,)
    assert result.assignment.dtype == np.int32
    assert result.objective == min(0.0, unary.min(initial=0.0))
    assert result.optimal
    assert result.stop_reason == "optimal"


def linear_optimum(unary: np.ndarray, allowed: np.ndarray, full: bool) -> float:
    """By scipy, with a column for each row and a row for each column that stand for staying unmatched."""
    from scipy.optimize import linear_sum_assignment

    n1, n2 = unary.shape
    dear = 1e6
    costs = np.zeros((n1 + n2, n1 + n2))
    costs[:n1, :n2] = np.where(allowed, unary - dear * full, dear)
    rows, columns = linear_sum_assignment(costs)
    real = (rows < n1) & (columns < n2)
    assert allowed[rows[real], columns[real]].all()
    return float(unary[rows[real], columns[real]].sum())


@pytest.mark.parametrize("method", ["best", "dual"])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("density", [1.0, 0.5, 0.1])
def test_linear_problems_are_linear_assignment(method: str, full: bool, density: float) -> None:
    rng = np.random.default_rng(3)
    for n1, n2 in [(1, 1), (5, 5), (12, 20), (20, 12), (60, 60)]:
        for unary in (rng.normal(size=(n1, n2)), rng.integers(-3, 2, size=(n1, n2)).astype(float)):
            allowed = rng.random((n1, n2)) < density
            problem = gm.Problem(unary, NO_EDGES, NO_EDGES, np.zeros((0, 0)), allowed=allowed)
            result = gm.solve(problem, method, full=full)
            assert result.optimal
            assert result.stop_reason == "optimal"
            assert result.objective == pytest.approx(linear_optimum(unary, allowed, full), abs=1e-9)
            assert result.lower_bound == result.objective == gm.evaluate(problem, result.assignment)


@pytest.mark.parametrize("scale", [1e12, 1e-12, 1e-300, 1e140])
def test_huge_and_tiny_costs(scale: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        problem = random_problem(rng, 4, 4)
        other = scaled(problem, scale)
        for method in ("best", "dual"):
            plain, result = gm.solve(problem, method), gm.solve(other, method)
            assert result.lower_bound <= result.objective <= 0
            if method == "best":
                assert result.optimal
                assert result.objective == pytest.approx(plain.objective * scale, rel=1e-9)


def test_ties_and_zero_costs() -> None:
    edges = np.array(list(itertools.permutations(range(5), 2)))
    for cost, optimum in ((0.0, 0.0), (-1.0, -5 - 20)):
        problem = gm.Problem(np.full((5, 5), cost), edges, edges, np.full((20, 20), cost))
        result = gm.solve(problem)
        assert result.objective == optimum
        assert result.optimal


def test_empty_matching_is_always_a_candidate() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        problem = random_problem(rng, 4, 4)
        dear = gm.Problem.sparse(
            4, 4, problem.assignments, np.abs(problem.costs) + 5, problem.terms, problem.term_costs
        )
        for method in ("best", "dual"):
            assert gm.solve(dear, method).objective <= 0


def test_full_matches_as_many_as_permitted() -> None:
    problem = linear(np.full((3, 3), 2.0))
    result = gm.solve(problem, full=True)
    assert sorted(result.assignment.tolist()) == [0, 1, 2]
    assert result.objective == 6.0
    # Nodes 0 and 1 can only be matched to node 0: two matches are the most.
    allowed = np.array([[True, False, False], [True, False, False], [True, True, True]])
    result = gm.solve(
        gm.Problem(np.full((3, 3), 2.0), NO_EDGES, NO_EDGES, np.zeros((0, 0)), allowed=allowed), full=True
    )
    assert (result.assignment >= 0).sum() == 2
    assert result.optimal


@pytest.mark.parametrize("options", [{}, {"method": "dual"}, {"full": True}, {"effort": "fast"}])
def test_batch_is_bitwise_the_same_for_any_number_of_threads(options: dict[str, object]) -> None:
    rng = np.random.default_rng(11)
    problems = [random_problem(rng, int(rng.integers(1, 9)), int(rng.integers(1, 9))) for _ in range(30)]
    single = [gm.solve(problem, **options) for problem in problems]  # type: ignore[arg-type]
    for threads in (1, 2, 3):
        batch = gm.solve_batch(problems, threads=threads, **options)  # type: ignore[arg-type]
        for one, other in zip(single, batch, strict=True):
            assert np.array_equal(one.assignment, other.assignment)
            assert one[1:] == other[1:]


def test_batch_of_nothing() -> None:
    assert gm.solve_batch([]) == []


def test_dual_bound_rises_with_the_iterations() -> None:
    rng = np.random.default_rng(13)
    for _ in range(5):
        problem = random_problem(rng, 7, 8)
        runs = [gm.solve(problem, "dual", max_iterations=k) for k in range(0, 40, 4)]
        bounds = [run.lower_bound for run in runs]
        assert all(later >= earlier - 1e-12 for earlier, later in itertools.pairwise(bounds))
        assert all(run.lower_bound <= run.objective for run in runs)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "simplex"}, ValueError, r"method 'simplex' is not one of \['best', 'dual', 'exact'\]"),
        ({"effort": "heroic"}, ValueError, r"effort 'heroic' is not one of"),
        ({"max_iterations": -1}, ValueError, "max_iterations is -1, expected 0 or more"),
        ({"round_every": 0}, ValueError, "round_every is 0, expected 1 or more"),
        ({"max_iterations": 1.5}, TypeError, r"max_iterations is 1\.5, expected an integer"),
        ({"tolerance": -1.0}, ValueError, r"tolerance is -1\.0"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gm.solve(linear([[1.0]]), **options)  # type: ignore[arg-type]


def test_wrong_problem_is_named() -> None:
    with pytest.raises(TypeError, match="problem is a list, expected a Problem"):
        gm.solve([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"problems\[1\] is a int"):
        gm.solve_batch([linear([[1.0]]), 3])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"tolerance": "small"}, "tolerance is 'small', expected a number"),
        ({"tolerance": None}, "tolerance is None, expected a number"),
        ({"full": "no"}, "full is 'no', expected True or False"),
    ],
)
def test_options_of_another_type(option: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        gm.solve(linear([[1.0]]), **option)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory for threads as Linux does")
def test_a_machine_without_another_thread() -> None:
    """The stacks of 200 threads do not fit: those that there are solve all problems."""
    script = (
        "import resource, bbgm_solver as gm; from bbgm_solver.selftest import random_problem; import numpy as np\n"
        "problems = [random_problem(np.random.default_rng(k), 4, 4) for k in range(200)]\n"
        "expected = [gm.solve(problem).objective for problem in problems]\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + 2**27, size + 2**27))\n"
        "assert [result.objective for result in gm.solve_batch(problems, threads=200)] == expected\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    problem = random_problem(np.random.default_rng(17), 5, 5)
    for method in gm.METHODS:
        for full in (False, True):
            gm.solve(problem, method, full=full)
            gm.solve_batch([problem], method, full=full, threads=2)
    gm.trace(problem, effort="thorough")
    with pytest.raises(ValueError, match="assignment"):
        gm.evaluate(problem, [0, 0, 0, 0, 0])
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory in use as Linux tells it")
def test_memory_does_not_grow() -> None:
    """100,000 calls of every kind, errors too: 400 bytes lost in each of one kind would show."""
    rng = np.random.default_rng(19)
    drawn = random_problem(rng, 3, 3)
    edges = np.array([[0, 1], [1, 2]])
    unary, quadratic = rng.normal(size=(3, 3)), rng.normal(size=(2, 2)).astype(np.float32)

    def refused() -> None:
        with pytest.raises(ValueError, match="already is"):
            gm.evaluate(drawn, [0, 0, 0])

    calls: list[Callable[[], object]] = [
        lambda: gm.solve(drawn),
        lambda: gm.solve(drawn, "dual", max_iterations=2),
        lambda: gm.solve(drawn, full=True),
        lambda: gm.trace(drawn, "dual", max_iterations=2),
        lambda: gm.solve_batch([drawn, drawn], effort="fast", threads=1),
        lambda: gm.Problem(unary, edges, edges, quadratic, unmatched1=np.ones(3)),
        lambda: gm.Problem.sparse(3, 3, drawn.assignments, drawn.costs, [], []),
        lambda: pickle.loads(pickle.dumps(drawn)),
        lambda: gm.evaluate(drawn, [0, 1, 2]),
        refused,
    ]

    def bytes_in_use() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for call in calls:
        for _ in range(1000):
            call()
    before = bytes_in_use()
    for call in calls:
        for _ in range(10_000):
            call()
    assert bytes_in_use() - before < 4e6


def test_selftest_enumeration_is_what_exact_finds() -> None:
    rng = np.random.default_rng(23)
    for _ in range(5):
        problem = random_problem(rng, 4, 4)
        assert gm.solve(problem, "exact").objective == pytest.approx(enumerate_best(problem), abs=1e-6)
