"""GLMNet by its equations."""

import numpy as np
import pytest
import torch

from bbgm.methods.glmnet.network import LearnedGraphConv, constraint_loss
from bbgm.methods.soft.losses import permutation
from tests.support.embeddings import make_embedding, nodes_and_adjacency, parameters, relu, scores_of, sinkhorn


def reference(matcher, pair):
    """Scores of one pair (n1, n2) with dense matrices."""
    p, options = parameters(matcher), matcher.options
    width = options.width

    def layer(name, x, adjacency, own, neighbours):
        theta, weight = p[f"{name}.theta"], p[f"{name}.linear.weight"]
        powers = adjacency * np.exp(relu((x @ theta[0])[:, None] + (x @ theta[1])[None]))
        learned = powers / np.where(adjacency.any(axis=1, keepdims=True), powers.sum(axis=1, keepdims=True), 1)
        return relu(own * x @ weight[:width].T + neighbours * learned @ x @ weight[width:].T)

    (x1, a1, _), (x2, a2, _) = nodes_and_adjacency(matcher, pair)
    x1, x2 = (layer("smoothing", x, a, 1 - options.smoothing, options.smoothing) for x, a in ((x1, a1), (x2, a2)))
    s = sinkhorn(matcher, x1 @ p["early.weight"] @ x2.T)
    g1 = np.concatenate([x1, s @ x2], axis=1) @ p["cross1.weight"].T
    g2 = np.concatenate([x2, s.T @ x1], axis=1) @ p["cross2.weight"].T
    h1, h2 = (layer("sharpening", g, a, 1 + options.sharpening, -options.sharpening) for g, a in ((g1, a1), (g2, a2)))
    return h1 @ p["affinity.weight"] @ h2.T


def test_scores_are_the_equations_for_every_pair_of_a_mixed_batch(pairs):
    matcher = make_embedding("glmnet", smoothing=0.3, sharpening=0.6)
    with torch.no_grad():  # so that the graphs are not uniform, as after training
        for name, parameter in matcher.named_parameters():
            if name.endswith("theta"):
                parameter.mul_(300)
    for found, pair in zip(scores_of(matcher, pairs), pairs, strict=True):
        np.testing.assert_allclose(found, reference(matcher, pair), rtol=1e-9, atol=1e-9)


def test_a_learned_graph_has_weights_of_sum_1_and_overflows_nowhere():
    torch.manual_seed(0)
    layer, x = LearnedGraphConv(4, 3, 1.0, 1.0), 1e6 * torch.randn(5, 4)
    edge_index = torch.tensor([[1, 2, 3, 0, 2], [0, 0, 0, 1, 1]])
    weights = layer.weights(x, edge_index)[:, 0]
    torch.testing.assert_close(torch.stack([weights[:3].sum(), weights[3:].sum()]), torch.ones(2))
    assert layer(x, edge_index).isfinite().all()


def test_the_constraint_loss_is_its_sums():
    s = np.random.default_rng(0).uniform(size=(3, 4))
    total = 0.0
    for i in range(3):
        for j in range(4):
            total += s[i, j] * (s[i].sum() - s[i, j] + s[:, j].sum() - s[i, j])
    assert constraint_loss(torch.from_numpy(s)).item() == pytest.approx(total, rel=1e-12)
    assert constraint_loss(torch.eye(4)).item() == 0


def test_the_loss_adds_the_constraint(make_pair):
    pairs = [make_pair(0, 1), make_pair(0, 2, 7, 5)]
    matcher = make_embedding("glmnet", constraint=0.5)
    batch = next(matcher.batches(pairs, 2))
    log_match = matcher.normalise(batch, matcher.scores(batch))
    expected = permutation(log_match, pairs) + 0.5 * sum(constraint_loss(one.exp()) for one in log_match) / 17
    torch.testing.assert_close(matcher.loss(pairs), expected)
