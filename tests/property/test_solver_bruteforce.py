"""Properties of the solver on random small problems, against complete enumeration."""

import itertools

import bbgm_solver as gm
import numpy as np
import pytest

KINDS = ("normal", "integer", "nearly constant", "sparse")


def draw(seed: int, kind: str, largest: int) -> tuple[gm.Problem, np.random.Generator]:
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n1, n2 = rng.integers(0, largest + 1, size=2)

    def costs(*shape: int) -> np.ndarray:
        if kind == "integer":
            return rng.integers(-2, 3, size=shape).astype(float)
        if kind == "nearly constant":
            return -0.2 + 1e-3 * rng.normal(size=shape)
        return rng.normal(size=shape)

    edges = []
    for n in (n1, n2):
        density = rng.choice([0.0, 0.4, 1.0])
        chosen = [pair for pair in itertools.permutations(range(n), 2) if rng.random() < density]
        edges.append(np.array(chosen, dtype=np.int64).reshape(-1, 2))
    allowed = rng.random((n1, n2)) < (0.6 if kind == "sparse" else 1.0)
    quadratic = costs(len(edges[0]), len(edges[1]))
    return gm.Problem(costs(n1, n2), edges[0], edges[1], quadratic, allowed=allowed), rng


def enumerate_all(problem: gm.Problem) -> tuple[float, float]:
    """Smallest cost of all matchings, and of those with the most matches."""
    allowed = {(int(i), int(j)) for i, j in problem.assignments}
    values: dict[int, float] = {}
    for labels in itertools.product(range(-1, problem.n2), repeat=problem.n1):
        used = [j for j in labels if j >= 0]
        if len(set(used)) < len(used) or any((i, j) not in allowed for i, j in enumerate(labels) if j >= 0):
            continue
        value = gm.evaluate(problem, np.array(labels, dtype=np.int64))
        values[len(used)] = min(values.get(len(used), np.inf), value)
    return min(values.values()), values[max(values)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(30))
def test_optimum_bound_and_proof(seed: int, kind: str) -> None:
    problem, _ = draw(seed, kind, 4)
    partial, full = enumerate_all(problem)
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
@pytest.mark.parametrize("kind", KINDS)
def test_exact_agrees(seed: int, kind: str) -> None:
    problem, _ = draw(seed + 1000, kind, 6)
    for full in (False, True):
        exact, best = gm.solve(problem, "exact", full=full), gm.solve(problem, full=full)
        assert best.optimal
        assert best.objective == pytest.approx(exact.objective, abs=1e-6)
        assert exact.lower_bound <= best.objective + 1e-6


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", KINDS)
def test_numbering_and_scale_do_not_matter(seed: int, kind: str) -> None:
    problem, rng = draw(seed + 2000, kind, 8)
    base = gm.solve(problem)
    order1, order2 = rng.permutation(problem.n1), rng.permutation(problem.n2)
    nodes = problem.assignments
    moved = np.stack([order1[nodes[:, 0]], order2[nodes[:, 1]]], axis=1)
    permuted = gm.Problem.sparse(problem.n1, problem.n2, moved, problem.costs, problem.terms, problem.term_costs)
    mirrored = gm.Problem.sparse(
        problem.n2, problem.n1, nodes[:, ::-1], problem.costs, problem.terms, problem.term_costs
    )
    scaled = gm.Problem.sparse(
        problem.n1, problem.n2, nodes, 1024 * problem.costs, problem.terms, 1024 * problem.term_costs
    )
    assert base.optimal
    for other, factor in ((permuted, 1.0), (mirrored, 1.0), (scaled, 1024.0)):
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
