"""Estimators with noise: against closed forms, difference quotients, and blackbox on noisy copies."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from bbgm.config import GRADIENTS
from bbgm.matching.gradients.batch import ProblemBatch, as_array, joined
from bbgm.matching.gradients.perturbation import AdaptiveIMLE, gamma_noise, imle, normal_noise, perturbed, scaled
from bbgm.matching.instance import Instance
from bbgm.matching.solvers import make_solver
from tests.support.draws import draw_instance, with_gradients
from tests.support.enumeration import all_matchings, enumerate_solver
from tests.support.gradients import OPTIONS, draw_batch


def single(cost):
    """One keypoint each, no edges: it is matched where the cost is negative."""
    x = Instance.linear(torch.tensor([[cost]], dtype=torch.float64, requires_grad=True))
    return x, ProblemBatch.of([x], lambda given: [np.where(one.unary[0] < 0, 0, -1) for one in given])


@pytest.mark.parametrize("cost", [-0.6, 0.0, 0.4])
def test_perturbed_against_the_closed_form(cost):
    """With one keypoint, E y(w + sigma Z) = Phi(-w / sigma), and its derivative is -phi(w / sigma) / sigma."""
    x, batch = single(cost)
    options = replace(OPTIONS, samples=20_000)
    y, backward = perturbed(batch, as_array(x.unary.reshape(-1)), options)
    scale = cost / options.sigma
    assert y[0] == pytest.approx(0.5 * math.erfc(scale / math.sqrt(2)), abs=0.01)
    density = math.exp(-(scale**2) / 2) / math.sqrt(2 * math.pi) / options.sigma
    assert backward(np.ones(1))[0] == pytest.approx(-density, abs=0.03)


def test_perturbed_has_the_slope_of_the_smoothed_loss():
    """Against difference quotients of E d . y(w + sigma Z), exact by enumeration, with 30,000 common samples of Z."""
    rng = np.random.default_rng(9)
    x = draw_instance(rng, 3, 3)
    assignments = all_matchings(3, 3)
    every = np.stack([np.concatenate([part.ravel() for part in x.solution(a)]) for a in assignments])
    batch = ProblemBatch.of([with_gradients(x)], lambda given: enumerate_solver(given))
    w = as_array(joined([with_gradients(x)]))
    d = np.where(batch.on_edges, 0.0, rng.normal(size=len(w)))
    options = replace(OPTIONS, sigma=0.7, sigma_edges=0.7, samples=30_000)
    noise = scaled(batch, normal_noise(batch, options), options)

    class Cheap(ProblemBatch):
        def solve(self, costs, known=None):
            return every[np.argmin(np.atleast_2d(costs) @ every.T, axis=1)].reshape(costs.shape)

    cheap = Cheap(batch.shapes, batch.edges, batch.solver)
    np.testing.assert_array_equal(cheap.solve(w), batch.solve(w))  # the enumeration is the solver's problem
    _, backward = perturbed(cheap, w, options)
    slope, direction, step = backward(d), d + 0.3 * rng.normal(size=len(w)), 0.05
    ahead, behind = ((cheap.solve(w + noise + sign * step * direction) @ d).mean() for sign in (1, -1))
    assert slope @ direction == pytest.approx((ahead - behind) / (2 * step), abs=0.15)
    assert abs(slope @ direction) > 0.3


def test_noise_of_a_scale_of_zero_gives_edge_costs_no_gradient():
    _, batch, w, d = draw_batch(10)
    found = perturbed(batch, w, replace(OPTIONS, sigma_edges=0.0))[1](d)
    assert not found[batch.on_edges].any()
    assert found[~batch.on_edges].any()


def test_imle_is_blackbox_on_the_same_noisy_copies():
    _, batch, w, d = draw_batch(11)
    y, backward = imle(batch, w, OPTIONS)
    noise = scaled(batch, gamma_noise(batch, OPTIONS), OPTIONS)
    copies = [GRADIENTS["blackbox"](batch, w - one, OPTIONS) for one in noise]
    np.testing.assert_allclose(y, np.mean([one for one, _ in copies], axis=0))
    np.testing.assert_allclose(backward(d), np.mean([back(d) for _, back in copies], axis=0))
    assert len({one.tobytes() for one, _ in copies}) > 1


@pytest.mark.parametrize("k", [1, 4])
def test_k_sums_of_gammas_are_a_gumbel_variable(k):
    """Mean 0.5772 and variance pi^2 / 6 (Niepert et al., 2021, Theorem 1); ten terms come near it."""
    x = Instance.linear(torch.zeros(k, 500 * k, dtype=torch.float64))
    batch = ProblemBatch.of([x], make_solver("best"))
    noise = gamma_noise(batch, replace(OPTIONS, samples=40)).reshape(-1, k).sum(axis=1)
    assert len(noise) >= 20_000
    assert noise.mean() == pytest.approx(0.5772, abs=0.07)
    assert noise.var() == pytest.approx(math.pi**2 / 6, abs=0.17)


def test_noise_of_a_problem_depends_on_the_seed_and_its_place_alone():
    _, batch, _, _ = draw_batch(12)
    _, other, _, _ = draw_batch(12, sizes=((4, 3), (5, 2), (2, 2)))
    for draw in (normal_noise, gamma_noise):
        one, again, changed = draw(batch, OPTIONS), draw(other, OPTIONS), draw(batch, replace(OPTIONS, seed=8))
        np.testing.assert_array_equal(one[:, batch.owner == 0], again[:, other.owner == 0])
        assert (one != changed).all()
        assert len(np.unique(one)) == one.size


def test_adaptive_imle_takes_its_step_from_the_costs():
    """The step lambda d has the length beta |w|, however long d is; so lambda g does not depend on it."""
    _, batch, w, d = draw_batch(13)
    found = []
    for scale in (1.0, 10.0):
        found.append(AdaptiveIMLE()(batch, w, OPTIONS)[1](scale * d) / scale)
    np.testing.assert_allclose(found[0], found[1])
    sizes = np.sqrt(batch.sums(w**2) / batch.sums(d**2))
    noisy = w - scaled(batch, gamma_noise(batch, OPTIONS), OPTIONS)
    each = batch.to_entries(sizes)
    np.testing.assert_allclose(found[0], (batch.solve(noisy + each * d) - batch.solve(noisy)).mean(axis=0) / each)
    assert found[0].any()


def test_adaptive_imle_learns_how_far_to_go():
    """beta grows without a gradient, and shrinks where the gradient has too many entries; a buffer keeps it."""
    _, batch, w, d = draw_batch(14)
    estimator = AdaptiveIMLE()
    for step in range(1, 4):
        assert not estimator(batch, w, OPTIONS)[1](np.zeros_like(d)).any()
        assert float(estimator.beta) == pytest.approx(1 + step * AdaptiveIMLE.STEP)
    again = AdaptiveIMLE()
    again.load_state_dict(estimator.state_dict())
    for _ in range(60):
        again(batch, w, OPTIONS)[1](d)
    assert float(again.entries) > AdaptiveIMLE.TARGET
    assert float(again.beta) < float(estimator.beta)


def test_problems_with_the_same_costs_are_not_solved_again():
    _, batch, w, d = draw_batch(15)
    d = d * (batch.owner == 1)
    solver = batch.solver
    imle(batch, w, OPTIONS)[1](d)
    assert solver.instances == OPTIONS.samples * len(batch) + OPTIONS.samples
    before = solver.instances
    perturbed(batch, w, OPTIONS)[1](d)
    assert solver.instances == before + OPTIONS.samples * len(batch)  # nothing is solved in the backward pass
