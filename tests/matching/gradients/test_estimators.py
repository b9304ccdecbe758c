"""What holds for every estimator of the solver's gradient."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from bbgm.config import GRADIENTS
from bbgm.matching.blackbox import SolverLayer, hamming_gradient, match_graphs
from bbgm.matching.blackbox_multi import match_multi
from bbgm.matching.solvers import make_solver
from bbgm.methods.losses import hamming_loss
from tests.support.draws import draw_instance, gradient, with_gradients
from tests.support.enumeration import all_costs, all_matchings
from tests.support.gradients import OPTIONS, draw_batch, gradients_of


def test_an_unknown_name_lists_all():
    instances = [with_gradients(draw_instance(np.random.default_rng(1)))]
    with pytest.raises(ValueError, match=r"'straight'.*'blackbox'.*'lpgd_right'.*'identity'.*'imle'.*'perturbed'"):
        match_graphs(instances, lambda_=80.0, gradient="straight")


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"sigma": -1.0}, {"rho": math.nan}, {"lambda_": 0.0}])
def test_options_out_of_range_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong)).rstrip("_")):
        replace(OPTIONS, **wrong)


@pytest.mark.parametrize("name", list(GRADIENTS))
def test_the_same_seed_gives_the_same_gradient_whatever_the_threads(name):
    rng = np.random.default_rng(2)
    instances = [draw_instance(rng, 6, 5) for _ in range(6)]
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            torch.manual_seed(3)
            found.append(gradients_of(instances, lambda_=20.0, gradient=name, options=replace(OPTIONS, seed=None)))
    finally:
        torch.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    assert any(unary.any() for unary, _ in found[0])


def test_only_the_estimator_that_learns_adds_to_the_state():
    assert [name for name in GRADIENTS if SolverLayer("best", name, OPTIONS).state_dict()] == ["aimle"]


@pytest.mark.parametrize("name", list(GRADIENTS))
def test_two_graphs_matched_jointly_are_a_pair(name):
    x = draw_instance(np.random.default_rng(16), 4, 4)
    one, other = with_gradients(x), with_gradients(x)
    v, _ = match_graphs([one], lambda_=5.0, gradient=name, options=OPTIONS)
    joint, _ = match_multi({(0, 1): other}, lambda_=5.0, gradient=name, options=OPTIONS)
    assert torch.equal(v[0], joint[0, 1])
    for matched in (v[0], joint[0, 1]):
        hamming_loss([matched], [torch.eye(4)]).backward()
    np.testing.assert_array_equal(gradient(one.unary), gradient(other.unary))
    np.testing.assert_array_equal(gradient(one.quadratic), gradient(other.quadratic))


@pytest.mark.parametrize("name", [name for name in GRADIENTS if name not in ("perturbed", "lpgd_left")])
def test_a_step_along_the_gradient_lowers_the_loss(name):
    """With one of several steps a wrong matching comes nearer to the truth, in nearly every problem.

    `lpgd_left` only makes worse matchings less attractive, and `perturbed` has too much variance.
    """
    rng = np.random.default_rng(17)
    instances = [draw_instance(rng, 5, 5) for _ in range(20)]
    found = gradients_of(instances, lambda_=60.0, gradient=name, options=replace(OPTIONS, samples=10))
    better = wrong = 0
    for x, change in zip(instances, found, strict=True):
        (d, _), constant = hamming_gradient(np.eye(5, dtype=bool), x)

        def loss(y, d=d, constant=constant):
            return constant + float((d * y[0]).sum())

        before = loss(x.solution(enumerate_one(x)))
        if before:
            wrong += 1
            after = min(
                loss((moved := x.plus(change, -step)).solution(enumerate_one(moved))) for step in (2, 8, 32, 128)
            )
            better += after < before
    assert wrong >= 18
    assert better >= 0.9 * wrong


def enumerate_one(x):
    """The solver's matching, checked by enumeration."""
    (found,) = make_solver("best")([x])
    assignments = all_matchings(*x.unary.shape)
    assert x.cost(x.solution(found)) == pytest.approx(all_costs(x, assignments).min())
    return found


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", list(GRADIENTS))
def test_all_costs_at_once_are_solved_as_one_by_one(name, full):
    """Our solver takes the costs of a whole batch; a solver that takes instances gives the same, bit by bit."""
    rng = np.random.default_rng(23)
    instances = [draw_instance(rng, *size) for size in ((5, 4), (1, 3), (6, 6), (0, 2), (4, 5))]
    counted = make_solver("best", full=full)
    alone = make_solver("best", full=full)
    found = []
    for solver in (counted, lambda given: alone(given)):
        inputs = [with_gradients(x) for x in instances]
        v, e = SolverLayer(solver, name, OPTIONS)(inputs)
        hamming_loss(v, [torch.eye(*part.shape) for part in v]).backward()
        found.append([part.detach().numpy() for part in [*v, *e]])
        found[-1] += [gradient(part) for x in inputs for part in (x.unary, x.quadratic)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert counted.instances == alone.instances


def test_costs_that_are_not_finite_stop_the_layer():
    instances, batch, w, _ = draw_batch(3)
    w[len(w) // 2] = math.nan
    with pytest.raises(ValueError, match="costs for the solver are NaN or infinite: the network has diverged"):
        batch.solve(w)
    assert len(instances) == len(batch)
