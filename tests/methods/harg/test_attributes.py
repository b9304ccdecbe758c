"""Attributes of the nodes and edges of an image."""

import numpy as np
import pytest

from bbgm.graphs.delaunay import complete_edges
from bbgm.methods.harg.attributes import edge_attributes, length_range, log_lengths, principal_axes


def test_lengths_are_relative_to_the_image_and_angles_are_not():
    xy = np.random.default_rng(0).uniform(0, 256, (6, 2))
    low, high = length_range(log_lengths(xy))
    psi = edge_attributes(xy, low, high)
    np.testing.assert_allclose(np.linalg.norm(psi, axis=1), 1)
    np.testing.assert_allclose(edge_attributes(3 * xy + 7, low, high), psi, atol=1e-12)
    turned = edge_attributes(xy @ np.array([[0.0, 1.0], [-1.0, 0.0]]) * 1.0, low, high)
    np.testing.assert_allclose(
        turned[:, :9] / turned[:, :9].sum(1, keepdims=True), psi[:, :9] / psi[:, :9].sum(1, keepdims=True)
    )
    assert np.abs(turned - psi).max() > 0.1


def test_degenerate_keypoints_have_attributes():
    for xy in (np.zeros((0, 2)), np.zeros((1, 2)), np.zeros((3, 2)), np.array([[1.0, 1], [1, 1], [5, 9]])):
        psi = edge_attributes(xy, *length_range(log_lengths(xy)))
        assert psi.shape == (len(complete_edges(len(xy))), 27)
        assert np.isfinite(psi).all()


def test_principal_axes_explain_what_they_should():
    rows = np.random.default_rng(0).normal(size=(40, 6)) * [5, 4, 3, 0, 0, 0]
    centre, axes = principal_axes(rows, 3)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    np.testing.assert_allclose((rows - centre) @ axes @ axes.T + centre, rows, atol=1e-12)
    with pytest.raises(ValueError, match=r"harg\.components is 7"):
        principal_axes(rows, 7)
