"""Adversarial keypoints: where they may go, that the loss is larger there, and what stays as it was."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from bbgm.data.sampling.pairs import KeypointPair
from bbgm.features.cache import compute_features
from bbgm.graphs.delaunay import delaunay_graph
from bbgm.methods.bbgm.geometry.adversary import _moved, adversarial
from bbgm.methods.bbgm.geometry.settings import AdversaryConfig
from bbgm.methods.bbgm.network import BBGM
from tests.support.bbgm_networks import make_config

SMOOTH = {"solver": {"weight": 0}, "contrast": {"terms": {"info_nce": 1.0}}}
FROZEN = {"freeze_backbone": True, "refine_weight": 1.0}
POSITIONS = {"positions": {"kind": "attention", "coordinates": "both", "scale": 1.0, "width": 16}}


def make_matcher(network=None, **settings):
    return BBGM(make_config(network={**FROZEN, **(network or {})}, **settings)).train()


def keypoints(sides):
    """Of all sides, in the order of their image's list."""
    return np.concatenate([side.place for both in sides for side in both])


def attack(matcher, pairs, **settings):
    """The loss as a function of sides, the sides before, and after the attack."""
    sides, features, look = matcher._sides_to_move(pairs)

    def loss(moved):
        return matcher._loss(pairs, moved, features)

    return loss, sides, adversarial(sides, loss, AdversaryConfig(**settings), look)


@pytest.mark.parametrize("network", [{}, POSITIONS, {"refine": False, **POSITIONS}, {"freeze_backbone": False}])
def test_the_gradient_is_that_of_differences(make_pair, network):
    """The slope that an attack follows, at some coordinates of each graph, in double precision."""
    pairs = [make_pair(0, 1, 6, 5), make_pair(2, 0, 4, 6)]
    matcher = make_matcher(network, **SMOOTH)
    for name, part in matcher.named_children():
        if name != "backbone":
            part.double()
    sides, features, look = matcher._sides_to_move(pairs)
    flat = [side for both in sides for side in both]
    offset = torch.zeros(sum(len(side.kept) for side in flat), 2, dtype=torch.float64, requires_grad=True)
    traced = _moved(sides, flat, offset, look)
    (whole,) = torch.autograd.grad(matcher._loss(pairs, traced, features), offset)
    slopes = torch.split(whole, [len(side.kept) for side in flat])
    assert (look is None) == all(side.seen is None for both in traced for side in both)
    rng = np.random.default_rng(0)
    found = []
    for number, (side, slope) in enumerate(zip(flat, slopes, strict=True)):
        for i in rng.permutation(len(side.kept))[:3]:
            for axis in (0, 1):
                values = []
                for sign in (1, -1):
                    push = np.zeros((len(side.kept), 2))
                    push[i, axis] = sign * 0.02
                    with torch.no_grad():
                        values.append(matcher._loss(pairs, shifted(flat, number, push, look), features).item())
                found.append((slope[i, axis].item(), (values[0] - values[1]) / 0.04))
    ours, quotients = np.array(found).T
    scale = np.abs(quotients).max()
    np.testing.assert_allclose(ours, quotients, rtol=0.05, atol=0.02 * scale)
    assert (np.abs(quotients) > 0.05 * scale).mean() > 0.5


def shifted(flat, number, offset, look):
    """The sides of all pairs with one of them moved."""
    side, flat = flat[number], list(flat)
    seen = None if look is None else look.features([side], torch.from_numpy(offset))
    flat[number] = replace(side, xy=side.place + offset, seen=seen)
    return list(zip(flat[::2], flat[1::2], strict=True))


@pytest.mark.parametrize("network", [{}, POSITIONS, {"freeze_backbone": False}])
def test_the_loss_is_larger_there_than_anywhere_by_chance(pairs, network):
    matcher = make_matcher(network, **SMOOTH)
    loss, sides, moved = attack(matcher, pairs, steps=4, size=4.0)
    with torch.no_grad():
        before, after = loss(sides).item(), loss(moved).item()
        rng = np.random.default_rng(0)
        random = (
            [loss(pushed(sides, rng, 4.0)).item() for _ in range(12)] if network != {"freeze_backbone": False} else []
        )
    assert after > before
    assert all(after > one for one in random)


def pushed(sides, rng, size):
    """All distinct graphs moved to random corners of their boxes."""
    corners: dict[tuple[str, bytes], np.ndarray] = {}
    for both in sides:
        for side in both:
            corners.setdefault(side.key, side.place + size * rng.choice([-1, 1], (len(side.kept), 2)))
    return [tuple(replace(side, xy=corners[side.key]) for side in both) for both in sides]


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_it_stays_in_its_box_and_reaches_its_border(pairs, steps):
    _, sides, moved = attack(make_matcher(POSITIONS, **SMOOTH), pairs, steps=steps, size=3.0)
    distance = np.abs(keypoints(moved) - keypoints(sides))
    assert distance.max() == pytest.approx(3.0, abs=1e-9)
    assert (distance < 3 + 1e-9).all()
    if steps == 1:  # each coordinate goes all the way, or has no slope
        assert (np.isclose(distance, 3) | (distance == 0)).all()
    assert np.isclose(distance, 3).mean() > 0.5


