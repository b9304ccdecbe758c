"""Every estimator of the solver's gradient: against closed forms, enumeration, and difference quotients."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from bbgm.config import GRADIENTS
from bbgm.matching.blackbox import SolverLayer, hamming_gradient, match_graphs
from bbgm.matching.blackbox_multi import match_multi
from bbgm.matching.gradients.batch import GradientOptions, ProblemBatch, as_array, joined
from bbgm.matching.gradients.interpolation import lpgd_left, lpgd_right
from bbgm.matching.gradients.perturbation import AdaptiveIMLE, gamma_noise, imle, normal_noise, perturbed, scaled
from bbgm.matching.instance import Instance
from bbgm.matching.solvers import make_solver
from bbgm.methods.losses import hamming_loss
from tests.support.draws import draw_direction, draw_instance, gradient, with_gradients
from tests.support.enumeration import all_costs, all_matchings, enumerate_solver

OPTIONS = GradientOptions(lambda_=5.0, rho=0.4, samples=4, sigma=0.5, sigma_edges=0.2, seed=7)


def draw_batch(seed, sizes=((4, 3), (3, 3), (4, 4)), solver="best"):
    """A batch, its costs and a direction d, as vectors."""
    rng = np.random.default_rng(seed)
    instances = [draw_instance(rng, *size) for size in sizes]
    batch = ProblemBatch.of([with_gradients(x) for x in instances], make_solver(solver))
    w = as_array(joined([with_gradients(x) for x in instances]))
    return instances, batch, w, rng.normal(size=len(w))


def of_problem(batch, vector, b):
    """The entries of one problem."""
    return vector[batch.owner == b]


def gradients_of(instances, **how):
    """dL/dw of both kinds of costs, for the Hamming distance to the identity."""
    inputs = [with_gradients(x) for x in instances]
    v, _ = match_graphs(inputs, **how)
    hamming_loss(v, [torch.eye(*part.shape) for part in v]).backward()
    return [(gradient(x.unary), gradient(x.quadratic)) for x in inputs]


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


def test_only_the_estimator_that_learns_adds_to_the_state():
    assert [name for name in GRADIENTS if SolverLayer("best", name, OPTIONS).state_dict()] == ["aimle"]


def test_problems_with_the_same_costs_are_not_solved_again():
    _, batch, w, d = draw_batch(15)
    d = d * (batch.owner == 1)
    solver = batch.solver
    imle(batch, w, OPTIONS)[1](d)
    assert solver.instances == OPTIONS.samples * len(batch) + OPTIONS.samples
    before = solver.instances
    perturbed(batch, w, OPTIONS)[1](d)
    assert solver.instances == before + OPTIONS.samples * len(batch)  # nothing is solved in the backward pass


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
