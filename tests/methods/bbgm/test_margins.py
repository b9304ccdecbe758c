"""Margins and normalised costs: their definitions, over every matching of small instances."""

import numpy as np
import pytest
import torch

from bbgm.matching.solvers import make_solver
from bbgm.methods.bbgm.margins import centred, informed_margin, noise_margin, normalised
from tests.support.draws import draw_instance, draw_truth, gradient, with_gradients
from tests.support.enumeration import all_costs, all_matchings, cheapest


def test_the_informed_margin_takes_half_the_hamming_distance_off():
    """cost + margin = cost - alpha/2 * (Hamming distance to v*) + alpha/2 * (matches of v*), for every matching."""
    rng = np.random.default_rng(1)
    x = draw_instance(rng, 3, 4)
    truth = draw_truth(rng, 3, 4)
    raised = informed_margin(torch.from_numpy(x.unary), torch.from_numpy(truth), 1.5).numpy()
    assignments = all_matchings(3, 4)
    v = (assignments[:, :, None] == np.arange(4)).astype(float)
    distance = (v != truth).sum(axis=(1, 2))
    change = ((raised - x.unary) * v).sum(axis=(1, 2))
    np.testing.assert_allclose(change, -0.75 * distance + 0.75 * truth.sum())


def test_the_noise_margin_goes_up_or_down_whatever_the_truth():
    torch.manual_seed(2)
    truth = torch.eye(40, dtype=torch.bool)
    noise = noise_margin(torch.zeros(40, 40, dtype=torch.float64), truth, 3.0)
    assert sorted(set(noise.flatten().tolist())) == [-1.5, 1.5]
    assert abs(noise.mean()) < 0.12
    assert abs(noise[truth].mean()) < 0.8
    torch.manual_seed(2)
    again = noise_margin(torch.zeros(40, 40, dtype=torch.float64), ~truth, 3.0)
    assert torch.equal(noise, again)


def test_normalised_costs_have_length_one_and_the_same_optimum():
    rng = np.random.default_rng(3)
    for _ in range(10):
        x = draw_instance(rng, 4, 4, scale=3.0)
        unit = normalised(with_gradients(x)).numpy()
        assert (unit.unary**2).sum() + (unit.quadratic**2).sum() == pytest.approx(1)
        np.testing.assert_array_equal(cheapest(unit), cheapest(x))
        assignments = all_matchings(4, 4)
        ratio = all_costs(x, assignments)[1:] / all_costs(unit, assignments)[1:]
        np.testing.assert_allclose(ratio, ratio[0])  # the ratio of vertex and edge costs is kept


def test_centred_costs_have_mean_zero_and_the_same_best_full_matching():
    rng = np.random.default_rng(6)
    solver = make_solver("best", full=True)
    for n1, n2 in [(4, 4), (3, 5), (5, 2)]:
        inputs = with_gradients(draw_instance(rng, n1, n2, scale=3.0))
        moved = centred(inputs)
        assert moved.unary.mean().item() == pytest.approx(0, abs=1e-12)
        before, after = solver([inputs.numpy(), moved.numpy()])
        np.testing.assert_array_equal(before, after)
        (moved.unary * torch.from_numpy(rng.normal(size=(n1, n2)))).sum().backward()
        assert gradient(inputs.unary).mean() == pytest.approx(0, abs=1e-12)
    assert centred(with_gradients(draw_instance(rng, 0, 3))).unary.shape == (0, 3)


def test_the_gradient_of_normalised_costs_has_no_part_along_them():
    rng = np.random.default_rng(4)
    inputs = with_gradients(draw_instance(rng, 4, 4))
    unit = normalised(inputs)
    ((unit.unary * torch.from_numpy(rng.normal(size=(4, 4)))).sum() + unit.quadratic.square().sum()).backward()
    along = (gradient(inputs.unary) * inputs.unary.detach().numpy()).sum()
    along += (gradient(inputs.quadratic) * inputs.quadratic.detach().numpy()).sum()
    assert along == pytest.approx(0, abs=1e-12)
    assert np.abs(gradient(inputs.quadratic)).max() > 1e-3


def test_costs_of_zero_stay_zero():
    x = draw_instance(np.random.default_rng(5), 3, 3, scale=0.0)
    inputs = with_gradients(x)
    unit = normalised(inputs)
    assert not unit.unary.any()
    unit.unary.sum().backward()
    assert np.isfinite(gradient(inputs.unary)).all()
