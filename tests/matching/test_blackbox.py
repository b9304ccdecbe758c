"""The solver layer: brute force, and its gradient against difference quotients of the interpolated loss."""

from functools import partial

import numpy as np
import pytest
import torch

from bbgm.config import SOLVERS
from bbgm.matching.blackbox import hamming_gradient, interpolated_loss, match_graphs
from bbgm.matching.instance import Instance
from bbgm.matching.solvers import compiled_solver, make_solver
from bbgm.methods.losses import hamming_loss
from tests.support.draws import draw_direction, draw_instance, draw_truth, gradient, with_gradients
from tests.support.enumeration import cheapest, enumerate_solver, smallest_cost


def layer(instances, lambda_, method="best", dtype=torch.float64):
    """The inputs of the layer, and its indicators v and e."""
    inputs = [with_gradients(x, dtype) for x in instances]
    return inputs, *match_graphs(inputs, lambda_=lambda_, method=method)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("n1", "n2"), [(3, 3), (4, 2), (2, 4), (1, 1), (1, 3)])
def test_forward_is_the_cheapest_matching(n1, n2, full):
    """Of all, or with ``full`` of those that leave no node of the smaller graph out, though matches may cost."""
    rng = np.random.default_rng([1, n1, n2])
    instances = [draw_instance(rng, n1, n2) for _ in range(10)]
    _, v, e = layer(instances, 1.0, make_solver("best", full))
    if full:
        assert all(part.sum() == min(n1, n2) for part in v)
    for x, found_v, found_e in zip(instances, v, e, strict=True):
        cost = x.cost((found_v.detach().numpy(), found_e.detach().numpy()))
        assert cost == pytest.approx(smallest_cost(x, full))


def test_backward_is_algorithm_1():
    rng = np.random.default_rng(2)
    instances = [draw_instance(rng, 4, 3) for _ in range(20)]
    inputs, v, e = layer(instances, 3.0)
    weight_v = [torch.from_numpy(rng.normal(size=part.shape)) for part in v]
    weight_e = [torch.from_numpy(rng.normal(size=part.shape)) for part in e]
    sum((a * b).sum() for a, b in zip([*v, *e], [*weight_v, *weight_e], strict=True)).backward()
    for b, x in enumerate(instances):
        y = x.solution(cheapest(x))
        moved = x.plus((weight_v[b].numpy(), weight_e[b].numpy()), 3.0)
        y_lambda = moved.solution(cheapest(moved))
        np.testing.assert_allclose(gradient(inputs[b].unary), (y_lambda[0] - y[0]) / 3.0)
        np.testing.assert_allclose(gradient(inputs[b].quadratic), (y_lambda[1] - y[1]) / 3.0)


def test_quadratic_costs_get_a_gradient_though_the_loss_sees_vertices_only():
    rng = np.random.default_rng(3)
    x = draw_instance(rng, 5, 5)
    inputs, v, _ = layer([x], 80.0)
    hamming_loss(v, [torch.eye(5)]).backward()
    assert gradient(inputs[0].quadratic).any()


def proved_solver(instances, full=False):
    """Our solver; each of its matchings is checked to be optimal, by enumeration."""
    assignments = compiled_solver("best", full=full)(instances)
    for x, found in zip(instances, assignments, strict=True):
        assert x.cost(x.solution(found)) == pytest.approx(smallest_cost(x, full), abs=1e-9)
    return assignments


