"""solve_multi: arguments, real and planted sets of graphs, files, threads, memory."""

import itertools
import json
from pathlib import Path
from typing import Any

import bbgm_solver as gm
import numpy as np
import pytest
from scipy.spatial import Delaunay
from support.problems import Problems, linear, node_counts, random_problem
from support.problems import same as same_problem


def planted(seed: int, d: int = 5) -> Problems:
    """d noisy views of 8 to 23 points, Delaunay edges, some points dropped; true matches are favoured, more or less."""
    rng = np.random.default_rng([77, seed])
    n = int(rng.integers(8, 24))
    points = rng.random((n, 2))
    noise = float(rng.choice([0.3, 0.6, 1.0]))
    views = []
    for _ in range(d):
        keep = rng.random(n) < 0.85
        keep[:4] |= keep.sum() < 4
        names = rng.permutation(np.flatnonzero(keep))
        triangles = Delaunay(points[names] + 0.03 * rng.normal(size=(len(names), 2))).simplices
        edges = {(int(a), int(b)) for triangle in triangles for a, b in itertools.permutations(triangle, 2)}
        views.append((names, np.array(sorted(edges))))
    problems = {}
    for p, q in itertools.combinations(range(d), 2):
        (names1, edges1), (names2, edges2) = views[p], views[q]
        true = names1[:, None] == names2[None]
        true_edge = true[edges1[:, 0][:, None], edges2[:, 0]] & true[edges1[:, 1][:, None], edges2[:, 1]]
        unary = noise * rng.normal(size=true.shape) + np.where(true, -1, 0.3)
        quadratic = 0.5 * noise * rng.normal(size=true_edge.shape) + np.where(true_edge, -0.5, 0)
        problems[p, q] = gm.Problem(unary, edges1, edges2, quadratic)
    return problems


def pairwise_then_consistent(problems: Problems) -> float:
    """Cost of the pairs' own optimal matchings after a match is dropped where it would join two nodes of a graph."""
    objects = {(g, i): {g: i} for g, n in node_counts(problems).items() for i in range(n)}
    for (p, q), problem in problems.items():
        for i, j in enumerate(gm.solve(problem).assignment.tolist()):
            if j < 0 or objects[p, i].keys() & objects[q, j].keys():
                continue
            joined = objects[p, i] | objects[q, j]
            objects |= dict.fromkeys(joined.items(), joined)
    values = []
    for (p, q), problem in problems.items():
        match = [objects[p, i].get(q, -1) for i in range(problem.n1)]
        values.append(gm.evaluate(problem, match))
    return sum(values)


def assert_consistent(problems: Problems, result: gm.MultiResult) -> None:
    graphs = sorted(node_counts(problems))
    for p, q, r in itertools.combinations(graphs, 3):
        for i, j in enumerate(result.matchings[p, q]):
            k, direct = result.matchings[q, r][j] if j >= 0 else -1, result.matchings[p, r][i]
            assert j < 0 or k < 0 or k == direct
            assert j < 0 or direct < 0 or k == direct
        reached = {k: i for i, k in enumerate(result.matchings[p, r]) if k >= 0}
        for j, k in enumerate(result.matchings[q, r]):
            assert k < 0 or k not in reached or result.matchings[p, q][reached[k]] == j
    total = sum(gm.evaluate(problem, result.matchings[key]) for key, problem in sorted(problems.items()))
    assert result.objective == pytest.approx(total, rel=1e-12, abs=1e-12)


def same(first: gm.MultiResult, second: gm.MultiResult) -> bool:
    return np.array_equal(first.cliques, second.cliques) and first[3:] == second[3:]


def test_planted_sets() -> None:
    proofs = closer = raised = 0
    for seed in range(100):
        problems = planted(seed)
        best, sync, dual = (gm.solve_multi(problems, method) for method in ("best", "sync", "dual"))
        for result in (best, sync, dual):
            assert_consistent(problems, result)
            assert result.lower_bound <= result.objective <= 0
        assert best.objective <= dual.objective <= sync.objective
        assert dual.lower_bound >= sync.lower_bound
        assert dual.stop_reason == ("optimal" if dual.optimal else "iteration limit")
        closer += dual.objective < sync.objective - 1e-6
        raised += dual.lower_bound > sync.lower_bound + 1e-6
        assert best.objective <= pairwise_then_consistent(problems) + 1e-9
        assert best.lower_bound >= sync.lower_bound
        assert best.stop_reason == ("optimal" if best.optimal else "work limit")
        assert sync.stop_reason == "synchronised"
        proofs += best.optimal
    assert proofs >= 60
    assert closer >= 20
    assert raised >= 10


def test_the_best_known_values_are_reached(instances_folder: Path) -> None:
    best = json.loads((instances_folder / "best_known.json").read_text())
    paths = sorted((instances_folder / "multigraph").glob("*.dd"))
    assert paths
    proofs = 0
    for path in paths:
        problems = gm.read_dd(path)
        assert isinstance(problems, dict)
        result = gm.solve_multi(problems, threads=1)
        value = best[f"multigraph/{path.name}"]["best"]
        assert result.objective <= value + 1e-9 * abs(value), path.name
        assert result.lower_bound <= value + 1e-9 * abs(value), path.name
        assert_consistent(problems, result)
        assert same(result, gm.solve_multi(problems, threads=2)), path.name
        sync, dual = gm.solve_multi(problems, "sync"), gm.solve_multi(problems, "dual", threads=1)
        for other in (sync, dual):
            assert_consistent(problems, other)
        assert result.objective <= dual.objective <= sync.objective <= 0, path.name
        assert sync.lower_bound <= dual.lower_bound <= value + 1e-9 * abs(value), path.name
        assert same(dual, gm.solve_multi(problems, "dual", threads=2)), path.name
        proofs += result.optimal
    assert proofs >= 4


