"""Losses of training: their gradients against difference quotients, their minima at the truth, their closed forms."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bbgm.matching.blackbox import SolverLayer
from bbgm.matching.gradients.batch import GradientOptions
from bbgm.matching.instance import Instance
from bbgm.methods.bbgm.layers import fenchel_young_loss, hinge_loss, solver_loss, true_edges
from bbgm.methods.bbgm.margins import informed_margin
from bbgm.methods.bbgm.nonzero import NonzeroGradients
from bbgm.methods.bbgm.settings import SolverConfig
from tests.support.draws import draw_direction, draw_instance, draw_truth, gradient, with_gradients
from tests.support.enumeration import all_costs, all_matchings, cheapest, smallest_cost

OPTIONS = GradientOptions(lambda_=20.0, samples=8, sigma=0.3, sigma_edges=0.1, seed=5)
SETTINGS = SolverConfig()


def layer(gradient="blackbox"):
    return SolverLayer("best", gradient, OPTIONS)


def drawn(seed, count=3, size=(4, 3)):
    rng = np.random.default_rng(seed)
    return rng, [draw_instance(rng, *size) for _ in range(count)], [draw_truth(rng, *size) for _ in range(count)]


def tensors(truths):
    return [torch.from_numpy(truth) for truth in truths]


@pytest.mark.parametrize("loss", [hinge_loss, fenchel_young_loss])
def test_gradient_is_that_of_the_value(loss):
    rng, instances, truths = drawn(1)
    checked = 0
    for _ in range(10):
        directions = [draw_direction(rng, x) for x in instances]

        def value(step, directions=directions):
            moved = [x.plus(d, step) for x, d in zip(instances, directions, strict=True)]
            inputs = [with_gradients(x) for x in moved]
            return inputs, loss(inputs, tensors(truths), SETTINGS, layer())[0]

        inputs, here = value(0.0)
        here.backward()
        slope = sum(
            float((gradient(x.unary) * dv).sum() + (gradient(x.quadratic) * de).sum())
            for x, (dv, de) in zip(inputs, directions, strict=True)
        )
        step = 1e-6
        quotient = float((value(step)[1] - value(-step)[1]).detach()) / (2 * step)
        assert slope == pytest.approx(quotient, abs=1e-5)
        checked += abs(slope) > 0.1
    assert checked >= 5


def test_the_hinge_is_the_worst_violation_of_the_margin():
    """max over y of alpha Delta(y) - (w . y - w . y*), by enumeration; the margin is informed and twice alpha."""
    _, instances, truths = drawn(2, count=6)
    alpha = 0.7
    given = [
        replace(x, unary=informed_margin(x.unary, torch.from_numpy(t), 2 * alpha))
        for x, t in zip([with_gradients(x) for x in instances], truths, strict=True)
    ]
    found = float(hinge_loss(given, tensors(truths), SETTINGS, layer())[0].detach())
    worst = []
    for x, truth in zip(instances, truths, strict=True):
        assignments = all_matchings(*x.unary.shape)
        delta = ((assignments[:, :, None] == np.arange(truth.shape[1])) != truth).sum(axis=(1, 2))
        own = x.cost(x.solution(np.where(truth.any(axis=1), truth.argmax(axis=1), -1)))
        worst.append((alpha * delta - all_costs(x, assignments) + own).max())
    assert found == pytest.approx(np.mean(worst))
    assert min(worst) > 0


def test_the_perceptron_is_zero_exactly_where_the_truth_is_the_cheapest():
    _, instances, _ = drawn(3, count=10)
    for x in instances:
        best = cheapest(x)
        for assignment, zero in ((best, True), (np.roll(best, 1), False)):
            truth = x.solution(assignment)[0]
            inputs = with_gradients(x)
            loss, accuracy = hinge_loss([inputs], tensors([truth]), SETTINGS, layer())
            loss.backward()
            assert float(loss.detach()) == pytest.approx(x.cost(x.solution(assignment)) - smallest_cost(x), abs=1e-9)
            assert (not gradient(inputs.unary).any()) == zero or (assignment == best).all()
            assert accuracy == 1.0 or not zero


def test_a_missed_minimum_is_not_learned_from():
    """A solver that returns the empty matching where the truth is cheaper: the value would be negative."""
    x = Instance.linear(torch.tensor([[-2.0]], dtype=torch.float64, requires_grad=True))
    poor = SolverLayer(lambda given: [np.array([-1]) for _ in given], "blackbox", OPTIONS)
    loss, _ = hinge_loss([x], [torch.ones(1, 1)], SETTINGS, poor)
    loss.backward()
    assert float(loss.detach()) == 0
    assert not gradient(x.unary).any()


def test_fenchel_young_is_positive_and_vanishes_far_on_the_true_side():
    _, instances, truths = drawn(4, count=5)
    for x, truth in zip(instances, truths, strict=True):
        values, slopes = [], []
        for scale in (0.0, 1.0, 4.0, 16.0):
            inputs = with_gradients(replace(x, unary=x.unary + scale * (1 - 2.0 * truth)))
            loss, _ = fenchel_young_loss([inputs], tensors([truth]), SETTINGS, layer())
            loss.backward()
            values.append(float(loss.detach()))
            slopes.append(np.abs(gradient(inputs.unary)).sum())
        assert min(values) >= -1e-12
        assert values == sorted(values, reverse=True)
        assert slopes[0] > 0
        assert slopes[-1] == 0


def test_fenchel_young_in_closed_form():
    """One keypoint each, matched: w - E min(w + sigma Z, 0), whose slope is 1 - Phi(-w / sigma)."""
    w, sigma = 0.2, 0.5
    x = Instance.linear(torch.tensor([[w]], dtype=torch.float64, requires_grad=True))
    many = replace(OPTIONS, samples=20_000, sigma=sigma)
    cheap = SolverLayer(lambda given: [np.where(one.unary[0] < 0, 0, -1) for one in given], "blackbox", many)
    loss, _ = fenchel_young_loss([x], [torch.ones(1, 1)], SETTINGS, cheap)
    loss.backward()
    z = torch.distributions.Normal(0.0, 1.0)
    below = float(z.cdf(torch.tensor(-w / sigma)))
    expected = w * below - sigma * float(z.log_prob(torch.tensor(w / sigma)).exp())
    assert float(loss.detach()) == pytest.approx(w - expected, abs=0.01)
    assert float(gradient(x.unary)[0, 0]) == pytest.approx(1 - below, abs=0.01)


def test_true_edges_are_those_that_the_truth_matches():
    _, instances, truths = drawn(5, count=8, size=(5, 4))
    for x, truth in zip(instances, truths, strict=True):
        (found,) = true_edges([with_gradients(x)], tensors([truth]))
        assignment = np.where(truth.any(axis=1), truth.argmax(axis=1), -1)
        np.testing.assert_array_equal(found.numpy(), x.solution(assignment)[1])


def test_the_distance_of_edges_teaches_edge_costs_by_identity():
    """Identity passes on what the loss sees: edges get a gradient only with a weight of their own."""
    _, instances, truths = drawn(6, count=2)
    for weight in (0.0, 0.5):
        inputs = [with_gradients(x) for x in instances]
        loss, _ = solver_loss(inputs, tensors(truths), SolverConfig(hamming_edges=weight), layer("identity"))
        loss.backward()
        for x, one, truth in zip(instances, inputs, truths, strict=True):
            assignment = np.where(truth.any(axis=1), truth.argmax(axis=1), -1)
            v, e = x.solution(assignment)
            np.testing.assert_allclose(gradient(one.unary), (2 * v - 1) / len(instances))
            np.testing.assert_allclose(gradient(one.quadratic), weight * (2 * e - 1) / len(instances))


def test_the_share_of_pairs_that_still_teach():
    """Two of four pairs are right with the margin: their gradient is zero, and counted as such."""
    _, instances, _ = drawn(7, count=4)
    truths = [x.solution(cheapest(x))[0] for x in instances]
    for truth in truths[2:]:
        truth[:] = np.roll(truth, 1, axis=0)
    inputs = [with_gradients(x) for x in instances]
    counted = NonzeroGradients(inputs)
    assert counted.share == 0
    solver_loss(inputs, tensors(truths), SETTINGS, layer())[0].backward()
    assert counted.share == 0.5
    assert NonzeroGradients([]).share == 0
