"""Matching of several graphs, against all consistent matchings of small sets, and what holds for any result."""

import itertools
from collections.abc import Iterator

import bbgm_solver as gm
import numpy as np
import pytest

KINDS = ("normal", "integer", "nearly constant", "sparse", "missing pairs", "unmatched")
Problems = dict[tuple[int, int], gm.Problem]


def draw(seed: int, kind: str, sizes: tuple[int, ...]) -> Problems:
    """Random problems on all pairs of graphs, or on some."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    edges = []
    for n in sizes:
        density = rng.choice([0.4, 1.0])
        chosen = [pair for pair in itertools.permutations(range(n), 2) if rng.random() < density]
        edges.append(np.array(chosen, dtype=np.int64).reshape(-1, 2))

    def costs(*shape: int) -> np.ndarray:
        if kind == "integer":
            return rng.integers(-2, 3, size=shape).astype(float)
        if kind == "nearly constant":
            return -0.2 + 1e-3 * rng.normal(size=shape)
        return rng.normal(size=shape)

    problems = {}
    for p, q in itertools.combinations(range(len(sizes)), 2):
        unary, quadratic = costs(sizes[p], sizes[q]), costs(len(edges[p]), len(edges[q]))
        allowed = rng.random(unary.shape) < (0.6 if kind == "sparse" else 1.0)
        pay = {"unmatched1": costs(sizes[p]), "unmatched2": costs(sizes[q])} if kind == "unmatched" else {}
        problems[p, q] = gm.Problem(unary, edges[p], edges[q], quadratic, allowed=allowed, **pay)
    if kind == "missing pairs":
        del problems[list(problems)[rng.integers(len(problems))]]
    return problems


def node_counts(problems: Problems) -> dict[int, int]:
    counts = {}
    for (p, q), problem in problems.items():
        counts |= {p: problem.n1, q: problem.n2}
    return dict(sorted(counts.items()))


def each_consistent(problems: Problems) -> Iterator[list[dict[int, int]]]:
    """Every set of objects (graph -> node), of one node too, in which no two nodes forbid each other."""
    allowed = {key: {(int(i), int(j)) for i, j in problem.assignments} for key, problem in problems.items()}
    nodes = [(graph, i) for graph, n in node_counts(problems).items() for i in range(n)]

    def place(k: int, objects: list[dict[int, int]]) -> Iterator[list[dict[int, int]]]:
        if k == len(nodes):
            yield objects
            return
        graph, i = nodes[k]
        for o, members in enumerate(objects):
            pairs = [((p, graph), (j, i)) for p, j in members.items()]
            if graph not in members and all(match in allowed[key] for key, match in pairs if key in allowed):
                yield from place(k + 1, [*objects[:o], {**members, graph: i}, *objects[o + 1 :]])
        yield from place(k + 1, [*objects, {graph: i}])

    yield from place(0, [])


def optimum(problems: Problems) -> float:
    values: dict[tuple[tuple[int, int], bytes], float] = {}
    best = np.inf
    for objects in each_consistent(problems):
        total = 0.0
        for (p, q), problem in problems.items():
            match = np.full(problem.n1, -1)
            for members in objects:
                if p in members and q in members:
                    match[members[p]] = members[q]
            key = (p, q), match.tobytes()
            if key not in values:
                values[key] = gm.evaluate(problem, match)
            total += values[key]
        best = min(best, total)
    return best


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_three_graphs_against_enumeration(seed: int, kind: str) -> None:
    rng = np.random.default_rng([seed, 5])
    problems = draw(seed, kind, tuple(int(n) for n in rng.integers(0, 4, size=3)))
    best = optimum(problems)
    for method, effort in (("best", "default"), ("best", "fast"), ("best", "thorough"), ("sync", "default")):
        result = gm.solve_multi(problems, method, effort=effort)
        check(problems, result)
        assert result.lower_bound <= best + 1e-8
        assert result.objective >= best - 1e-9
        assert not result.optimal or result.objective == pytest.approx(best, abs=1e-8)
        if method == "best":
            assert result.objective == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_four_graphs_against_enumeration(seed: int, kind: str) -> None:
    problems = draw(seed + 100, kind, (2, 3, 2, 2))
    result = gm.solve_multi(problems)
    check(problems, result)
    best = optimum(problems)
    assert result.objective == pytest.approx(best, abs=1e-9)
    assert result.lower_bound <= best + 1e-8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_graphs_and_nodes_do_not_matter(seed: int, kind: str) -> None:
    sizes = (2, 3, 3)
    problems = draw(seed + 200, kind, sizes)
    rng = np.random.default_rng(seed)
    names = [int(name) for name in rng.choice(50, size=3, replace=False)]
    orders = [rng.permutation(n) for n in sizes]
    renamed = {}
    for (p, q), problem in problems.items():
        nodes = np.stack([orders[p][problem.assignments[:, 0]], orders[q][problem.assignments[:, 1]]], axis=1)
        pay = [problem.unmatched1[np.argsort(orders[p])], problem.unmatched2[np.argsort(orders[q])]]
        counts, key = [problem.n1, problem.n2], (names[p], names[q])
        if key[0] > key[1]:
            nodes, counts, pay, key = nodes[:, ::-1], counts[::-1], pay[::-1], key[::-1]
        renamed[key] = gm.Problem.sparse(
            *counts, nodes, problem.costs, problem.terms, problem.term_costs, unmatched1=pay[0], unmatched2=pay[1]
        )
    result = gm.solve_multi(renamed)
    check(renamed, result)
    assert result.objective == pytest.approx(gm.solve_multi(problems).objective, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_larger_sets_are_consistent(seed: int, kind: str) -> None:
    problems = draw(seed + 300, kind, (5, 6, 4, 6, 5))
    best, sync = gm.solve_multi(problems), gm.solve_multi(problems, "sync")
    for result in (best, sync):
        check(problems, result)
    assert best.objective <= sync.objective + 1e-9
    bounds = sum(gm.solve(problem).lower_bound for problem in problems.values())
    assert best.lower_bound >= bounds - 1e-9 * abs(bounds)


@pytest.mark.parametrize("kind", KINDS)
def test_two_graphs_are_solved_as_one_problem(kind: str) -> None:
    for seed in range(10):
        problem = draw(seed + 400, kind if kind != "missing pairs" else "normal", (6, 5))[0, 1]
        single = gm.solve(problem)
        for method in ("best", "sync"):
            result = gm.solve_multi({(3, 7): problem}, method)
            check({(3, 7): problem}, result)
            assert np.array_equal(result.matchings[3, 7], single.assignment)
            assert result[3:] == (single.objective, single.lower_bound, single.optimal, single.stop_reason)
