"""Similarities: values, their range, and edges by the incidence matrix."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from bbgm.config import AFFINITIES
from bbgm.methods.bbgm.affinity import FixedAffinity, GlobalAffinity, global_features


def make(name, channels=6, global_channels=8):
    torch.manual_seed(0)
    return AFFINITIES[name](channels, global_channels).double()


def inputs(batch=3, n1=4, n2=5):
    torch.manual_seed(1)
    shapes = [(batch, n1, 6), (batch, n2, 6), (batch, 8)]
    return [torch.randn(*shape, dtype=torch.float64) for shape in shapes]


@pytest.mark.parametrize("name", ["fixed", "global"])
def test_similarity_is_its_equation(name):
    affinity = make(name)
    x, y, g = inputs()
    result = affinity(x, y, g)
    a = torch.tanh(affinity.layer(g)) if name == "global" else affinity.vector.expand(3, -1)
    for b in range(3):
        for i in range(4):
            for j in range(5):
                inner = sum(x[b, i, k] * a[b, k] * y[b, j, k] for k in range(6))
                torch.testing.assert_close(result[b, i, j], torch.log1p(torch.exp(inner)) - 0.5)
    assert result.min() > -0.5


@pytest.mark.parametrize("name", sorted(AFFINITIES))
def test_edges_by_the_incidence_matrix_are_edges_by_differences(name):
    affinity = make(name)
    x, y, g = inputs()
    rng = np.random.default_rng(2)
    ends1, ends2 = rng.integers(4, size=(2, 7)), rng.integers(5, size=(2, 9))
    incidence1, incidence2 = (
        (torch.eye(n, dtype=torch.float64)[ends[0]] - torch.eye(n, dtype=torch.float64)[ends[1]]).expand(3, -1, -1)
        for n, ends in ((4, ends1), (5, ends2))
    )
    by_differences = affinity(x[:, ends1[0]] - x[:, ends1[1]], y[:, ends2[0]] - y[:, ends2[1]], g)
    torch.testing.assert_close(affinity(x, y, g, incidence1, incidence2), by_differences)


def test_cosines():
    affinity = make("cosine")
    x, y, g = inputs()
    result = affinity(x, y, g)
    for b in range(3):
        for i in range(4):
            for j in range(5):
                cosine = x[b, i] @ y[b, j] / (x[b, i].norm() * y[b, j].norm())
                torch.testing.assert_close(result[b, i, j], cosine - 0.5)


def test_zero_features_give_the_neutral_similarity():
    x, y, g = inputs()
    result = make("global")(0 * x, y, g)
    torch.testing.assert_close(result, torch.full_like(result, float(F.softplus(torch.tensor(0.0).double())) - 0.5))
    assert result[0, 0, 0].item() == pytest.approx(0.1931, abs=1e-4)


def test_global_features_gate_and_a_fixed_vector_does_not():
    x, y, g = inputs()
    assert not torch.equal(make("global")(x, y, g), make("global")(x, y, -g))
    assert torch.equal(make("fixed")(x, y, g), make("fixed")(x, y, -g))


def test_both_start_with_coefficients_of_the_same_size():
    torch.manual_seed(3)
    g = F.normalize(torch.randn(50, 1024), dim=1)
    for affinity in (GlobalAffinity(1024, 1024), FixedAffinity(1024, 1024)):
        assert 0.01 < affinity.coefficients(g).abs().mean() < 0.04


def test_global_features_are_joined_then_normalised():
    source, target = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 4.0]])
    torch.testing.assert_close(global_features(source, target), torch.tensor([[0.6, 0.0, 0.0, 0.8]]))
    assert torch.equal(global_features(0 * source, 0 * target), torch.zeros(1, 4))
