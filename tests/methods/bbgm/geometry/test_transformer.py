"""The transformer: what its features depend on, and what they do not."""

import numpy as np
import pytest
import torch

from bbgm.graphs.delaunay import delaunay_graph
from bbgm.methods.bbgm.geometry.settings import TransformerConfig
from bbgm.methods.bbgm.geometry.transformer import KeypointTransformer
from bbgm.methods.bbgm.network import BBGM
from tests.support.bbgm_networks import make_config

C, CG = 6, 5


def make_transformer(cross=1, **settings):
    torch.manual_seed(0)
    made = KeypointTransformer(C, CG, TransformerConfig(layers=2, cross=cross, width=8, heads=2, **settings))
    with torch.no_grad():
        made.other.normal_()
    return made.eval()


def draw_pair(rng, n1, n2):
    """Looks, global features and graphs of one pair."""
    looks = [torch.from_numpy(rng.normal(size=(1, n, C))).float() for n in (n1, n2)]
    contexts = [torch.from_numpy(rng.normal(size=(1, CG))).float() for _ in range(2)]
    graphs = [[delaunay_graph(rng.uniform(20, 200, (n, 2)))] for n in (n1, n2)]
    return looks, contexts, graphs


def features(transformer, pair):
    with torch.no_grad():
        return transformer(*pair)


def changed(one, two):
    """Which keypoints have other features, (n,) bool."""
    return ((one - two).abs().amax(dim=2) > 1e-4)[0].numpy()


def test_pairs_of_a_batch_do_not_see_each_other():
    rng = np.random.default_rng(0)
    pairs = [draw_pair(rng, 4, 7), draw_pair(rng, 6, 3)]
    padded = [torch.zeros(2, n, C) for n in (6, 7)]
    for k, (looks, _, _) in enumerate(pairs):
        for side in (0, 1):
            padded[side][k, : looks[side].shape[1]] = looks[side][0]
    together = features(
        make_transformer(),
        (
            padded,
            [torch.cat([pair[1][side] for pair in pairs]) for side in (0, 1)],
            [[graph for pair in pairs for graph in pair[2][side]] for side in (0, 1)],
        ),
    )
    for k, pair in enumerate(pairs):
        for side, alone in enumerate(features(make_transformer(), pair)):
            n = alone.shape[1]
            torch.testing.assert_close(together[side][k, :n], alone[0])
            assert not together[side][k, n:].any()


def test_source_and_target_change_places():
    looks, contexts, graphs = draw_pair(np.random.default_rng(1), 4, 6)
    one, two = features(make_transformer(), (looks, contexts, graphs))
    again = features(make_transformer(), (looks[::-1], contexts[::-1], graphs[::-1]))
    torch.testing.assert_close((two, one), tuple(again))


def test_the_order_of_keypoints_does_not_matter():
    looks, contexts, graphs = draw_pair(np.random.default_rng(2), 5, 4)
    one, two = features(make_transformer(), (looks, contexts, graphs))
    order = np.array([3, 0, 4, 1, 2])
    shuffled = [delaunay_graph(graphs[0][0].xy[order])]
    other, same = features(make_transformer(), ([looks[0][:, order], looks[1]], contexts, [shuffled, graphs[1]]))
    torch.testing.assert_close(other, one[:, order])
    torch.testing.assert_close(same, two)


@pytest.mark.parametrize("cross", [0, 1])
def test_who_sees_whom(cross):
    """Another look of one source keypoint reaches all of its image, and the target's only by layers across."""
    looks, contexts, graphs = draw_pair(np.random.default_rng(3), 5, 4)
    before = features(make_transformer(cross), (looks, contexts, graphs))
    looks = [looks[0].clone(), looks[1]]
    looks[0][0, 2] = torch.randn(C)
    after = features(make_transformer(cross), (looks, contexts, graphs))
    assert changed(before[0], after[0]).all()
    assert changed(before[1], after[1]).all() == bool(cross)
    assert changed(before[1], after[1]).any() == bool(cross)


def test_it_takes_the_place_of_other_encoders():
    for other in ({"refine": True}, {"positions": {"kind": "mlp"}}, {"projection": 16}):
        with pytest.raises(ValueError, match=r"network\.transformer takes the place of refine, positions and projec"):
            make_config(network={"refine": False, **other, "transformer": {"layers": 1}})
    with pytest.raises(ValueError, match=r"transformer\.cross is 2 of 1 layers"):
        TransformerConfig(layers=1, cross=2)
    with pytest.raises(ValueError, match=r"transformer\.width is 10: make it a multiple"):
        TransformerConfig(width=10)


def test_its_features_are_the_costs(pairs):
    """The solver sees minus the cosines, and the gradient of the loss reaches every layer."""
    config = make_config(
        network={"refine": False, "affinity": "cosine", "transformer": {"layers": 2, "cross": 1, "width": 16}},
        solver={"margin": 1.0},
    )
    matcher = BBGM(config).eval()
    (computed,) = matcher.forward_passes(*matcher.sides_of(pairs[:1]))
    x, y = computed.refined
    assert x.shape[2] == 16
    expected = torch.nn.functional.cosine_similarity(x[0][:, None], y[0][None], dim=2) - 0.5
    torch.testing.assert_close(-computed.unary[0], expected)
    matcher.train().loss(pairs[:4]).backward()
    silent = [
        name
        for name, parameter in matcher.transformer.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    assert silent == []
