"""What notebook 12 draws: the same gradients as training gets."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bbgm.matching.blackbox import hamming_gradient, interpolated_loss, match_graphs
from bbgm.matching.gradients.batch import GradientOptions
from bbgm.matching.gradients.look import hamming_estimate, slopes
from bbgm.matching.solvers import make_solver
from bbgm.methods.losses import hamming_loss
from tests.support.draws import draw_instance, draw_truth, gradient, with_gradients

OPTIONS = GradientOptions(lambda_=20.0, samples=5, seed=1)


@pytest.mark.parametrize("name", ["blackbox", "identity", "imle", "perturbed"])
def test_it_is_what_a_pair_gets_in_a_batch(name: str) -> None:
    rng = np.random.default_rng(1)
    batch, truths = [draw_instance(rng) for _ in range(4)], [draw_truth(rng, 5, 5) for _ in range(4)]
    inputs = [with_gradients(x) for x in batch]
    v, _ = match_graphs(inputs, lambda_=20.0, gradient=name, options=OPTIONS)
    hamming_loss(v, [torch.from_numpy(truth) for truth in truths]).backward()
    # The first of a batch, because noise depends on the place in it.
    found = hamming_estimate(batch[0], truths[0], name, OPTIONS, batch=4)
    np.testing.assert_allclose(found[0], gradient(inputs[0].unary))
    np.testing.assert_allclose(found[1], gradient(inputs[0].quadratic))


def test_losses_have_the_difference_from_the_truth() -> None:
    rng = np.random.default_rng(2)
    x, truth = draw_instance(rng), draw_truth(rng, 5, 5)
    (assignment,) = make_solver("best")([x])
    v, e = x.solution(assignment)
    true = x.solution(np.where(truth.any(axis=1), truth.argmax(axis=1), -1))
    found = hamming_estimate(x, truth, "hinge", OPTIONS, batch=2)
    np.testing.assert_allclose(found[0], (truth - v) / 2)
    np.testing.assert_allclose(found[1], (true[1] - e) / 2)
    noisy = hamming_estimate(x, truth, "fenchel_young", replace(OPTIONS, sigma=1e-9, sigma_edges=1e-9), batch=2)
    np.testing.assert_allclose(noisy[0], found[0])
    spread = hamming_estimate(x, truth, "fenchel_young", replace(OPTIONS, sigma=3.0), batch=2)
    assert np.abs(spread[0] - found[0]).max() > 0.05


def test_slopes_are_those_of_the_interpolation() -> None:
    """Of blackbox: the difference quotients of f_lambda along the line, except at its kinks."""
    rng = np.random.default_rng(3)
    x, truth = draw_instance(rng), draw_truth(rng, 5, 5)
    d, constant = hamming_gradient(truth, x)
    t, step = np.linspace(-1, 1, 21), 1e-6

    def value(position: float) -> float:
        return float(interpolated_loss([x.plus(d, position)], [d], constant, OPTIONS.lambda_)[0])

    right = np.array([(value(one + step) - value(one)) / step for one in t])
    left = np.array([(value(one) - value(one - step)) / step for one in t])
    smooth = np.abs(right - left) < 1e-6
    assert smooth.sum() >= 18
    found = slopes(x, truth, d, t, "blackbox", OPTIONS)
    np.testing.assert_allclose(found[smooth], right[smooth], atol=1e-5)
    assert (found < 0).any()
