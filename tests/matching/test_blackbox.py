"""The solver layer: brute force, and its gradient against difference quotients of the interpolated loss."""

from functools import cache, partial
from itertools import permutations

import numpy as np
import pytest
import torch

from bbgm.config import SOLVERS
from bbgm.graphs.delaunay import delaunay_graph
from bbgm.matching.blackbox import hamming_gradient, interpolated_loss, match_graphs
from bbgm.matching.solvers import Instance, compiled_solver, make_solver
from bbgm.methods.losses import hamming_loss


def random_instance(rng, n1=5, n2=5, scale=1.0):
    """Costs of both signs on two Delaunay graphs."""
    edges1, edges2 = (delaunay_graph(rng.uniform(0, 256, (n, 2))).edges for n in (n1, n2))
    return Instance(
        scale * rng.normal(-0.5, 1, (n1, n2)), 0.5 * scale * rng.normal(size=(len(edges1), len(edges2))), edges1, edges2
    )


@cache
def all_matchings(n1, n2):
    """Every partial matching, as assignments (M, n1) and as indicators (M, n1, n2)."""
    choices = {tuple(j if j < n2 else -1 for j in choice) for choice in permutations(range(n2 + n1), n1)}
    assignments = np.array(sorted(choices), dtype=np.int32).reshape(len(choices), n1)
    return assignments, (assignments[:, :, None] == np.arange(n2)).astype(float)


def enumerate_solver(instances, full=False):
    """A solver by brute force: what a developer may put in the place of ours."""
    result = []
    for x in instances:
        assignments, v = all_matchings(*x.unary.shape)
        if full:
            largest = (assignments >= 0).sum(axis=1) == min(x.unary.shape)
            assignments, v = assignments[largest], v[largest]
        (i, i2), (j, j2) = x.edges1.T, x.edges2.T
        e = v[:, i[:, None], j] * v[:, i2[:, None], j2]
        costs = np.tensordot(v, x.unary, 2) + np.tensordot(e, x.quadratic, 2)
        result.append(assignments[np.argmin(costs)])
    return result


def random_truth(rng, n1, n2):
    truth = np.zeros((n1, n2), dtype=bool)
    k = int(rng.integers(min(n1, n2) + 1))
    truth[rng.permutation(n1)[:k], rng.permutation(n2)[:k]] = True
    return truth


def layer(instances, lambda_, method="best", dtype=torch.float64):
    unary = [torch.tensor(x.unary, dtype=dtype, requires_grad=True) for x in instances]
    quadratic = [torch.tensor(x.quadratic, dtype=dtype, requires_grad=True) for x in instances]
    edges1, edges2 = [x.edges1 for x in instances], [x.edges2 for x in instances]
    v, e = match_graphs(unary, quadratic, edges1, edges2, lambda_=lambda_, method=method)
    return unary, quadratic, v, e


def test_edge_indicator_marks_the_pairs_of_edges_whose_ends_are_matched():
    rng = np.random.default_rng(0)
    x = random_instance(rng, 5, 6)
    assignment = np.array([3, -1, 0, 5, 1])
    v, e = x.solution(assignment)
    assert v.sum() == 4
    for a, (i, i2) in enumerate(x.edges1):
        for b, (j, j2) in enumerate(x.edges2):
            assert e[a, b] == (assignment[i] == j and assignment[i2] == j2)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("n1", "n2"), [(3, 3), (4, 2), (2, 4), (1, 1), (1, 3)])
def test_forward_is_the_cheapest_matching(n1, n2, full):
    """Of all, or with ``full`` of those that leave no node of the smaller graph out, though matches may cost."""
    rng = np.random.default_rng([1, n1, n2])
    instances = [random_instance(rng, n1, n2) for _ in range(10)]
    _, _, v, e = layer(instances, 1.0, make_solver("best", full))
    if full:
        assert all(part.sum() == min(n1, n2) for part in v)
    for x, found_v, found_e, best in zip(instances, v, e, enumerate_solver(instances, full), strict=True):
        assert x.cost((found_v.detach().numpy(), found_e.detach().numpy())) == pytest.approx(x.cost(x.solution(best)))


def test_backward_is_algorithm_1():
    rng = np.random.default_rng(2)
    instances = [random_instance(rng, 4, 3) for _ in range(20)]
    unary, quadratic, v, e = layer(instances, 3.0)
    weight_v = [torch.from_numpy(rng.normal(size=part.shape)) for part in v]
    weight_e = [torch.from_numpy(rng.normal(size=part.shape)) for part in e]
    sum((a * b).sum() for a, b in zip([*v, *e], [*weight_v, *weight_e], strict=True)).backward()
    for b, x in enumerate(instances):
        y = x.solution(enumerate_solver([x])[0])
        moved = x.plus((weight_v[b].numpy(), weight_e[b].numpy()), 3.0)
        y_lambda = moved.solution(enumerate_solver([moved])[0])
        np.testing.assert_allclose(unary[b].grad.numpy(), (y_lambda[0] - y[0]) / 3.0)
        np.testing.assert_allclose(quadratic[b].grad.numpy(), (y_lambda[1] - y[1]) / 3.0)


