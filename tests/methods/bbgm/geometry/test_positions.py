"""Features of positions: what they depend on, and what they do not."""

import numpy as np
import pytest
import torch

from bbgm.graphs.delaunay import delaunay_graph
from bbgm.methods.bbgm.geometry.positions import PositionEncoder, standardised
from bbgm.methods.bbgm.geometry.settings import PositionsConfig
from bbgm.methods.bbgm.network import BBGM
from tests.support.bbgm_networks import make_config, trained_a_little


def make_encoder(**settings):
    torch.manual_seed(0)
    return PositionEncoder(6, PositionsConfig(**{"kind": "attention", "width": 8, "heads": 2, **settings})).eval()


@pytest.fixture
def graphs():
    rng = np.random.default_rng(0)
    return [delaunay_graph(rng.uniform(20, 200, (n, 2))) for n in (5, 1, 8, 2)]


@pytest.mark.parametrize("kind", ["mlp", "attention"])
def test_company_does_not_matter_and_order_follows(graphs, kind):
    encoder = make_encoder(kind=kind)
    with torch.no_grad():
        together = torch.split(encoder(graphs), [len(graph.xy) for graph in graphs])
        for graph, rows in zip(graphs, together, strict=True):
            torch.testing.assert_close(encoder([graph]), rows)
        order = np.array([3, 0, 4, 1, 2])
        torch.testing.assert_close(encoder([delaunay_graph(graphs[0].xy[order])]), together[0][order])


@pytest.mark.parametrize("kind", ["mlp", "attention"])
def test_who_sees_whom(graphs, kind):
    """With coordinates of the frame, moving one keypoint changes the others' features by attention only."""
    encoder = make_encoder(kind=kind, coordinates="frame")
    moved = graphs[0].xy.copy()
    moved[0] += 30
    with torch.no_grad():
        before, after = encoder(graphs[:1]), encoder([delaunay_graph(moved)])
    assert not torch.allclose(before[0], after[0], rtol=1e-3)
    assert torch.allclose(before[1:], after[1:], rtol=1e-5) == (kind == "mlp")


@pytest.mark.parametrize(("coordinates", "same"), [("spread", True), ("frame", False), ("both", False)])
def test_size_and_place_in_the_frame(graphs, coordinates, same):
    encoder = make_encoder(coordinates=coordinates)
    with torch.no_grad():
        one, two = encoder(graphs[:1]), encoder([delaunay_graph(20 + 0.5 * graphs[0].xy)])
    assert torch.allclose(one, two, rtol=1e-4, atol=1e-6) == same


def test_what_keypoints_look_like_reaches_the_others(graphs):
    """Another look of one keypoint changes the features of all in its graph, and of none elsewhere."""
    encoder = make_encoder(visual=True)
    look = torch.rand(sum(len(graph.xy) for graph in graphs), 6)
    other = look.clone()
    other[0] = other[0].flip(0)
    with torch.no_grad():
        before, after = encoder(graphs, look), encoder(graphs, other)
    same = torch.isclose(before, after, rtol=1e-5, atol=1e-7).all(dim=1)
    assert not same[:5].any()
    assert same[5:].all()
    with pytest.raises(ValueError, match=r"give them, or set positions.visual: false"):
        encoder(graphs)
    with pytest.raises(ValueError, match=r"positions.pretrain uses coordinates alone"):
        PositionsConfig(kind="attention", visual=True, pretrain={})


def test_standardised_coordinates():
    xy = standardised(np.random.default_rng(1).uniform(0, 256, (7, 2)))
    np.testing.assert_allclose(xy.mean(axis=0), 0, atol=1e-12)
    assert np.mean(np.sum(xy**2, axis=1)) == pytest.approx(1)
    assert np.array_equal(standardised(np.full((3, 2), 9.0)), np.zeros((3, 2)))


@pytest.mark.parametrize("place", ["before", "after"])
def test_they_are_added_to_what_keypoints_look_like(pairs, place):
    matcher = BBGM(make_config(network={"positions": {"kind": "mlp", "place": place}})).eval()
    graphs = [pair.source for pair in pairs[:1]]
    graph = delaunay_graph(graphs[0].xy)
    x = torch.rand(len(graph.xy), matcher.backbone.node_channels)
    assert matcher.positions is not None
    assert matcher.refinement is not None
    with torch.no_grad():
        extra = matcher.positions([graph])
        first, last = (extra, 0) if place == "before" else (0, extra)
        torch.testing.assert_close(matcher._refine(x, [graph]), matcher.refinement(x + first, [graph]) + last)


class Blind(BBGM):
    """Its keypoints all look the same."""

    def visual_features(self, images):
        return [(torch.ones_like(nodes), pooled) for nodes, pooled in super().visual_features(images)]


def test_a_network_can_match_by_positions_alone(make_pair):
    pairs = [make_pair(i, i, seed=i) for i in range(4)]
    positions = {"kind": "attention", "coordinates": "both", "scale": 1.0}
    config = make_config(network={"positions": positions, "refine": False, "freeze_backbone": True})
    matcher = Blind(config).train()
    optimiser = torch.optim.Adam(matcher.parameter_groups(1e-3, 1.0))
    for _ in range(60):
        optimiser.zero_grad()
        matcher.loss(pairs).backward()
        optimiser.step()
    found = matcher.eval().predict(pairs)
    assert np.mean([np.mean(a == pair.truth) for a, pair in zip(found, pairs, strict=True)]) > 0.9


def test_networks_with_positions_and_projection_train(pairs):
    network = {"positions": {"kind": "attention"}, "projection": 12, "affinity": "cosine"}
    matcher = trained_a_little(make_config(network=network), pairs, steps=2)
    (computed,) = matcher.forward_passes(*matcher.sides_of(pairs))
    assert computed.refined[0].shape[2] == 12
    assert computed.refined[0].min() >= 0
    assert [len(found) for found in matcher.predict(pairs)] == [len(pair.kept1) for pair in pairs]