def gradient_and_quotient(rng, batch, lambda_, full=False):
    """Directional derivatives of a batch: from the layer, and from f_lambda; NaN where f_lambda has a kink nearby.

    f_lambda is linear around w if both minima stay what they are: then its slopes on both sides agree.
    """
    instances = [draw_instance(rng, 4, 3 + b % 3) for b in range(batch)]
    truths = [draw_truth(rng, *x.unary.shape) for x in instances]
    solver = partial(proved_solver, full=full)
    inputs, v, _ = layer(instances, lambda_, solver)
    hamming_loss(v, [torch.from_numpy(truth) for truth in truths]).backward()

    directions = [draw_direction(rng, x) for x in instances]
    slopes = [
        float((gradient(x.unary) * dv).sum() + (gradient(x.quadratic) * de).sum())
        for x, (dv, de) in zip(inputs, directions, strict=True)
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
    x = draw_instance(rng, 5, 4)
    inputs, v, _ = layer([x], 20.0, make_solver("best", full=True))
    hamming_loss(v, [torch.zeros(5, 4)]).backward()  # the loss would have fewer matches
    assert gradient(inputs[0].unary).sum() == 0


def test_interpolation_has_the_loss_as_its_limit_and_bounds_it():
    rng = np.random.default_rng(5)
    instances = [draw_instance(rng, 4, 4) for _ in range(20)]
    truths = [draw_truth(rng, 4, 4) for _ in instances]
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
    instances = [draw_instance(rng) for _ in range(4)]
    solver = make_solver("best")
    inputs, v, _ = layer(instances, 10.0, solver)
    assert solver.instances == 4
    hamming_loss(v[:2], [torch.eye(5), torch.eye(5)]).backward()
    assert solver.instances == 6
    assert solver.seconds > 0
    assert not any(gradient(part).any() for x in inputs[2:] for part in (x.unary, x.quadratic))


def test_lambda_acts_on_the_mean_over_the_batch():
    """Eight pairs at lambda = 80 move like one pair at lambda = 10, and their gradients are an eighth of its."""
    rng = np.random.default_rng(7)
    x = draw_instance(rng)
    truth = torch.eye(5)
    eight, v8, _ = layer([x] * 8, 80.0)
    hamming_loss(v8, [truth] * 8).backward()
    (one,), v1, _ = layer([x], 10.0)
    hamming_loss(v1, [truth]).backward()
    assert gradient(one.unary).any()
    for other in eight:
        np.testing.assert_allclose(8 * gradient(other.unary), gradient(one.unary))


def test_a_pair_without_edges_and_an_empty_one():
    inputs, v, e = layer([Instance.linear(np.array([[-1.0]])), Instance.linear(np.zeros((0, 3)))], 10.0)
    hamming_loss(v, [torch.zeros(1, 1), torch.zeros(0, 3)]).backward()
    assert v[0].tolist() == [[1.0]]
    assert v[1].shape == (0, 3)
    assert e[0].shape == (0, 0)
    assert gradient(inputs[0].unary).tolist() == [[-0.1]]


def test_another_solver_can_take_its_place(monkeypatch):
    rng = np.random.default_rng(8)
    instances = [draw_instance(rng, 3, 3) for _ in range(5)]
    monkeypatch.setitem(SOLVERS._parts, "enumeration", lambda full: enumerate_solver)
    ours, theirs = layer(instances, 1.0, "exact"), layer(instances, 1.0, "enumeration")
    assert all(torch.equal(a, b) for a, b in zip(ours[1], theirs[1], strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_indicators_have_the_type_of_the_costs(dtype):
    (one,), v, e = layer([draw_instance(np.random.default_rng(9))], 1.0, dtype=dtype)
    v[0].sum().backward()
    assert v[0].dtype == e[0].dtype == one.unary.grad.dtype == dtype


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lambda_": 0.0}, "lambda must be positive, not 0"),
        ({"lambda_": 1.0, "method": "fastest"}, r"'fastest' is not one of \['best', 'fast', 'dual', 'exact'\]"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        match_graphs([with_gradients(draw_instance(np.random.default_rng(10)))], **arguments)
    with pytest.raises(ValueError, match="no instance to match"):
        match_graphs([], lambda_=1.0)


def test_compiled_solver_does_not_depend_on_threads():
    rng = np.random.default_rng(11)
    instances = [draw_instance(rng, 7, 8) for _ in range(30)]
    one, two = (compiled_solver("best", threads=threads)(instances) for threads in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_costs_that_are_not_tensors_or_not_together():
    x = draw_instance(np.random.default_rng(5), 3, 3)
    with pytest.raises(TypeError, match=r"unary of instance 0 is a ndarray, expected a tensor: give torch\.as_tensor"):
        match_graphs([x], lambda_=1.0)  # type: ignore[list-item]
    inputs = [with_gradients(x, torch.float64)]
    moved = Instance(unary=inputs[0].unary, edges1=x.edges1, edges2=x.edges2, quadratic=inputs[0].quadratic.to("meta"))
    with pytest.raises(
        ValueError, match=r"quadratic of instance 0 is on the device meta, .*move all of them to one, quad"
    ):
        match_graphs([moved], lambda_=1.0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_narrow_types_are_solved_as_the_same_numbers(dtype):
    """The gradient goes through; the layer detaches and converts by itself."""
    x = with_gradients(draw_instance(np.random.default_rng(6), 4, 4), dtype)
    (v,), _ = match_graphs([x], lambda_=1.0)
    assert v.dtype == dtype
    wide = Instance(unary=x.unary.double(), edges1=x.edges1, edges2=x.edges2, quadratic=x.quadratic.double())
    (expected,), _ = match_graphs([wide], lambda_=1.0)
    assert torch.equal(v.double(), expected)
    v.sum().backward()
    assert x.unary.grad.dtype == dtype
