"""Estimators that solve once more, with costs moved along the loss: against enumeration and each other."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bbgm.config import GRADIENTS
from bbgm.matching.blackbox import match_graphs
from bbgm.matching.gradients.interpolation import lpgd_left, lpgd_right
from tests.support.draws import draw_direction, draw_instance, gradient, with_gradients
from tests.support.enumeration import all_matchings, enumerate_solver
from tests.support.gradients import OPTIONS, draw_batch, gradients_of, of_problem


def test_lpgd_to_the_right_without_proximal_term_is_blackbox():
    rng = np.random.default_rng(4)
    instances = [draw_instance(rng, 5, 5) for _ in range(10)]
    blackbox = gradients_of(instances, lambda_=10.0)
    lpgd = gradients_of(instances, lambda_=10.0, gradient="lpgd_right", options=replace(OPTIONS, rho=0.0))
    for one, other in zip(blackbox, lpgd, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize(("estimator", "sign"), [(lpgd_right, 1), (lpgd_left, -1)])
def test_lpgd_minimises_the_proximal_problem(estimator, sign):
    """Of all matchings, the one that the step takes has the smallest w . y +- tau d . y + rho/2 |y - y(w)|^2."""
    moved = 0
    for seed in range(8):
        instances, batch, w, d = draw_batch([5, seed])
        d *= 0.3
        y, backward = estimator(batch, w, OPTIONS)
        y_moved = y + sign * OPTIONS.lambda_ * backward(d)
        for b, x in enumerate(instances):
            solutions = [x.solution(a) for a in all_matchings(*x.unary.shape)]
            every = np.stack([np.concatenate([v.ravel(), e.ravel()]) for v, e in solutions])
            costs, own = of_problem(batch, w + sign * OPTIONS.lambda_ * d, b), of_problem(batch, y, b)
            value = every @ costs + OPTIONS.rho / 2 * ((every - own) ** 2).sum(axis=1)
            reached = of_problem(batch, y_moved, b)
            at = reached @ costs + OPTIONS.rho / 2 * ((reached - own) ** 2).sum()
            assert at == pytest.approx(value.min(), abs=1e-9)
            moved += (reached != own).any()
    assert moved >= 12


def test_a_large_proximal_term_keeps_the_solution():
    _, batch, w, d = draw_batch(6)
    for name in ("lpgd_right", "lpgd_left", "lpgd_average"):
        _, backward = GRADIENTS[name](batch, w, replace(OPTIONS, rho=1e6))
        assert not backward(d).any()


def test_lpgd_average_is_the_mean_of_both():
    _, batch, w, d = draw_batch(7)
    left, right, average = (
        GRADIENTS[name](batch, w, OPTIONS)[1](d) for name in ("lpgd_left", "lpgd_right", "lpgd_average")
    )
    np.testing.assert_allclose(average, (left + right) / 2)
    assert (left != right).any()


def test_identity_passes_minus_the_gradient_on():
    _, batch, w, d = draw_batch(8)
    y, backward = GRADIENTS["identity"](batch, w, OPTIONS)
    np.testing.assert_array_equal(backward(d), -d)
    np.testing.assert_array_equal(y, batch.solve(w))


def test_directions_are_not_needed_to_be_those_of_a_loss():
    """Any d is allowed, on edges too: blackbox is then the paper's formula for it."""
    rng = np.random.default_rng(18)
    x = draw_instance(rng, 4, 4)
    dv, de = draw_direction(rng, x)
    inputs = with_gradients(x)
    v, e = match_graphs([inputs], lambda_=3.0)
    ((v[0] * torch.from_numpy(dv)).sum() + (e[0] * torch.from_numpy(de)).sum()).backward()
    moved = x.plus((dv, de), 3.0)
    (after,) = enumerate_solver([moved])
    (before,) = enumerate_solver([x])
    np.testing.assert_allclose(gradient(inputs.quadratic), (moved.solution(after)[1] - x.solution(before)[1]) / 3.0)