def test_quadratic_costs_get_a_gradient_though_the_loss_sees_vertices_only():
    rng = np.random.default_rng(3)
    x = random_instance(rng, 5, 5)
    _, quadratic, v, _ = layer([x], 80.0)
    hamming_loss(v, [torch.eye(5)]).backward()
    assert quadratic[0].grad.abs().sum() > 0


def proved_solver(instances, full=False):
    """Our solver; each of its matchings is checked to be optimal, by enumeration."""
    assignments = compiled_solver("best", full=full)(instances)
    for x, found, best in zip(instances, assignments, enumerate_solver(instances, full), strict=True):
        assert x.cost(x.solution(found)) == pytest.approx(x.cost(x.solution(best)), abs=1e-9)
    return assignments


def gradient_and_quotient(rng, batch, lambda_, full=False):
    """Directional derivatives of a batch: from the layer, and from f_lambda; NaN where f_lambda has a kink nearby.

    f_lambda is linear around w if both minima stay what they are: then its slopes on both sides agree.
    """
    instances = [random_instance(rng, 4, 3 + b % 3) for b in range(batch)]
    truths = [random_truth(rng, *x.unary.shape) for x in instances]
    solver = partial(proved_solver, full=full)
    unary, quadratic, v, _ = layer(instances, lambda_, solver)
    hamming_loss(v, [torch.from_numpy(truth) for truth in truths]).backward()

    directions = [(rng.normal(size=x.unary.shape), rng.normal(size=x.quadratic.shape)) for x in instances]
    slopes = [
        float((u.grad.numpy() * du).sum() + (q.grad.numpy() * dq).sum())
        for u, q, (du, dq) in zip(unary, quadratic, directions, strict=True)
    ]
    gradients, constants = zip(
        *(hamming_gradient(t, x, batch) for t, x in zip(truths, instances, strict=True)), strict=True
    )
    step = 1e-5
    ahead, here, behind = (
        interpolated_loss(
            [x.plus(d, sign * step) for x, d in zip(instances, directions, strict=True)],
            gradients, constants, lambda_, solver,
        )
        for sign in (1, 0, -1)
    )  # fmt: skip
    right, left = (ahead - here) / step, (here - behind) / step
    quotients = np.where(np.abs(right - left) < 1e-7, right, np.nan)
    return list(zip(slopes, quotients, strict=True))


def test_gradient_equals_difference_quotients_of_the_interpolation():
    """100 random instances and directions, proved optimal; the loss is a mean over a batch, as in training."""
    rng = np.random.default_rng(4)
    pairs = [pair for k in range(11) for pair in gradient_and_quotient(rng, 10, (5.0, 20.0, 80.0)[k % 3])]
    checked = [(slope, quotient) for slope, quotient in pairs if np.isfinite(quotient)]
    assert len(checked) >= 100  # kinks are rare
    slopes, quotients = np.array(checked).T
    np.testing.assert_allclose(slopes, quotients, atol=1e-6, rtol=0)
    assert np.count_nonzero(slopes) > 60


def test_gradient_of_the_full_solver_is_that_of_its_own_interpolation():
    """Both solves leave no node of the smaller graph out: the gradient moves as many matches in as out."""
    rng = np.random.default_rng(12)
    pairs = [pair for k in range(4) for pair in gradient_and_quotient(rng, 10, (5.0, 20.0)[k % 2], full=True)]
    slopes, quotients = np.array([pair for pair in pairs if np.isfinite(pair[1])]).T
    assert len(slopes) >= 36
    np.testing.assert_allclose(slopes, quotients, atol=1e-6, rtol=0)
    assert np.count_nonzero(slopes) > 12
    x = random_instance(rng, 5, 4)
    unary, _, v, _ = layer([x], 20.0, make_solver("best", full=True))
    hamming_loss(v, [torch.zeros(5, 4)]).backward()  # the loss would have fewer matches
    assert float(unary[0].grad.sum()) == 0


