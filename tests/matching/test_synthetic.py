"""Instances without a network: what they hold, and that the planted ones are easy."""

from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pytest

from bbgm.data.sampling.pairs import KeypointPair
from bbgm.matching.synthetic import geometric_instance, random_instance, sparse_problem
from tests.support.images import grey_image


@pytest.fixture
def pair(tmp_path: Path) -> KeypointPair:
    """The same seven keypoints twice, the second time moved by 40 px, both in an order of their own."""
    generator = np.random.default_rng(0)
    xy = generator.uniform(20, 180, (7, 2))
    source, target = (grey_image(tmp_path, f"{move}", xy + move) for move in (0, 40))
    return KeypointPair(source, target, generator.permutation(7), generator.permutation(7))


def test_geometric_costs_are_the_formula(pair: KeypointPair) -> None:
    instance = geometric_instance(pair, scale=0.25)
    p, q = pair.source.xy[pair.kept1] / 256, pair.target.xy[pair.kept2] / 256
    assert instance.unary[2, 5] == pytest.approx(np.hypot(*(p[2] - q[5])) / 0.25 - 1)
    (i, k), (j, m) = instance.edges1[3], instance.edges2[8]
    length = np.hypot(*((p[k] - p[i]) - (q[m] - q[j])))
    assert instance.quadratic[3, 8] == pytest.approx(-0.5 * np.exp(-length / 0.25))
    assert instance.quadratic.min() == pytest.approx(-0.5), "a moved edge is the same edge"
    with pytest.raises(ValueError, match="scale is 0"):
        geometric_instance(pair, scale=0)


def test_the_solver_finds_the_keypoints_that_were_moved(pair: KeypointPair) -> None:
    assert np.array_equal(gm.solve(geometric_instance(pair).problem()).assignment, pair.truth)


def test_planted_instances_are_easy_and_random_ones_are_not() -> None:
    sizes = [(8, 8), (10, 14), (14, 10), (15, 15)]
    planted = [random_instance(*size, seed, planted=True) for size in sizes for seed in range(5)]
    results = gm.solve_batch([x.problem() for x in planted])
    truths = [
        np.where(np.arange(x.unary.shape[0]) < x.unary.shape[1], np.arange(x.unary.shape[0]), -1) for x in planted
    ]
    assert np.mean([r.optimal for r in results]) >= 0.9
    assert np.mean([np.mean(r.assignment == truth) for r, truth in zip(results, truths, strict=True)]) > 0.9

    noise = [random_instance(10, 10, seed).problem() for seed in range(10)]
    assert sum(result.optimal for result in gm.solve_batch(noise, "dual")) <= 2


def test_random_costs_have_the_stated_deviations_and_edges_both_directions() -> None:
    instance = random_instance(23, 23, 0)
    assert instance.unary.std() == pytest.approx(1.0, abs=0.1)
    assert instance.quadratic.std() == pytest.approx(0.5, abs=0.02)
    edges = {tuple(edge) for edge in instance.edges1.tolist()}
    assert all((k, i) in edges for i, k in edges), "an edge without its opposite"


def test_the_same_seed_gives_the_same_instance() -> None:
    first, second, other = (random_instance(6, 7, seed, planted=True) for seed in (3, 3, 4))
    assert np.array_equal(first.quadratic, second.quadratic)
    assert not np.array_equal(first.unary, other.unary)


@pytest.mark.parametrize("planted", [False, True])
def test_graphs_of_no_or_few_nodes_are_solved(planted: bool) -> None:
    for size in ((0, 0), (0, 3), (1, 2), (2, 2)):
        assert gm.solve(random_instance(*size, 0, planted=planted).problem()).optimal
    with pytest.raises(ValueError, match="must not be negative"):
        random_instance(-1, 2, 0)


def test_a_sparse_problem_has_the_nearest_candidates_and_terms_of_edges_only() -> None:
    problem = sparse_problem(40, 6, 3)
    assert (problem.n1, problem.n2) == (40, 40)
    assert np.bincount(problem.assignments[:, 0]).tolist() == [6] * 40
    a, b = problem.assignments[problem.terms.T]
    assert (a[:, 0] != b[:, 0]).all()
    assert (a[:, 1] != b[:, 1]).all()
    # Both graphs are planar: at most 3 n - 6 edges each, which the ends of terms are.
    for side in (0, 1):
        ends = np.sort(np.stack([a[:, side], b[:, side]], axis=1), axis=1)
        assert len(np.unique(ends, axis=0)) <= 3 * 40 - 6
    same = sparse_problem(40, 6, 3)
    assert np.array_equal(same.costs, problem.costs)
    assert np.array_equal(same.term_costs, problem.term_costs)
    found = gm.solve(problem)
    assert found.optimal
    assert (found.assignment == np.arange(40)).mean() > 0.9


@pytest.mark.parametrize("candidates", [0, 5])
def test_candidates_out_of_range_are_refused(candidates: int) -> None:
    with pytest.raises(ValueError, match=f"{candidates} candidates for each of 4 nodes: expected 1 to 4"):
        sparse_problem(4, candidates, 0)
