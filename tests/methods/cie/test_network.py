"""CIE by its equations."""

import numpy as np
import pytest

from tests.support.embeddings import make_embedding, nodes_and_adjacency, parameters, relu, scores_of, sinkhorn


def reference(matcher, pair):
    """Scores of one pair (n1, n2) with dense (n, n, D) arrays of edges."""
    p, options = parameters(matcher), matcher.options
    width = options.width

    def layer(name, h, e, adjacency):
        weight, bias = p[f"{name}.nodes.weight"], p[f"{name}.nodes.bias"]
        message, own = h @ weight[:width].T + bias[:width], h @ weight[width:].T + bias[width:]
        w1e = e @ p[f"{name}.edges.weight"].T + p[f"{name}.edges.bias"]
        arrived = np.einsum("ij,ijq,jq->iq", adjacency, w1e, message)
        edges = relu(w1e)
        if options.edges == "cie2":
            edges = edges + relu(np.abs(own[:, None] - own[None]) * e)
        return relu(arrived) + relu(own), edges

    first = []
    for x, adjacency, xy in nodes_and_adjacency(matcher, pair):
        distance = np.linalg.norm(xy[:, None] - xy[None], axis=2)
        inverse = 256 / np.maximum(distance, 1)
        features = {"exponential": np.exp(-distance / 256), "inverse": inverse, "constant": np.ones_like(distance)}
        numbers = features[options.edge_feature]
        first.append((*layer("first", x, numbers[:, :, None], adjacency), adjacency))
    (h1, e1, a1), (h2, e2, a2) = first
    s = sinkhorn(matcher, h1 @ p["early.weight"] @ h2.T)
    last = [
        layer("second", np.concatenate([own, other], axis=1) @ p["cross.weight"].T + p["cross.bias"], e, a)[0]
        for own, other, e, a in ((h1, s @ h2, e1, a1), (h2, s.T @ h1, e2, a2))
    ]
    return last[0] @ p["affinity.weight"] @ last[1].T


@pytest.mark.parametrize("edges", ["cie1", "cie2"])
@pytest.mark.parametrize("edge_feature", ["exponential", "inverse", "constant"])
def test_scores_are_the_equations_for_every_pair_of_a_mixed_batch(pairs, edges, edge_feature):
    matcher = make_embedding("cie", edges=edges, edge_feature=edge_feature)
    for training in (True, False):  # which multiply the second layer's matrices with different things
        matcher.train(training)
        for found, pair in zip(scores_of(matcher, pairs), pairs, strict=True):
            np.testing.assert_allclose(found, reference(matcher, pair), rtol=1e-9, atol=1e-9)


def test_lengths_matter(pairs):
    """Also those of edges whose ends look the same: the two features of an edge give other scores."""
    one, other = (scores_of(make_embedding("cie", edge_feature=f), pairs) for f in ("exponential", "inverse"))
    assert np.abs(one[0] - other[0]).max() > 1e-3
