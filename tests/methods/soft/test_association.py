"""The affinities of pairs of matches against K and M_e by their definition, formed in full with NumPy."""

import numpy as np
import pytest
import torch

from bbgm.methods.soft.association import AssociationLayer
from tests.support.association import edge_affinities, featured, full_matrix, make_batch

CHANNELS = 12
SIZES = [(5, 6), (4, 4), (1, 3), (2, 2), (1, 1), (7, 3)]


@torch.no_grad()
def test_products_are_those_of_the_full_matrix() -> None:
    torch.manual_seed(0)
    layer, batch = AssociationLayer(CHANNELS).double(), make_batch(SIZES, CHANNELS, np.random.default_rng(0))
    association = layer(batch)
    edges, neighbours = association.edges(), association.neighbours().numpy()
    v = torch.randn(len(SIZES), 7, 6, 3, dtype=torch.float64)
    product, single = association.edge_product(v), association.edge_product(v[..., 0])
    for b, (n1, n2) in enumerate(SIZES):
        expected = edge_affinities(layer, *featured(batch, b))
        np.testing.assert_allclose(edges[b, : expected.shape[0], : expected.shape[1]], expected, rtol=1e-10)
        assert edges[b].sum().item() == pytest.approx(expected.sum())  # nothing for padding
        k = full_matrix(layer, *featured(batch, b))
        np.testing.assert_allclose(k, k.T, rtol=1e-10)
        np.testing.assert_allclose(association.vertices[b, :n1, :n2].numpy().ravel(), k.diagonal(), rtol=1e-10)
        off = k - np.diag(k.diagonal())
        by_hand = (off @ v[b, :n1, :n2].numpy().reshape(n1 * n2, 3)).reshape(n1, n2, 3)
        np.testing.assert_allclose(product[b, :n1, :n2], by_hand, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(single[b, :n1, :n2], by_hand[..., 0], rtol=1e-10, atol=1e-12)
        assert not product[b, n1:].any()
        assert not product[b, :, n2:].any()
        assert np.array_equal(neighbours[b, :n1, :n2].ravel(), (off > 0).sum(axis=1))


@torch.no_grad()
def test_it_starts_near_the_identity() -> None:
    torch.manual_seed(0)
    layer = AssociationLayer(1024)
    for one in (layer.same, layer.crossed):
        block = torch.relu(one + one.T)
        off = block[~torch.eye(512, dtype=torch.bool)]
        assert (block.diagonal() - 1).abs().max() <= 2 / 1024**0.5
        assert 0.48 < (off == 0).float().mean() < 0.52
        assert 0.008 < off.mean() < 0.013
    assert not torch.equal(layer.same, layer.crossed)
