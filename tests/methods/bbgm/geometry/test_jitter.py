"""Keypoints moved in training: how far, when, and what moves with them."""

import numpy as np
import pytest
import torch

from bbgm.graphs.delaunay import delaunay_graph
from bbgm.methods.bbgm.geometry.jitter import jittered
from bbgm.methods.bbgm.geometry.settings import JitterConfig
from bbgm.methods.bbgm.network import BBGM
from tests.support.bbgm_networks import make_config


def moved(matcher_sides, **settings):
    """The keypoints of all sides before and after."""
    result = jittered(matcher_sides, JitterConfig(**settings))
    return [
        (old.image.xy[old.kept], new.xy)
        for before, after in zip(matcher_sides, result, strict=True)
        for old, new in zip(before, after, strict=True)
    ]


@pytest.fixture
def sides(pairs):
    return BBGM(make_config()).sides_of(pairs)[0]


def affine(old, new):
    """The map that fits best, (2, 2), and how far it is off."""
    design = np.column_stack([old, np.ones(len(old))])
    found, *_ = np.linalg.lstsq(design, new, rcond=None)
    return found[:2].T, np.abs(design @ found - new).max()


def test_maps_are_affine_about_the_centre_and_within_their_range(sides):
    maps = [affine(old, new) for old, new in moved(sides, rotation=30) if len(old) > 3]
    angles = [np.degrees(np.arctan2(matrix[1, 0], matrix[0, 0])) for matrix, _ in maps]
    assert max(off for _, off in maps) < 1e-9
    assert all(np.allclose(matrix @ matrix.T, np.eye(2)) for matrix, _ in maps)
    assert 5 < max(np.abs(angles)) <= 30
    assert min(angles) < 0 < max(angles)
    for settings, bound in (({"scale": 0.2}, np.exp(0.4)), ({"stretch": 0.2}, 1.0), ({"shear": 0.3}, 1.0)):
        pieces = [(old, new) for old, new in moved(sides, **settings) if len(old) > 3]
        areas = [np.linalg.det(affine(old, new)[0]) for old, new in pieces]
        assert max(areas) <= bound + 1e-9
        assert min(areas) >= 1 / bound - 1e-9
        assert all(np.allclose(old.mean(axis=0), new.mean(axis=0)) for old, new in pieces)
        assert all(np.abs(old - new).max() > 0.01 for old, new in pieces)


def test_translation_and_noise(sides):
    shifts = np.concatenate([new - old for old, new in moved(sides, translation=8)])
    assert 4 < np.abs(shifts).max() <= 8
    noise = np.concatenate([new - old for old, new in moved(sides, noise=3.0)])
    assert np.std(noise) == pytest.approx(3, rel=0.2)


def test_it_applies_in_training_only_and_is_drawn_from_the_generator(pairs):
    smooth = {"solver": {"weight": 0}, "contrast": {"terms": {"info_nce": 1.0}}}
    settings = {"rotation": 40.0, "noise": 6.0}
    plain, shaken = (BBGM(make_config(jitter=jitter, **smooth)).train() for jitter in ({}, settings))
    losses = []
    for seed in (1, 2, 1):
        torch.manual_seed(seed)
        losses.append(shaken.loss(pairs).item())
        costs = shaken.costs(pairs)  # as at test
        assert all(torch.equal(a.unary, b.unary) for a, b in zip(costs, plain.costs(pairs), strict=True))
    assert losses[0] == losses[2]
    assert losses[0] != losses[1]
    plain.load_state_dict(shaken.state_dict())
    assert shaken.eval().loss(pairs) == plain.eval().loss(pairs)


def test_graphs_are_made_of_the_moved_keypoints(pairs):
    matcher = BBGM(make_config()).eval()
    sides, features = matcher.sides_of(pairs)
    torch.manual_seed(0)
    after = jittered(sides, JitterConfig(stretch=1.0, noise=10.0))
    (computed,) = matcher.forward_passes(after, features)
    changed = 0
    for part, graphs in zip(zip(*after, strict=True), computed.graphs, strict=True):
        for side, graph in zip(part, graphs, strict=True):
            np.testing.assert_array_equal(graph.xy, side.xy[side.rank])
            edges = {tuple(edge) for edge in graph.edges.tolist()}
            assert edges == {tuple(edge) for edge in delaunay_graph(graph.xy).edges.tolist()}
            old = delaunay_graph(side.image.xy[side.kept[side.rank]])
            changed += edges != {tuple(edge) for edge in old.edges.tolist()}
    assert changed > 2
