"""The layer for several graphs: brute force, and its gradient against difference quotients."""

import numpy as np
import pytest
import torch

from bbgm.matching.blackbox import match_graphs
from bbgm.matching.blackbox_multi import joint_interpolated_loss, match_multi
from bbgm.matching.joint_solvers import solve_jointly
from bbgm.methods.losses import hamming_loss
from bbgm.scoring.cycles import inconsistent_triples
from tests.support.draws import draw_direction, draw_set, gradient, with_gradients
from tests.support.enumeration import cheapest, consistent_matchings, enumerate_jointly


def cost(instances, matchings):
    return sum(x.cost(x.solution(matchings[pair])) for pair, x in instances.items())


def proved_solver(instances):
    """Our solver; each of its solutions is checked to be optimal, by enumeration."""
    found = solve_jointly(instances).matchings
    assert cost(instances, found) == pytest.approx(cost(instances, enumerate_jointly(instances)), abs=1e-9)
    return found


def layer(instances, lambda_, method="best", dtype=torch.float64):
    """The inputs of the layer, and its indicators v and e."""
    inputs = {pair: with_gradients(x, dtype) for pair, x in instances.items()}
    return inputs, *match_multi(inputs, lambda_=lambda_, method=method)


def as_matchings(v):
    """Assignments from indicators."""
    return {
        pair: np.where(part.detach().numpy().any(axis=1), part.detach().numpy().argmax(axis=1), -1)
        for pair, part in v.items()
    }


def test_the_enumeration_is_of_all_consistent_matchings():
    assert len(consistent_matchings((1, 1))[0, 1]) == 2
    assert len(consistent_matchings((1, 1, 1))[0, 1]) == 5  # partitions of three nodes
    assert len(consistent_matchings((2, 2))[0, 1]) == 7  # partial matchings of 2 and 2
    for m in range(0, len(consistent_matchings((2, 2, 2))[0, 1]), 7):
        chosen = {pair: found[m] for pair, found in consistent_matchings((2, 2, 2)).items()}
        assert inconsistent_triples(chosen) == []


@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 3, 1), (2, 2, 2, 2), (3, 3)])
def test_forward_is_the_cheapest_consistent_matching(sizes):
    rng = np.random.default_rng([1, *sizes])
    for _ in range(15):
        instances = draw_set(rng, sizes)
        _, v, e = layer(instances, 1.0)
        found = as_matchings(v)
        assert inconsistent_triples(found) == []
        value = sum(x.cost((v[pair].detach().numpy(), e[pair].detach().numpy())) for pair, x in instances.items())
        assert value == pytest.approx(cost(instances, enumerate_jointly(instances)))


def test_the_pairs_by_themselves_would_contradict_each_other():
    """Else the tests here would see nothing of the joint problem."""
    rng = np.random.default_rng(2)
    broken = 0
    for _ in range(20):
        instances = draw_set(rng)
        alone = {pair: cheapest(x) for pair, x in instances.items()}
        broken += bool(inconsistent_triples(alone))
    assert broken >= 15


def test_backward_is_algorithm_1_on_the_joint_problem():
    """Also where the loss sees one pair only: the other pairs' costs get their gradients too."""
    rng = np.random.default_rng(3)
    elsewhere = 0
    for k in range(30):
        instances = draw_set(rng)
        inputs, v, e = layer(instances, 3.0)
        seen = [(0, 1)] if k % 2 else list(instances)
        weights = {
            pair: draw_direction(rng, x) if pair in seen else (np.zeros_like(x.unary), np.zeros_like(x.quadratic))
            for pair, x in instances.items()
        }
        sum(
            (v[pair] * torch.from_numpy(weights[pair][0])).sum() + (e[pair] * torch.from_numpy(weights[pair][1])).sum()
            for pair in seen
        ).backward()
        y = enumerate_jointly(instances)
        moved = {pair: x.plus(weights[pair], 3.0) for pair, x in instances.items()}
        y_lambda = enumerate_jointly(moved)
        for pair, x in instances.items():
            before, after = x.solution(y[pair]), x.solution(y_lambda[pair])
            np.testing.assert_allclose(gradient(inputs[pair].unary), (after[0] - before[0]) / 3.0)
            np.testing.assert_allclose(gradient(inputs[pair].quadratic), (after[1] - before[1]) / 3.0)
        elsewhere += k % 2 and bool(gradient(inputs[1, 2].unary).any())
    assert elsewhere >= 5


def gradient_and_quotient(rng, lambda_):
    """Directional derivative of a set's Hamming loss: from the layer, and from f_lambda; NaN where that has a kink."""
    instances = draw_set(rng)
    matchings = consistent_matchings((3, 3, 3))
    m = rng.integers(len(matchings[0, 1]))
    truth = {pair: x.solution(matchings[pair][m])[0] for pair, x in instances.items()}
    inputs, v, _ = layer(instances, lambda_, proved_solver)
    hamming_loss(list(v.values()), [torch.from_numpy(truth[pair]) for pair in v]).backward()

    directions = {pair: draw_direction(rng, x) for pair, x in instances.items()}
    slope = sum(
        float((gradient(inputs[pair].unary) * dv).sum() + (gradient(inputs[pair].quadratic) * de).sum())
        for pair, (dv, de) in directions.items()
    )
    gradients = {pair: ((1 - 2 * truth[pair]) / 3, np.zeros_like(x.quadratic)) for pair, x in instances.items()}
    constant = sum(true.sum() for true in truth.values()) / 3
    step = 1e-5
    ahead, here, behind = (
        joint_interpolated_loss(
            {pair: x.plus(directions[pair], sign * step) for pair, x in instances.items()},
            gradients, constant, lambda_, enumerate_jointly,
        )
        for sign in (1, 0, -1)
    )  # fmt: skip
    right, left = (ahead - here) / step, (here - behind) / step
    return slope, right if abs(right - left) < 1e-7 else np.nan


