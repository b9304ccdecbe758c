"""The instance: one conversion to arrays, one to the solver, and the indicators of a matching."""

import bbgm_solver as gm
import numpy as np
import pytest
import torch

from bbgm.matching.instance import Instance
from bbgm.matching.synthetic import random_instance
from tests.support.draws import draw_instance, with_gradients
from tests.support.enumeration import cheapest, enumerate_solver, smallest_cost


def test_it_is_made_by_keywords_only() -> None:
    x = draw_instance(np.random.default_rng(0))
    with pytest.raises(TypeError):
        Instance(x.unary, x.edges1, x.edges2, x.quadratic)  # type: ignore[call-arg]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_costs_of_a_network_are_the_same_in_double_precision(dtype: torch.dtype) -> None:
    x = draw_instance(np.random.default_rng(1), 4, 6)
    tensors = with_gradients(x, dtype)
    arrays = tensors.numpy()
    for costs, given, drawn in zip(
        (arrays.unary, arrays.quadratic), (tensors.unary, tensors.quadratic), (x.unary, x.quadratic), strict=True
    ):
        assert costs.dtype == np.float64
        np.testing.assert_array_equal(costs, given.tolist())
        np.testing.assert_allclose(costs, drawn, rtol=1e-6)
    assert arrays.edges1 is x.edges1
    assert arrays.edges2 is x.edges2


@pytest.mark.parametrize("seed", range(5))
def test_the_problem_has_the_same_costs_and_so_the_same_solution(seed: int) -> None:
    """The graphs differ in size, so arguments in the wrong order would be refused or give another optimum."""
    x = draw_instance(np.random.default_rng(seed), 3, 5)
    for problem in (x.problem(), with_gradients(x).problem()):
        assert (problem.n1, problem.n2) == (3, 5)
        result = gm.solve(problem, "exact")
        assert result.objective == pytest.approx(smallest_cost(x))
        assert np.array_equal(result.assignment, cheapest(x))
        for y in enumerate_solver([x, x.plus((np.ones((3, 5)), np.ones(x.quadratic.shape)), 0.3)]):
            assert gm.evaluate(problem, y) == pytest.approx(x.cost(x.solution(y)))


def test_edge_indicator_marks_the_pairs_of_edges_whose_ends_are_matched() -> None:
    rng = np.random.default_rng(0)
    x = draw_instance(rng, 5, 6)
    assignment = np.array([3, -1, 0, 5, 1])
    v, e = x.solution(assignment)
    assert v.sum() == 4
    for a, (i, i2) in enumerate(x.edges1):
        for b, (j, j2) in enumerate(x.edges2):
            assert e[a, b] == (assignment[i] == j and assignment[i2] == j2)


def test_a_linear_instance_has_no_edges() -> None:
    unary = np.array([[-1.0, 2.0], [0.5, -3.0]])
    x, tensors = Instance.linear(unary), Instance.linear(torch.from_numpy(unary))
    assert x.edges1.shape == x.edges2.shape == (0, 2)
    assert isinstance(tensors.quadratic, torch.Tensor)
    assert x.quadratic.shape == tuple(tensors.quadratic.shape) == (0, 0)
    assert gm.solve(x.problem()).objective == gm.solve(tensors.problem()).objective == -4.0


def test_without_edges_a_matching_costs_what_its_vertices_cost() -> None:
    instance = random_instance(4, 4, 0)
    assignment = np.array([2, -1, 0, 3])
    alone = instance.without_edges()
    assert gm.evaluate(alone.problem(), assignment) == pytest.approx(sum(instance.unary[[0, 2, 3], [2, 0, 3]]))
    assert gm.evaluate(instance.problem(), assignment) != gm.evaluate(alone.problem(), assignment)


@pytest.mark.parametrize("shape", [(4,), (1, 2, 2)])
def test_unary_costs_that_are_no_matrix_are_named(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"unary has shape \(.*\), expected \(n1, n2\)"):
        Instance.linear(np.zeros(shape))
    with pytest.raises(ValueError, match=r"unary has shape \(.*\), expected \(n1, n2\)"):
        Instance.linear(torch.zeros(shape))


def test_quadratic_costs_that_do_not_fit_the_edges_are_named() -> None:
    edges = np.array([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"quadratic has shape \(2, 3\), expected \(2, 2\)"):
        Instance(unary=np.zeros((2, 2)), edges1=edges, edges2=edges, quadratic=np.zeros((2, 3)))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_costs_of_a_network_that_diverged_say_what_to_do(wrong: float) -> None:
    for instance in (Instance.linear(np.full((2, 2), wrong)), Instance.linear(torch.full((2, 2), wrong)).numpy()):
        with pytest.raises(ValueError, match=r"NaN or infinite: the network has diverged.*optimiser\.learning_rate"):
            instance.problem()


def test_other_costs_that_the_solver_refuses_keep_its_message() -> None:
    with pytest.raises(ValueError, match=r"unary\[0, 0\] is 1e\+200"):
        Instance.linear(np.full((2, 2), 1e200)).problem()
