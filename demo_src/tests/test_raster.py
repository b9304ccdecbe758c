"""The z-buffer against a test of every sample with every triangle."""

import numpy as np
from bbgm_demo.rendering.raster import rasterise
from hypothesis import given
from hypothesis import strategies as st


def brute_force(corners: np.ndarray, nearness: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Nearness of the nearest triangle at each sample (-inf: none), and how close the sample is to any edge."""
    best, closest = np.full((height, width), -np.inf), np.full((height, width), np.inf)
    y, x = np.mgrid[:height, :width] + 0.5
    for (a, b, c), near in zip(corners, nearness, strict=True):
        system = np.array([[a[0], b[0], c[0]], [a[1], b[1], c[1]], [1, 1, 1]])
        if np.linalg.det(system) > -1e-9:  # turned away, or an edge
            continue
        weights = np.einsum("kl,lyx->kyx", np.linalg.inv(system), np.stack([x, y, np.ones_like(x)]))
        lowest = weights.min(axis=0)
        closest = np.minimum(closest, np.abs(lowest))
        best = np.where(lowest >= 0, np.maximum(best, np.einsum("k,kyx->yx", near, weights)), best)
    return best, closest


@given(st.integers(0, 10**6), st.integers(1, 30), st.sampled_from([3.0, 12.0, 60.0]))
def test_equals_brute_force(seed: int, n: int, spread: float) -> None:
    """Small and large triangles, partly or wholly outside, both ways round."""
    generator = np.random.default_rng(seed)
    width, height = 37, 23
    centre = generator.uniform(-10, 50, (n, 1, 2))
    corners = centre + generator.uniform(-spread, spread, (n, 3, 2))
    nearness = generator.uniform(0.1, 1, (n, 3))
    hits = rasterise(corners, nearness, width, height)
    expected, edge = brute_force(corners, nearness, width, height)
    found = np.full(width * height, -np.inf)
    found[hits.sample] = hits.nearness
    clear = edge.ravel() > 1e-4  # on an edge either answer is right
    np.testing.assert_allclose(found[clear], expected.ravel()[clear], atol=2e-5)

    assert (np.diff(hits.sample) > 0).all()
    np.testing.assert_allclose(hits.weights.sum(axis=1), 1, atol=1e-5)
    places = np.einsum("sk,skd->sd", hits.weights, corners[hits.face])
    middle = np.stack([hits.sample % width, hits.sample // width], axis=1) + 0.5
    np.testing.assert_allclose(places, middle, atol=1e-2)


def test_nothing_to_see() -> None:
    for corners in (np.zeros((0, 3, 2)), np.full((2, 3, 2), 5.0), np.full((1, 3, 2), 1e6) + np.eye(3)[:1, :, None]):
        hits = rasterise(corners, np.ones(corners.shape[:2]), 20, 10)
        assert len(hits.sample) == len(hits.face) == len(hits.weights) == 0