def test_threads_earlier_calls_and_order_of_the_keys_do_not_matter() -> None:
    problems = planted(3)
    first = gm.solve_multi(problems, threads=1)
    dual = gm.solve_multi(problems, "dual", threads=1)
    gm.solve_multi(planted(4))
    for threads in (0, 2, 3):
        assert same(first, gm.solve_multi(dict(reversed(problems.items())), threads=threads))
        assert same(dual, gm.solve_multi(dict(reversed(problems.items())), "dual", threads=threads))
    assert gm.solve_multi(problems, seed=1).objective == pytest.approx(first.objective, rel=1e-9)


def test_files_of_several_graphs_keep_every_bit(tmp_path: Path) -> None:
    problems = {(2 * p + 1, 3 * q): problem for (p, q), problem in planted(1, 3).items()}
    for name in ("set.dd", "set.dd.xz"):
        gm.write_dd(tmp_path / name, problems)
        read = gm.read_dd(tmp_path / name)
        assert isinstance(read, dict)
        assert list(read) == list(problems)
        for key, problem in problems.items():
            assert same_problem(read[key], problem)


def test_graphs_without_nodes_and_of_different_sizes() -> None:
    rng = np.random.default_rng(0)
    problems = {key: random_problem(rng, *n) for key, n in {(0, 1): (0, 3), (0, 2): (0, 1), (1, 2): (3, 1)}.items()}
    result = gm.solve_multi(problems)
    assert result.matchings[0, 1].shape == (0,)
    assert result.objective == pytest.approx(gm.solve(problems[1, 2]).objective)
    assert result.optimal
    nothing = gm.solve_multi({(0, 1): random_problem(rng, 0, 0), (1, 2): random_problem(rng, 0, 0)})
    assert nothing.cliques.shape == (0, 3)
    assert nothing.objective == nothing.lower_bound == 0


def test_a_missing_pair_follows_from_the_others() -> None:
    one = gm.Problem(np.array([[-1.0, 0.5], [0.5, -1.0]]), [], [], np.zeros((0, 0)))
    turned = gm.Problem(np.array([[0.5, -1.0], [-1.0, 0.5]]), [], [], np.zeros((0, 0)))
    for method in gm.MULTI_METHODS:
        result = gm.solve_multi({(4, 8): one, (8, 9): turned}, method)
        assert result.graphs == (4, 8, 9)
        assert result.matchings[4, 9].tolist() == [1, 0]
        assert result.cliques.tolist() == [[0, 0, 1], [1, 1, 0]]
        assert result.objective == -4
        assert result.optimal


def test_a_forbidden_match_keeps_nodes_apart() -> None:
    node = gm.Problem(np.array([[-1.0]]), [], [], np.zeros((0, 0)))
    never = gm.Problem(np.array([[-9.0]]), [], [], np.zeros((0, 0)), allowed=np.array([[False]]))
    for method in ("best", "dual"):
        result = gm.solve_multi({(0, 1): node, (1, 2): node, (0, 2): never}, method)
        assert result.objective == -1
        assert result.optimal
        assert result.matchings[0, 2].tolist() == [-1]


def problem_of(n1: int, n2: int) -> gm.Problem:
    return linear(-np.ones((n1, n2)))


@pytest.mark.parametrize(
    ("problems", "error", "message"),
    [
        ({}, ValueError, "problems is empty"),
        ([problem_of(1, 1)], TypeError, "problems is a list, expected a dict"),
        (
            {(0, 1): problem_of(1, 2), (1, 2): problem_of(3, 1)},
            ValueError,
            r"graph 1 has 2 .* \(0, 1\), .* 3 .* \(1, 2\)",
        ),
        ({(1, 0): problem_of(1, 1)}, ValueError, r"\(1, 0\) .* p > q; give it as \(0, 1\)"),
        ({(1, 1): problem_of(1, 1)}, ValueError, r"\(1, 1\) .* matches a graph to itself"),
        ({(0, 1.5): problem_of(1, 1)}, TypeError, r"\(0, 1\.5\) .* not a pair"),
        ({(0, True): problem_of(1, 1)}, TypeError, r"\(0, True\) .* not a pair"),
        ({(-1, 1): problem_of(1, 1)}, TypeError, r"\(-1, 1\) .* not a pair"),
        ({3: problem_of(1, 1)}, TypeError, r"key 3 .* not a pair"),
        ({(0, 1): "problem"}, TypeError, r"problem \(0, 1\) is a str"),
    ],
)
def test_wrong_problems_are_named(problems: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gm.solve_multi(problems)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "exact"}, ValueError, r"method 'exact' is not one of \['best', 'sync', 'dual'\]"),
        ({"method": "dual", "max_iterations": -1}, ValueError, "max_iterations is -1"),
        ({"method": "dual", "round_every": 0}, ValueError, "round_every is 0"),
        ({"effort": "none"}, ValueError, "effort 'none' is not one of"),
        ({"starts": -1}, ValueError, "starts is -1"),
        ({"seed": 0.5}, TypeError, "seed is 0.5"),
        ({"threads": -1}, ValueError, "threads is -1"),
        ({"tolerance": 2}, ValueError, "tolerance is 2"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gm.solve_multi({(0, 1): problem_of(1, 1), (1, 2): problem_of(1, 1)}, **options)


def test_memory_is_given_back() -> None:
    def pages() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    if not Path("/proc/self/statm").exists():
        pytest.skip("memory in use: /proc is missing")
    problems = planted(0, 3)
    for _ in range(20):
        gm.solve_multi(problems, effort="fast")
    before = pages()
    for _ in range(200):
        gm.solve_multi(problems, effort="fast")
    assert pages() - before < 1024  # 4 MiB
