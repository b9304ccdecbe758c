"""Gradient descent of f_lambda on a plane: its gradient, its steps, its end."""

from typing import Any

import numpy as np
import pytest

from bbgm.matching.instance import Instance
from bbgm.methods.bbgm.descent import descend
from bbgm.methods.bbgm.landscape import loss_direction, loss_section, random_direction
from tests.support.draws import draw_instance

OPTIONS: dict[str, Any] = {"length": 0.05, "steps": 80, "limit": 3.0}


def draw(seed: int, n: int = 5) -> tuple[Instance, np.ndarray]:
    """Random costs, and a true matching of all nodes."""
    rng = np.random.default_rng(seed)
    return draw_instance(rng, n, n), np.eye(n, dtype=bool)[rng.permutation(n)]


@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_is_that_of_the_interpolation(seed: int) -> None:
    instance, truth = draw(seed)
    plane = loss_direction(instance, truth), random_direction(instance, np.random.default_rng(seed))
    step, lambda_ = 1e-6, 0.7
    found = descend(instance, truth, plane, lambda_, length=0.1, steps=0, limit=1.0)
    ends = np.array([-step, 0.0, step])
    f = loss_section(instance, truth, plane, ends, ends, [lambda_]).interpolations[lambda_]
    quotients = np.array([f[1, 2] - f[1, 0], f[2, 1] - f[0, 1]]) / (2 * step)
    np.testing.assert_allclose(found.gradient, quotients, atol=1e-6)
    assert len(found.path) == 1


def test_steps_have_one_length_and_lead_to_the_truth() -> None:
    """In a plane with the direction of the loss, where f_lambda falls until the true matching is the cheapest."""
    instance, truth = draw(1)
    plane = loss_direction(instance, truth), random_direction(instance, np.random.default_rng(1))
    found = descend(instance, truth, plane, 2.0, **OPTIONS)
    assert found.losses[0] > 0
    assert found.losses[-1] == 0
    assert found.path[0].tolist() == [0, 0]
    np.testing.assert_allclose(np.linalg.norm(np.diff(found.path, axis=0), axis=1), OPTIONS["length"])
    assert len(found.path) <= OPTIONS["steps"]
    assert (found.y != found.y_lambda).any()


def test_no_gradient_no_step() -> None:
    instance, truth = draw(1)
    plane = loss_direction(instance, truth), random_direction(instance, np.random.default_rng(1))
    found = descend(instance, truth, plane, 1e-9, **OPTIONS)
    assert found.losses[0] > 0
    assert found.gradient.tolist() == [0, 0]
    assert found.path.tolist() == [[0, 0]]
    assert (found.y == found.y_lambda).all()


def test_the_path_ends_at_the_limit() -> None:
    instance, truth = draw(1)
    plane = loss_direction(instance, truth), random_direction(instance, np.random.default_rng(1))
    found = descend(instance, truth, plane, 2.0, length=0.05, steps=80, limit=0.06)
    assert len(found.path) == 2
    assert np.abs(found.path).max() <= 0.06
    assert found.losses[-1] > 0
    with pytest.raises(ValueError, match="lambda must be positive, not 0"):
        descend(instance, truth, plane, 0.0, **OPTIONS)