def test_interpolation_has_the_loss_as_its_limit_and_bounds_it():
    rng = np.random.default_rng(5)
    instances = [random_instance(rng, 4, 4) for _ in range(20)]
    truths = [random_truth(rng, 4, 4) for _ in instances]
    gradients, constants = zip(*(hamming_gradient(t, x) for t, x in zip(truths, instances, strict=True)), strict=True)
    loss = [
        float(hamming_loss([torch.from_numpy(x.solution(a)[0])], [torch.from_numpy(t)]))
        for x, a, t in zip(instances, enumerate_solver(instances), truths, strict=True)
    ]
    previous = np.array(loss)
    np.testing.assert_allclose(interpolated_loss(instances, gradients, constants, 1e-9), previous, atol=1e-6)
    for lambda_ in (0.1, 1.0, 10.0, 100.0):
        value = interpolated_loss(instances, gradients, constants, lambda_)
        assert (value <= previous + 1e-12).all()  # it sinks as lambda grows, and never below 0, where L is
        assert (value >= -1e-12).all()
        previous = value


def test_an_instance_with_zero_gradient_is_not_solved_again():
    rng = np.random.default_rng(6)
    instances = [random_instance(rng) for _ in range(4)]
    solver = make_solver("best")
    unary, quadratic, v, _ = layer(instances, 10.0, solver)
    assert solver.instances == 4
    hamming_loss(v[:2], [torch.eye(5), torch.eye(5)]).backward()
    assert solver.instances == 6
    assert solver.seconds > 0
    assert all(float(part.grad.abs().sum()) == 0 for part in (*unary[2:], *quadratic[2:]))


def test_lambda_acts_on_the_mean_over_the_batch():
    """Eight pairs at lambda = 80 move like one pair at lambda = 10, and their gradients are an eighth of its."""
    rng = np.random.default_rng(7)
    x = random_instance(rng)
    truth = torch.eye(5)
    unary8, _, v8, _ = layer([x] * 8, 80.0)
    hamming_loss(v8, [truth] * 8).backward()
    unary1, _, v1, _ = layer([x], 10.0)
    hamming_loss(v1, [truth]).backward()
    for u in unary8:
        torch.testing.assert_close(8 * u.grad, unary1[0].grad)


def test_a_pair_without_edges_and_an_empty_one():
    none = np.zeros((0, 2), dtype=np.int64)
    instances = [
        Instance(np.array([[-1.0]]), np.zeros((0, 0)), none, none),
        Instance(np.zeros((0, 3)), np.zeros((0, 0)), none, none),
    ]
    unary, _, v, e = layer(instances, 10.0)
    hamming_loss(v, [torch.zeros(1, 1), torch.zeros(0, 3)]).backward()
    assert v[0].tolist() == [[1.0]]
    assert v[1].shape == (0, 3)
    assert e[0].shape == (0, 0)
    assert unary[0].grad.tolist() == [[-0.1]]


def test_another_solver_can_take_its_place(monkeypatch):
    rng = np.random.default_rng(8)
    instances = [random_instance(rng, 3, 3) for _ in range(5)]
    monkeypatch.setitem(SOLVERS._parts, "enumeration", lambda full: enumerate_solver)
    ours, theirs = layer(instances, 1.0, "exact"), layer(instances, 1.0, "enumeration")
    assert all(torch.equal(a, b) for a, b in zip(ours[2], theirs[2], strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_indicators_have_the_type_of_the_costs(dtype):
    unary, _, v, e = layer([random_instance(np.random.default_rng(9))], 1.0, dtype=dtype)
    v[0].sum().backward()
    assert v[0].dtype == e[0].dtype == unary[0].grad.dtype == dtype


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lambda_": 0.0}, "lambda must be positive, not 0"),
        ({"lambda_": 1.0, "method": "fastest"}, r"'fastest' is not one of \['best', 'dual', 'exact'\]"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    x = random_instance(np.random.default_rng(10))
    parts = [torch.tensor(x.unary)], [torch.tensor(x.quadratic)], [x.edges1], [x.edges2]
    with pytest.raises(ValueError, match=message):
        match_graphs(*parts, **arguments)
    with pytest.raises(ValueError, match=r"not \[1, 1, 1, 0\]"):
        match_graphs(*parts[:3], [], lambda_=1.0)


def test_costs_of_a_network_that_diverged():
    solve = compiled_solver("best")
    edges = np.zeros((0, 2), dtype=np.int64)
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN or infinite: the network has diverged.*optimiser\.learning_rate"):
            solve([Instance(np.full((2, 2), wrong), np.zeros((0, 0)), edges, edges)])
    with pytest.raises(ValueError, match=r"unary\[0, 0\] is 1e\+200"):
        solve([Instance(np.full((2, 2), 1e200), np.zeros((0, 0)), edges, edges)])


def test_compiled_solver_does_not_depend_on_threads():
    rng = np.random.default_rng(11)
    instances = [random_instance(rng, 7, 8) for _ in range(30)]
    one, two = (compiled_solver("best", threads=threads)(instances) for threads in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
