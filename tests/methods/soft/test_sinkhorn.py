"""Sinkhorn normalisation: its constraints, plain Sinkhorn with dummy nodes, its limit, its gradient."""

from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bbgm.matching.instance import Instance
from bbgm.matching.solvers import compiled_solver
from bbgm.methods.soft.sinkhorn import sinkhorn


def random_costs(rng, *shape):
    return torch.from_numpy(rng.normal(-0.3, 1, shape))


def plain(costs, temperature, iterations, epsilon, partial):
    """By the textbook, without logarithms: dummy nodes are further rows and columns of the matrix."""
    kernel = np.exp(-costs / temperature)
    kernel = kernel + epsilon * kernel.max()
    n1, n2 = costs.shape
    if partial:  # one dummy on each side, of cost 0, which takes any number of nodes and is not normalised
        matrix = np.ones((n1 + 1, n2 + 1))
        matrix[:n1, :n2] = kernel
        matrix[n1, n2] = 0
        rows, columns = slice(n1), slice(n2)
    else:  # as many dummies on the smaller side as it lacks
        matrix = np.ones((max(n1, n2), max(n1, n2)))
        matrix[:n1, :n2] = kernel
        rows = columns = slice(None)
    for _ in range(iterations):
        matrix[rows] /= matrix[rows].sum(axis=1, keepdims=True)
        matrix[:, columns] /= matrix[:, columns].sum(axis=0, keepdims=True)
    return matrix[:n1, :n2]


sizes = st.integers(1, 6)


@given(sizes, sizes, st.booleans(), st.sampled_from([0.0, 1e-8, 1e-2]), st.integers(0, 10**6))
def test_it_is_plain_sinkhorn_with_dummies(n1, n2, partial, epsilon, seed):
    costs = random_costs(np.random.default_rng(seed), n1, n2)
    settings = {"temperature": 0.7, "epsilon": epsilon, "partial": partial}
    found = sinkhorn([costs], iterations=400, **settings)[0].exp().numpy()
    expected = plain(costs.numpy(), iterations=400, **settings)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    sums1, sums2 = found.sum(axis=1), found.sum(axis=0)
    assert max(sums1.max(), sums2.max()) < 1 + 1e-7
    if not partial:
        np.testing.assert_allclose(sums1 if n1 <= n2 else sums2, 1, atol=1e-7)
        assert found.sum() == pytest.approx(min(n1, n2))
    else:
        assert (sums1 < 1).all()


@given(sizes, sizes, st.booleans(), st.integers(0, 10**6))
def test_plain_numbers_and_logarithms_give_the_same(n1, n2, partial, seed):
    """In double precision, where nothing vanishes; in one of them epsilon is not relative to entries below 1."""
    costs = random_costs(np.random.default_rng(seed), n1, n2)
    settings = {"temperature": 0.3, "iterations": 7, "partial": partial}
    for epsilon in (0.0, 1e-2):
        relative = epsilon / min(np.exp(-costs.numpy() / 0.3).max(), 1)
        log = sinkhorn([costs], epsilon=relative, **settings)[0]
        torch.testing.assert_close(sinkhorn([costs], epsilon=epsilon, domain="plain", **settings)[0], log)


def test_with_plain_numbers_small_entries_lose_their_gradient_and_epsilon_bounds_the_loss():
    """A true match that costs 6 more than the cheapest, at tau = 0.05: exp(-120) is 0 in single precision."""
    costs = torch.tensor([[0.0, 6.0], [0.0, 0.0]])
    slopes, losses = {}, {}
    cases: tuple[tuple[Literal["log", "plain"], float], ...]
    cases = ("log", 0.0), ("plain", 0.0), ("plain", 1e-8), ("plain", 1e-4)
    for domain, epsilon in cases:
        c = costs.clone().requires_grad_()
        log_p = sinkhorn([c], temperature=0.05, iterations=20, epsilon=epsilon, domain=domain)[0]
        (-log_p[0, 1]).backward()
        assert torch.isfinite(log_p).all()
        assert c.grad is not None
        slopes[domain, epsilon], losses[domain, epsilon] = c.grad[0, 1].item(), -log_p[0, 1].item()
    assert slopes["log", 0.0] == pytest.approx(20, rel=0.2)
    assert losses["plain", 0.0] > losses["plain", 1e-8] > losses["plain", 1e-4]
    assert all(slopes["plain", epsilon] == 0 for epsilon in (0.0, 1e-8, 1e-4))


@pytest.mark.parametrize(
    ("cost", "temperature", "domain"),
    [(1.0, 1e-3, "plain"), (-1.0, 1e-40, "plain"), (-1.0, 1e-40, "log")],  # vanishes; is infinite
)
def test_temperatures_that_are_too_low_for_the_costs_are_named(
    cost: float, temperature: float, domain: Literal["log", "plain"]
) -> None:
    costs = torch.full((2, 2), cost)
    with pytest.raises(ValueError, match=rf"costs from {cost:g} to {cost:g} .* temperature {temperature}") as error:
        sinkhorn([costs], temperature=temperature, iterations=5, domain=domain)
    assert ("set solver.sinkhorn.domain: log" in str(error.value)) == (domain == "plain")
    # Costs that are not finite come from a network that diverged, which the loss tells.
    assert sinkhorn([costs * torch.nan], temperature=1.0, iterations=5, domain=domain)[0].isnan().all()


