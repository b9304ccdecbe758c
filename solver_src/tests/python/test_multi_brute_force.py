"""Matching of several graphs, against all consistent matchings of small sets, and what holds for any result."""

import itertools

import bbgm_solver as gm
import numpy as np
import pytest
from support.enumeration import optimum_of_set
from support.problems import SET_KINDS, Problems, draw_set, mirrored, node_counts, permuted


def check(problems: Problems, result: gm.MultiResult) -> None:
    """Consistency, the two forms of the matching, its value, and the bound."""
    counts = node_counts(problems)
    assert result.graphs == tuple(counts)
    assert sorted(result.matchings) == list(itertools.combinations(counts, 2))
    matrices = {}
    for (p, q), match in result.matchings.items():
        assert match.shape == (counts[p],)
        assert match.dtype == np.int32
        matrix = np.zeros((counts[p], counts[q]), dtype=np.int64)
        matrix[np.flatnonzero(match >= 0), match[match >= 0]] = 1
        assert matrix.sum(0).max(initial=0) <= 1
        matrices[p, q], matrices[q, p] = matrix, matrix.T
    for p, q, r in itertools.permutations(counts, 3):
        assert (matrices[p, q] @ matrices[q, r] <= matrices[p, r]).all()
    assert result.cliques.shape[1] == len(counts)
    assert ((result.cliques >= 0).sum(1) >= 2).all()
    ordered = np.where(result.cliques < 0, 2**31 - 1, result.cliques).tolist()
    assert ordered == sorted(ordered)
    for (a, p), (b, q) in itertools.combinations(enumerate(counts), 2):
        both = result.cliques[(result.cliques[:, a] >= 0) & (result.cliques[:, b] >= 0)]
        match = np.full(counts[p], -1)
        match[both[:, a]] = both[:, b]
        assert np.array_equal(match, result.matchings[p, q])
    value = sum(gm.evaluate(problem, result.matchings[key]) for key, problem in sorted(problems.items()))
    assert result.objective == pytest.approx(value, rel=1e-12, abs=1e-12)
    empty = sum(problem.unmatched1.sum() + problem.unmatched2.sum() for problem in problems.values())
    assert result.objective <= empty + 1e-12 * abs(empty)
    assert result.lower_bound <= result.objective


@pytest.mark.parametrize("kind", SET_KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_three_graphs_against_enumeration(seed: int, kind: str) -> None:
    rng = np.random.default_rng([seed, 5])
    problems = draw_set(seed, kind, tuple(int(n) for n in rng.integers(0, 4, size=3)))
    best = optimum_of_set(problems)
    for method, effort in (
        *(("best", effort) for effort in ("default", "fast", "thorough")),
        *((method, "default") for method in ("sync", "dual")),
    ):
        result = gm.solve_multi(problems, method, effort=effort)
        check(problems, result)
        assert result.lower_bound <= best + 1e-8
        assert result.objective >= best - 1e-9
        assert not result.optimal or result.objective == pytest.approx(best, abs=1e-8)
        if method == "best":
            assert result.objective == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("kind", SET_KINDS)
@pytest.mark.parametrize("seed", range(84))
def test_dual_lies_between_its_pairs_and_the_optimum(seed: int, kind: str) -> None:
    """Sum of the pairs' bounds <= bound <= optimum <= value <= that of sync; more iterations never lower the bound."""
    rng = np.random.default_rng([seed, 6])
    sizes = (2, 2, 2, 2) if seed % 8 == 0 else tuple(int(n) for n in rng.integers(2, 4, size=3))
    if seed % 12 == 1:
        sizes = (4, 2, 3)
    problems = draw_set(seed + 500, kind, sizes)
    best = optimum_of_set(problems)
    sync = gm.solve_multi(problems, "sync")
    pairs = sum(max(gm.solve(problem, m).lower_bound for m in ("best", "dual")) for problem in problems.values())
    bound, value = -np.inf, sync.objective
    for iterations in (0, 1, 5, 20, 80):
        threads = 1 + iterations % 2
        result = gm.solve_multi(problems, "dual", max_iterations=iterations, round_every=1, threads=threads)
        check(problems, result)
        assert max(bound, pairs - 1e-9) <= result.lower_bound <= best + 1e-9
        assert best - 1e-9 <= result.objective <= value
        bound, value = result.lower_bound, result.objective


@pytest.mark.parametrize("kind", SET_KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_four_graphs_against_enumeration(seed: int, kind: str) -> None:
    problems = draw_set(seed + 100, kind, (2, 3, 2, 2))
    result = gm.solve_multi(problems)
    check(problems, result)
    best = optimum_of_set(problems)
    assert result.objective == pytest.approx(best, abs=1e-9)
    assert result.lower_bound <= best + 1e-8


@pytest.mark.parametrize("kind", SET_KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_graphs_and_nodes_do_not_matter(seed: int, kind: str) -> None:
    sizes = (2, 3, 3)
    problems = draw_set(seed + 200, kind, sizes)
    rng = np.random.default_rng(seed)
    names = [int(name) for name in rng.choice(50, size=3, replace=False)]
    orders = [rng.permutation(n) for n in sizes]
    renamed = {}
    for (p, q), problem in problems.items():
        other, key = permuted(problem, orders[p], orders[q]), (names[p], names[q])
        renamed[min(key), max(key)] = other if key[0] < key[1] else mirrored(other)
    result = gm.solve_multi(renamed)
    check(renamed, result)
    best = gm.solve_multi(problems).objective
    assert result.objective == pytest.approx(best, abs=1e-9)
    for dual in (gm.solve_multi(renamed, "dual"), gm.solve_multi(problems, "dual")):  # ties break by number
        assert dual.lower_bound <= best + 1e-9
        assert dual.objective >= best - 1e-9


@pytest.mark.parametrize("kind", SET_KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_larger_sets_are_consistent(seed: int, kind: str) -> None:
    problems = draw_set(seed + 300, kind, (5, 6, 4, 6, 5))
    best, sync, dual = (gm.solve_multi(problems, method) for method in ("best", "sync", "dual"))
    for result in (best, sync, dual):
        check(problems, result)
    assert best.objective <= dual.objective + 1e-9
    assert dual.objective <= sync.objective
    bounds = sum(gm.solve(problem).lower_bound for problem in problems.values())
    for result in (best, dual):
        assert result.lower_bound >= bounds - 1e-9 * abs(bounds)


@pytest.mark.parametrize("kind", SET_KINDS)
def test_two_graphs_are_solved_as_one_problem(kind: str) -> None:
    for seed in range(10):
        problem = draw_set(seed + 400, kind if kind != "missing pairs" else "normal", (6, 5))[0, 1]
        single = gm.solve(problem)
        for method in ("best", "sync"):
            result = gm.solve_multi({(3, 7): problem}, method)
            check({(3, 7): problem}, result)
            assert np.array_equal(result.matchings[3, 7], single.assignment)
            assert result[3:] == (single.objective, single.lower_bound, single.optimal, single.stop_reason)