def test_graphs_are_made_of_the_moved_keypoints_and_those_of_an_image_move_together(pairs):
    matcher = make_matcher(**SMOOTH)
    _, sides, moved = attack(matcher, pairs, steps=2, size=20.0)
    (computed,) = matcher.forward_passes(moved, matcher.sides_of(pairs)[1])
    changed = 0
    for part, before, graphs in zip(zip(*moved, strict=True), zip(*sides, strict=True), computed.graphs, strict=True):
        for side, old, graph in zip(part, before, graphs, strict=True):
            assert side.points is None
            np.testing.assert_array_equal(graph.xy, side.xy[side.rank])
            edges = {tuple(edge) for edge in graph.edges.tolist()}
            assert edges == {tuple(edge) for edge in delaunay_graph(graph.xy).edges.tolist()}
            changed += edges != {tuple(edge) for edge in delaunay_graph(old.place[old.rank]).edges.tolist()}
    assert changed > 2
    assert sides[0][0].key == sides[1][1].key
    np.testing.assert_array_equal(moved[0][0].xy, moved[1][1].xy)


@pytest.fixture
def few(make_pair):
    """Small pairs, two of which share an image and its keypoints."""
    return [make_pair(0, 1, 5, 5), make_pair(0, 1, 5, 5), make_pair(2, 3, 4, 6), make_pair(1, 2, 1, 3)]


LOSSES = [
    {"solver": {"layer": "blackbox"}},
    {"solver": {"layer": "blackbox", "margin_kind": "noise", "normalise": True, "hamming_edges": 0.5}},
    {"solver": {"layer": "blackbox", "gradient": "aimle"}},
    {"solver": {"layer": "hinge", "margin_kind": "informed"}},
    {"solver": {"layer": "fenchel_young"}},
    {"solver": {"layer": "sinkhorn"}, "network": {"quadratic": False, **POSITIONS}},
    {"network": {"unmatched": "learned", "count": "predicted"}},
    {
        "contrast": {
            "terms": {"info_nce": 1.0, "edge_nce": 1.0, "within": 1.0, "across": 1.0, "spread": 0.1},
            "same": "positive",
            "teacher": {"warm_up": 1},
        },
        "network": {"projection": 8},
    },
]


@pytest.mark.parametrize("settings", LOSSES)
def test_without_steps_and_in_a_box_without_size_every_loss_is_todays(few, settings):
    """Bit for bit: the loss, what it draws, and what follows it (batch norm, teacher, adaptive steps)."""
    results = []
    for adversary in ({}, {"steps": 0, "size": 8.0}, {"steps": 2, "size": 0.0}):
        matcher = make_matcher(**{"jitter": {"rotation": 20, "noise": 3}, "adversary": adversary, **settings})
        torch.manual_seed(3)
        loss = matcher.loss(few)
        assert all(p.grad is None for p in matcher.parameters())
        loss.backward()
        head = [p.grad for name, p in matcher.named_parameters() if p.grad is not None]
        results.append((loss.item(), torch.rand(()).item(), copy.deepcopy(dict(matcher.named_buffers())), head))
        assert head
    for other in results[1:]:
        assert other[:2] == results[0][:2]
        assert all(torch.equal(buffer, results[0][2][name]) for name, buffer in other[2].items())
        assert all(torch.equal(one, two) for one, two in zip(other[3], results[0][3], strict=True))


@pytest.mark.parametrize("settings", LOSSES)
def test_every_loss_trains_on_moved_keypoints(few, settings):
    matcher = make_matcher(**{"jitter": {"noise": 2.0}, "adversary": {"steps": 1, "weight": 0.5}, **settings})
    torch.manual_seed(0)
    loss = matcher.loss(few)
    loss.backward()
    assert torch.isfinite(loss)
    assert any(p.grad is not None and p.grad.any() for p in matcher.parameters())


def test_the_weight_mixes_both_losses(pairs):
    losses = {}
    for weight in (0.25, 1.0):
        losses[weight] = make_matcher(adversary={"steps": 2, "weight": weight}, **SMOOTH).loss(pairs).item()
    clean = make_matcher(**SMOOTH).loss(pairs).item()
    assert losses[1.0] > clean
    assert losses[0.25] == pytest.approx(0.25 * losses[1.0] + 0.75 * clean)


def test_nothing_moves_at_test_time(pairs):
    plain, moving = (make_matcher(adversary=adversary, **SMOOTH).eval() for adversary in ({}, {"steps": 3}))
    assert moving.loss(pairs) == plain.loss(pairs)
    assert all(np.array_equal(a, b) for a, b in zip(moving.predict(pairs), plain.predict(pairs), strict=True))


def test_a_trained_backbone_learns_from_what_moved_keypoints_look_like(make_pair):
    """Its gradient is that of features which are read at the moved place."""
    pairs: list[KeypointPair] = [make_pair(0, 1), make_pair(2, 3)]
    matcher = make_matcher({"freeze_backbone": False}, **SMOOTH, adversary={"steps": 1, "size": 6.0})
    loss, _, moved = attack(matcher, pairs, steps=1, size=6.0)
    assert matcher.loss(pairs).item() == pytest.approx(loss(moved).item(), rel=1e-5)
    image = moved[0][0].image
    there = copy.copy(image)
    object.__setattr__(there, "xy", moved[0][0].xy[np.argsort(np.argsort(moved[0][0].kept))])
    expected = compute_features(matcher.backbone, [there])[0][0]
    torch.testing.assert_close(moved[0][0].seen, expected, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(expected, compute_features(matcher.backbone, [image])[0][0], atol=1e-2)


def test_a_network_that_does_not_see_where_keypoints_are_is_an_error():
    with pytest.raises(ValueError, match=r"adversary.*frozen backbone"):
        make_config(network={"freeze_backbone": True, "refine": False}, adversary={"steps": 1})
    make_config(network={"freeze_backbone": False, "refine": False}, adversary={"steps": 1})