def test_gradient_equals_difference_quotients_of_the_interpolation():
    """60 random sets and directions, proved optimal; f_lambda by enumeration."""
    rng = np.random.default_rng(4)
    pairs = [gradient_and_quotient(rng, (2.0, 8.0, 32.0)[k % 3]) for k in range(66)]
    slopes, quotients = np.array([pair for pair in pairs if np.isfinite(pair[1])]).T
    assert len(slopes) >= 60  # kinks are rare
    np.testing.assert_allclose(slopes, quotients, atol=1e-6, rtol=0)
    assert np.count_nonzero(slopes) > 40


def test_interpolation_has_the_loss_as_its_limit_and_sinks_with_lambda():
    rng = np.random.default_rng(5)
    for _ in range(5):
        instances = draw_set(rng)
        found = enumerate_jointly(instances)
        gradients = {
            pair: (rng.normal(size=x.unary.shape), np.zeros_like(x.quadratic)) for pair, x in instances.items()
        }
        previous = 1.5 + sum((gradients[pair][0] * x.solution(found[pair])[0]).sum() for pair, x in instances.items())
        assert joint_interpolated_loss(instances, gradients, 1.5, 1e-9) == pytest.approx(previous, abs=1e-5)
        for lambda_ in (0.1, 1.0, 10.0):
            value = joint_interpolated_loss(instances, gradients, 1.5, lambda_)
            assert value <= previous + 1e-9
            previous = value


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_two_graphs_are_the_layer_for_pairs(dtype):
    """As the paper notes: the same output and the same gradient, bit by bit."""
    rng = np.random.default_rng(6)
    for sizes in [(5, 5), (6, 8), (1, 4), (0, 3)] * 5:
        instances = draw_set(rng, sizes)
        truth = torch.eye(*sizes)
        inputs, v, e = layer(instances, 20.0, dtype=dtype)
        hamming_loss([v[0, 1]], [truth]).backward()

        alone = with_gradients(instances[0, 1], dtype)
        v_alone, e_alone = match_graphs([alone], lambda_=20.0)
        hamming_loss(v_alone, [truth]).backward()
        for ours, single in ((v[0, 1], v_alone[0]), (e[0, 1], e_alone[0])):
            assert torch.equal(ours, single)
            assert ours.dtype == dtype
        assert np.array_equal(gradient(inputs[0, 1].unary), gradient(alone.unary))
        assert np.array_equal(gradient(inputs[0, 1].quadratic), gradient(alone.quadratic))


def test_a_zero_gradient_stays_zero_and_solves_nothing():
    calls = []

    def counting(instances):
        calls.append(len(instances))
        return enumerate_jointly(instances)

    instances = draw_set(np.random.default_rng(7))
    inputs, v, _ = layer(instances, 10.0, counting)
    (0 * sum(part.sum() for part in v.values())).backward()
    assert calls == [3]
    assert not any(gradient(costs).any() for x in inputs.values() for costs in (x.unary, x.quadratic))
    _, v, _ = layer(instances, 10.0, counting)
    v[0, 2].sum().backward()
    assert calls == [3, 3, 3]  # all three pairs again


def test_sync_is_consistent_and_a_pair_may_be_missing():
    instances = draw_set(np.random.default_rng(8), (5, 6, 5, 4))
    assert inconsistent_triples(as_matchings(layer(instances, 1.0, "sync")[1])) == []
    del instances[0, 3]
    _, v, e = layer(instances, 1.0)
    assert v.keys() == e.keys() == instances.keys()


def test_numbers_of_graphs_are_names_in_any_order():
    """Graphs 2, 5 and 9 give what 0, 1 and 2 give, in any order of the keys."""
    instances = draw_set(np.random.default_rng(9))
    number = {0: 2, 1: 5, 2: 9}
    renamed = {(number[p], number[q]): x for (p, q), x in reversed(instances.items())}
    (_, v, _), (_, other, _) = layer(instances, 1.0), layer(renamed, 1.0)
    assert all(torch.equal(v[p, q], other[number[p], number[q]]) for p, q in v)


def test_wrong_arguments_are_named():
    instances = draw_set(np.random.default_rng(10))
    inputs = {pair: with_gradients(x) for pair, x in instances.items()}
    with pytest.raises(ValueError, match="lambda must be positive, not 0"):
        match_multi(inputs, lambda_=0)
    with pytest.raises(ValueError, match="no pair of graphs to match"):
        match_multi({}, lambda_=1.0)
    with pytest.raises(ValueError, match=r"'fastest'"):
        match_multi(inputs, lambda_=1.0, method="fastest")
    with pytest.raises(ValueError, match="has p > q"):
        match_multi({(1, 0): inputs[0, 1]}, lambda_=1.0)
    instances[0, 1].unary[0, 0] = np.nan
    with pytest.raises(ValueError, match="the network has diverged"):
        match_multi({(0, 1): with_gradients(instances[0, 1])}, lambda_=1.0)