@pytest.mark.parametrize("partial", [False, True])
def test_plain_numbers_do_not_overflow(partial):
    """exp(1000) is infinite; what the entries have in common does not matter. The second pair is padded."""
    small = torch.tensor([[-50.0]])
    costs = torch.tensor([[-50.0, -49.9, -49.8], [-49.9, -50.0, -49.9]], requires_grad=True)
    settings = {"temperature": 0.05, "iterations": 20, "partial": partial}
    log_p, alone = sinkhorn([costs, small], epsilon=1e-8, domain="plain", **settings)
    for found, expected in zip((log_p, alone), sinkhorn([costs, small], **settings), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    log_p.sum().backward()
    assert costs.grad is not None
    assert torch.isfinite(costs.grad).all()


@given(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=5), st.booleans(), st.integers(0, 10**6))
def test_a_batch_is_each_pair_alone_forward_and_backward(shapes, partial, seed):
    rng = np.random.default_rng(seed)
    costs = [random_costs(rng, *shape) for shape in shapes]
    weights = [torch.from_numpy(rng.normal(size=shape)) for shape in shapes]
    settings = {"temperature": 0.3, "iterations": 5, "epsilon": 1e-4, "partial": partial}

    def gradients(batches):
        inputs = [c.clone().requires_grad_() for c in costs]
        results = [one for batch in batches for one in sinkhorn([inputs[b] for b in batch], **settings)]
        torch.autograd.backward([(w * p.exp()).sum() for w, p in zip(weights, results, strict=True)])
        return results, [c.grad for c in inputs]

    for together, alone in zip(
        *(gradients(x) for x in ([range(len(costs))], [[b] for b in range(len(costs))])), strict=True
    ):
        for one, other in zip(together, alone, strict=True):
            assert torch.isfinite(one).all()
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 1e-2])
def test_gradient_is_that_of_finite_differences(partial, epsilon):
    rng = np.random.default_rng(0)
    costs = [random_costs(rng, *shape).requires_grad_() for shape in ((3, 3), (2, 4), (4, 3))]

    def matrices(*costs):
        return tuple(sinkhorn(costs, temperature=0.4, iterations=6, epsilon=epsilon, partial=partial))

    assert torch.autograd.gradcheck(matrices, costs)


@pytest.mark.parametrize("partial", [False, True])
def test_at_low_temperature_it_is_the_solver_s_matching(partial):
    """The cost is above the optimum by no more than tau times the entropy; at tau = 0.01 the matching is the same."""
    rng = np.random.default_rng(1)
    shapes = [(5, 5), (4, 6), (6, 4), (1, 3), (5, 5), (3, 3)]
    costs = [random_costs(rng, *shape) for shape in shapes]
    instances = [Instance.linear(c.numpy()) for c in costs]
    best = [
        x.solution(a)[0] for x, a in zip(instances, compiled_solver("exact", full=not partial)(instances), strict=True)
    ]
    previous = np.full(len(costs), np.inf)
    for temperature in (1.0, 0.1, 0.01):
        found = [
            one.exp().numpy() for one in sinkhorn(costs, temperature=temperature, iterations=3000, partial=partial)
        ]
        gaps = np.array([(c.numpy() * (p - y)).sum() for c, p, y in zip(costs, found, best, strict=True)])
        assert (gaps > -1e-3).all()
        assert (
            gaps < np.minimum(previous, [2 * temperature * max(s) * np.log(max(s) + 1) for s in shapes]) + 1e-3
        ).all()
        previous = gaps
    for p, y in zip(found, best, strict=True):
        np.testing.assert_array_equal(p > 0.5, y > 0.5)


def test_a_constant_on_a_row_changes_nothing_where_all_are_matched():
    rng = np.random.default_rng(2)
    costs = random_costs(rng, 4, 4)
    shift = torch.tensor([[3.0], [0.0], [-1.0], [0.5]])
    settings: dict[str, Any] = {"temperature": 0.5, "iterations": 300}
    one, other = sinkhorn([costs], **settings)[0], sinkhorn([costs + shift], **settings)[0]
    torch.testing.assert_close(one.exp(), other.exp())
    partial, shifted = (sinkhorn([c], partial=True, **settings)[0].exp() for c in (costs, costs + shift))
    assert shifted[0].sum() < partial[0].sum()  # it pays less to match the first


def test_epsilon_makes_what_is_far_too_expensive_alike():
    costs = torch.zeros(3, 3, dtype=torch.float64)
    costs[0, 0], costly, costlier = -1.0, costs.clone(), costs.clone()
    costly[1, 2], costlier[1, 2] = 20.0, 40.0
    settings: dict[str, Any] = {"temperature": 1.0, "iterations": 50}
    floored = [sinkhorn([c], epsilon=1e-4, **settings)[0][1, 2].item() for c in (costly, costlier)]
    exact = [sinkhorn([c], **settings)[0][1, 2].item() for c in (costly, costlier)]
    assert floored[1] == pytest.approx(floored[0], abs=1e-4)
    assert exact[1] == pytest.approx(exact[0] - 20, abs=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_costs_overflow_nowhere(dtype):
    costs = (1e4 * torch.eye(3, dtype=dtype)).requires_grad_()
    for partial in (False, True):
        log_p = sinkhorn([costs, -costs], temperature=0.01, iterations=10, epsilon=1e-8, partial=partial)
        log_p[0].exp().sum().backward()
        assert all(one.dtype == dtype and one.isfinite().all() for one in (*log_p, costs.grad))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temperature": 0.0}, "temperature must be positive.*0.0"),
        ({"epsilon": -1.0}, "epsilon not negative.*-1.0"),
        ({"costs": []}, "need pairs"),
        ({"costs": [torch.zeros(2, 0)]}, r"\(2, 0\)"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        sinkhorn(**{"costs": [torch.zeros(2, 2)], "temperature": 1.0, "iterations": 2, **change})
