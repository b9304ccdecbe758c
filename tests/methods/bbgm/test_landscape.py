"""The loss landscape: against enumeration of all matchings, and what the paper says of f_lambda."""

from itertools import pairwise

import numpy as np
import pytest

from bbgm.matching.blackbox import hamming_gradient, interpolated_loss
from bbgm.matching.instance import Instance
from bbgm.methods.bbgm.landscape import check_gradient, loss_direction, loss_section, minimise, random_direction
from tests.support.draws import draw_instance
from tests.support.enumeration import cheapest, smallest_cost


def draw(seed: int, n: int = 4) -> tuple[Instance, np.ndarray]:
    """Random costs, and a true matching of all nodes."""
    rng = np.random.default_rng(seed)
    return draw_instance(rng, n, n), np.eye(n, dtype=bool)[rng.permutation(n)]


@pytest.mark.parametrize("seed", range(3))
def test_section_equals_enumeration(seed: int) -> None:
    instance, truth = draw(seed, n=3)
    gradient, constant = hamming_gradient(truth, instance)
    d1, d2 = loss_direction(instance, truth), random_direction(instance, np.random.default_rng(seed))
    s, t, lambda_ = np.array([-0.7, 0.0, 0.4]), np.array([-0.3, 0.2]), 0.8
    section = loss_section(instance, truth, (d1, d2), s, t, [lambda_])
    for row, column in np.ndindex(2, 3):
        costs = instance.plus(d2, float(t[row])).plus(d1, float(s[column]))
        perturbed = costs.plus(gradient, lambda_)
        y, y_lambda = cheapest(costs), cheapest(perturbed)
        assert section.loss[row, column] == np.abs(costs.solution(y)[0] - truth).sum()
        assert section.interpolations[lambda_][row, column] == pytest.approx(
            constant + (smallest_cost(perturbed) - smallest_cost(costs)) / lambda_
        )
        assert section.changes[lambda_][row, column] == (not np.array_equal(y, y_lambda))
    assert section.solved == 12
    assert 0 <= section.proved <= 12


def test_interpolation_is_the_mean_of_the_loss_along_the_loss_direction() -> None:
    instance, truth = draw(5)
    lambda_, n = 1.5, 4000
    middles = (np.arange(n) + 0.5) * lambda_ / n
    direction = loss_direction(instance, truth)
    along = loss_section(instance, truth, (direction, direction), middles, np.array([0.0]), []).loss
    f = loss_section(instance, truth, (direction, direction), np.array([0.0]), np.array([0.0]), [lambda_])
    assert f.interpolations[lambda_].item() == pytest.approx(along.mean(), abs=along.max() * 10 / n)
    assert np.all(np.diff(along[0]) <= 0)  # along g the loss only falls


def test_interpolation_lies_below_the_loss_and_falls_with_lambda() -> None:
    instance, truth = draw(2)
    generator = np.random.default_rng(0)
    directions = random_direction(instance, generator), random_direction(instance, generator, edges=False)
    s = np.linspace(-1.0, 1.0, 7)
    section = loss_section(instance, truth, directions, s, s, [1e-6, 0.1, 1.0, 100.0])
    values = [section.loss, *section.interpolations.values()]
    for above, below in pairwise(values):
        assert np.all(below <= above + 1e-7)
    assert np.median(np.abs(section.interpolations[1e-6] - section.loss)) < 1e-3  # lambda -> 0: the loss
    assert section.interpolations[100.0].max() < 0.5  # lambda -> infinity: its minimum, 0
    assert np.array_equal(section.changes[100.0], section.loss > 0)  # where the truth replaces every wrong matching
    assert list(section.summary().index) == [1e-6, 0.1, 1.0, 100.0]


def test_section_uses_the_interpolation_of_the_layer() -> None:
    instance, truth = draw(7)
    direction = random_direction(instance, np.random.default_rng(1))
    section = loss_section(instance, truth, (direction, direction), np.array([0.2]), np.array([0.0]), [0.5])
    gradient, constant = hamming_gradient(truth, instance)
    expected = interpolated_loss([instance.plus(direction, 0.2)], [gradient], constant, 0.5)
    assert section.interpolations[0.5].item() == pytest.approx(expected.item())


@pytest.mark.parametrize("lambda_", [0.05, 0.5, 5.0])
def test_layer_gradient_equals_difference_quotient(lambda_: float) -> None:
    instances, truths = zip(*(draw(seed) for seed in range(40)), strict=True)
    check = check_gradient(instances, truths, lambda_, np.random.default_rng(3))
    assert check["smooth"].mean() > 0.9
    assert (check["layer"] != 0).any()
    assert check.loc[check["smooth"], "error"].max() < 1e-6


def test_directions_have_the_length_of_the_loss_gradient() -> None:
    instance, truth = draw(0)
    generator = np.random.default_rng(0)
    v, e = loss_direction(instance, truth)
    assert set(np.unique(v)) == {-1.0, 1.0}
    assert not e.any()
    assert np.array_equal(v < 0, truth)
    for edges in (True, False):
        v, e = random_direction(instance, generator, edges=edges)
        assert np.sqrt((v**2).sum() + (e**2).sum()) == pytest.approx(4.0)
        assert e.any() == edges


def test_minima_are_those_of_enumeration() -> None:
    instance, _ = draw(1)
    minima = minimise([instance])
    assert minima.costs.item() == pytest.approx(smallest_cost(instance))
    assert np.array_equal(minima.assignments[0], cheapest(instance))


@pytest.mark.parametrize("lambda_", [0.0, -1.0, float("nan")])
def test_lambda_must_be_positive(lambda_: float) -> None:
    instance, truth = draw(0)
    direction = loss_direction(instance, truth)
    with pytest.raises(ValueError, match="positive"):
        loss_section(instance, truth, (direction, direction), np.zeros(1), np.zeros(1), [lambda_])
