"""NGM: the method by its equations with the association matrix in full, gradients, symmetries, what it can learn."""

import numpy as np
import pytest
import torch

from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.methods.base import make_matcher
from bbgm.runs.evaluate import evaluate
from tests.support.association import (
    copies,
    featured,
    full_matrix,
    log_loss,
    make_batch,
    make_soft,
    plain_sinkhorn,
    share_right,
)
from tests.support.training import shuffle, slope_and_quotient, train_a_little

METHODS = ["ngm", "ngm_edges"]


def perceptron(module, x):
    """Linear - ReLU - Linear - ReLU."""
    for linear in (module[0], module[2]):
        x = np.maximum(x @ linear.weight.detach().numpy().T + linear.bias.detach().numpy(), 0)
    return x


def reference(matcher, one, two):
    """Scores of one pair by the equations: dense matrices over all n1 n2 matches."""
    n1, n2 = len(one[0]), len(two[0])
    k = full_matrix(matcher.association, one, two)
    v, off = k.diagonal()[:, None], k - np.diag(k.diagonal())
    adjacent = off > 0
    mean = adjacent / np.maximum(adjacent.sum(axis=1, keepdims=True), 1)
    w = off[:, :, None]
    for layer, classify in zip(matcher.layers, matcher.classify, strict=True):
        message = perceptron(layer.message, v)
        if layer.edge is not None:
            there = np.broadcast_to(v[None], (*off.shape, v.shape[1]))
            w = perceptron(layer.edge, np.concatenate([w, there], axis=2))
        m = np.einsum("xy,xyc,yc->xc", mean, np.broadcast_to(w, (*off.shape, message.shape[1])), message)
        m = m + perceptron(layer.own, v)
        z = m @ classify.weight.detach().numpy()[0] + classify.bias.item()
        v = np.concatenate([m, plain_sinkhorn(z.reshape(n1, n2), 0.05).reshape(-1, 1)], axis=1)
    last = matcher.last
    return (v @ last.weight.detach().numpy()[0] + last.bias.item()).reshape(n1, n2)


@torch.no_grad()
@pytest.mark.parametrize("method", METHODS)
def test_scores_are_the_equations_for_every_pair_of_a_mixed_batch(pairs, method):
    matcher = make_soft(method)
    batch = next(matcher.batches(pairs, len(pairs)))
    scores = matcher.scores(batch)
    for b, (n1, n2) in enumerate(zip(batch.source.sizes, batch.target.sizes, strict=True)):
        np.testing.assert_allclose(scores[b, :n1, :n2], reference(matcher, *featured(batch, b)), rtol=1e-7, atol=1e-9)
    assert scores.std() > 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_gradients_are_those_of_finite_differences(make_pair, method):
    matcher, pairs = make_soft(method), [make_pair(0, 1, 5, 5), make_pair(2, 3, 4, 6, seed=3)]
    matcher.loss(pairs).backward()
    rng, step, slopes = np.random.default_rng(0), 1e-8, []  # few ReLUs change their side within such a step
    for name, parameter in matcher.named_parameters():
        if name.startswith("backbone."):
            continue
        direction = torch.from_numpy(rng.normal(size=parameter.shape))
        slope, quotient = slope_and_quotient(matcher, pairs, parameter, direction, step)
        assert slope == pytest.approx(quotient, rel=1e-3, abs=2e-7)
        slopes.append(slope)
    assert np.mean(np.abs(slopes) > 1e-5) > 0.5


@torch.no_grad()
@pytest.mark.parametrize("method", METHODS)
def test_matches_follow_the_order_of_the_keypoints_and_ignore_other_pairs(pairs, method):
    matcher, rng = make_soft(method), np.random.default_rng(9)
    together = matcher.scores(next(matcher.batches(pairs, len(pairs))))
    for b, pair in enumerate(pairs):
        n1, n2 = len(pair.kept1), len(pair.kept2)
        shuffled, p, q = shuffle(pair, rng)
        alone = matcher.scores(next(matcher.batches([shuffled], 1)))[0]
        torch.testing.assert_close(alone, together[b, :n1, :n2][p][:, q], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_it_learns_to_match_copies_and_cannot_match_noise(method):
    matcher, rng = make_soft(method), np.random.default_rng(0)
    optimiser = torch.optim.Adam(matcher.parameter_groups(1e-2, 0.0))
    for _ in range(40):
        optimiser.zero_grad()
        log_loss(matcher, *copies(8, 8, 192, rng)).backward()
        optimiser.step()
    assert share_right(matcher, *copies(50, 8, 192, rng)) >= 0.99
    noise = make_batch([(8, 8)] * 200, 192, rng)
    found = share_right(matcher, noise, np.stack([rng.permutation(8) for _ in range(200)]))
    assert 0.08 < found < 0.17  # three standard deviations about 1 in 8


@pytest.mark.parametrize("method", METHODS)
def test_it_learns(method):
    """A few steps on the demo data: the loss falls, and the accuracy rises above the untrained network's."""
    config = load_run(method, "smoke", 0, protocol={"test_pairs_per_class": 20})
    dataset = open_dataset(config.data, config.protocol)
    matcher = make_matcher(config)
    before = evaluate(matcher, dataset, config.protocol).mean["accuracy"]
    losses = train_a_little(matcher, dataset, config, learning_rate=5e-3, backbone_factor=0.1)
    assert np.mean(losses[-3:]) < 0.9 * np.mean(losses[:3])
    assert evaluate(matcher, dataset, config.protocol).mean["accuracy"] > before + 0.1


def test_edge_embeddings_are_further_parameters_of_the_same_network():
    plain, edges = (dict(make_soft(method).named_parameters()) for method in METHODS)
    assert all(edges[name].shape == parameter.shape for name, parameter in plain.items())
    assert {name for name in edges if name not in plain} == {
        f"layers.{k}.edge.{j}.{kind}" for k in range(3) for j in (0, 2) for kind in ("weight", "bias")
    }


def test_configurations_that_cannot_work():
    with pytest.raises(ValueError, match=r"rounding: solver needs costs, which ngm does not have: set rounding: lap"):
        load_run("ngm", "smoke", 0, soft={"rounding": "solver"})
    with pytest.raises(ValueError, match=r"sets of images need costs, which ngm does not have"):
        load_run("ngm", "smoke", 0, filter="unfiltered", protocol={"test_sets_per_class": 2})
    with pytest.raises(ValueError, match=r"ngm.layers.*greater than 0"):
        load_run("ngm", "smoke", 0, ngm={"layers": 0})
    assert load_run("ngm", "smoke", 0, filter="unfiltered").protocol.test_sets_per_class == 0
