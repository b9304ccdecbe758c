"""PCA-GM and its variants by their equations."""

import numpy as np
import pytest

from tests.support.embeddings import (
    make_embedding,
    nodes_and_adjacency,
    parameters,
    relu,
    row_mean,
    scores_of,
    sinkhorn,
)


def reference(matcher, pair):
    """Scores of one pair (n1, n2) with dense matrices."""
    p, options = parameters(matcher), matcher.options
    width = options.width

    def layer(name, h, adjacency):
        weight, bias = p[f"{name}.linear.weight"], p[f"{name}.linear.bias"]
        neighbours = relu(h @ weight[:width].T + bias[:width])
        if options.neighbours == "relu_of_sum":
            arrived = adjacency @ (h @ weight[:width].T + bias[:width])
            return relu(arrived) + relu(h @ weight[width:].T + bias[width:])
        shares = row_mean(adjacency) if options.neighbours == "mean" else adjacency
        return shares @ neighbours + relu(h @ weight[width:].T + bias[width:])

    (x1, a1, _), (x2, a2, _) = nodes_and_adjacency(matcher, pair)
    h1, h2 = layer("first", x1, a1), layer("first", x2, a2)

    def last(g1, g2):
        return layer("second", g1, a1) @ p["affinity.weight"] @ layer("second", g2, a2).T

    def crossed(s):
        return [
            np.concatenate([own, other], axis=1) @ p["cross.weight"].T + p["cross.bias"]
            for own, other in ((h1, s @ h2), (h2, s.T @ h1))
        ]

    if options.cross == "none":
        return last(h1, h2)
    if options.cross == "once":
        return last(*crossed(sinkhorn(matcher, h1 @ p["early.weight"] @ h2.T)))
    soft = np.zeros((len(h1), len(h2)))
    for _ in range(options.repetitions):
        scores = last(*crossed(soft))
        soft = sinkhorn(matcher, scores)
    return scores


@pytest.mark.parametrize(
    "settings",
    [
        {"cross": "none"},
        {"cross": "once"},
        {"cross": "once", "neighbours": "sum"},
        {"cross": "once", "neighbours": "relu_of_sum"},
        {"cross": "repeated"},
        {"cross": "repeated", "repetitions": 1},
    ],
    ids=["PIA-GM", "PCA-GM", "sum", "ReLU of the sum", "IPCA-GM", "one repetition"],
)
def test_scores_are_the_equations_for_every_pair_of_a_mixed_batch(pairs, settings):
    matcher = make_embedding("pca", **settings)
    for training in (True, False):  # which multiply the second layer's matrices with different things
        matcher.train(training)
        for found, pair in zip(scores_of(matcher, pairs), pairs, strict=True):
            np.testing.assert_allclose(found, reference(matcher, pair), rtol=1e-9, atol=1e-9)


def test_repetitions_differ(pairs):
    one, two, three = (scores_of(make_embedding("pca", cross="repeated", repetitions=k), pairs) for k in (1, 2, 3))
    assert np.abs(one[0] - two[0]).max() > 1e-4
    assert np.abs(two[0] - three[0]).max() > 1e-7


def test_the_first_scores_learn_through_the_cross_graph_layer(pairs):
    matcher = make_embedding("pca")
    matcher.loss(pairs).backward()
    gradient = dict(matcher.named_parameters())["early.weight"].grad
    assert gradient is not None
    assert gradient.abs().max() > 0
