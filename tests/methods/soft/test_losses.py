"""Losses of soft assignments against plain formulas."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch

from bbgm.data.images.keypoints import FRAME, KeypointImage
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.methods.soft.losses import OFFSET_EPSILON, hungarian_attention, offset, permutation


def make_pair(kept1: list[int], kept2: list[int], rng: np.random.Generator, n: int = 5) -> KeypointPair:
    """Two images with n keypoints of the same names at random places, of which some are kept."""
    source, target = [
        KeypointImage(f"{side}", "cls", Path("none"), (256, 256), tuple("abcde"[:n]), rng.uniform(0, FRAME, (n, 2)))
        for side in "st"
    ]
    return KeypointPair(source, target, np.array(kept1), np.array(kept2))


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    pairs = [make_pair([2, 0, 1], [1, 2, 0, 4], rng), make_pair([3, 4], [4, 3], rng)]
    soft = [rng.dirichlet(np.ones(len(p.kept2)), len(p.kept1)) for p in pairs]
    return pairs, [torch.tensor(np.log(s), requires_grad=True) for s in soft], soft


def test_permutation_is_the_cross_entropy_per_source_keypoint(batch):
    pairs, log_match, soft = batch
    total = 0.0
    for pair, s in zip(pairs, soft, strict=True):
        for i, a in enumerate(pair.kept1):
            for j, b in enumerate(pair.kept2):
                total -= np.log(s[i, j]) if a == b else np.log(1 - s[i, j])
    assert permutation(log_match, pairs).item() == pytest.approx(total / 5, rel=1e-9)


def test_hungarian_attention_sees_the_true_and_the_chosen_entries_only(batch):
    pairs, log_match, soft = batch
    total = 0.0
    for pair, s in zip(pairs, soft, strict=True):
        n1, n2 = s.shape
        chosen = max(permutations(range(n2), n1), key=lambda c: sum(s[i, j] for i, j in enumerate(c)))
        for i, a in enumerate(pair.kept1):
            for j, b in enumerate(pair.kept2):
                if a == b:
                    total -= np.log(s[i, j])
                elif chosen[i] == j:
                    total -= np.log(1 - s[i, j])
    loss = hungarian_attention(log_match, pairs)
    assert loss.item() == pytest.approx(total / 5, rel=1e-9)
    loss.backward()
    # At most two entries of a row take part.
    assert all((one.grad != 0).sum(dim=1).max() <= 2 for one in log_match)


def test_offset_is_the_distance_of_the_expected_target(batch):
    pairs, log_match, soft = batch
    total = 0.0
    for pair, s in zip(pairs, soft, strict=True):
        xy = pair.target.xy[pair.kept2]
        for i, a in enumerate(pair.kept1):
            d = (s[i] @ xy - pair.target.xy[a]) / 256
            total += np.sqrt(d @ d + OFFSET_EPSILON)
    assert offset(log_match, pairs).item() == pytest.approx(total / 2, rel=1e-9)


def test_offset_needs_a_partner():
    pair = make_pair([0, 3], [0, 1], np.random.default_rng(1))
    with pytest.raises(ValueError, match="partner"):
        offset([torch.zeros(2, 2)], [pair])


def test_a_perfect_assignment_costs_almost_nothing(batch):
    pairs, _, _ = batch
    perfect = [torch.from_numpy(np.where(p.truth_matrix, 1 - 1e-9, 1e-9)).log() for p in pairs]
    assert permutation(perfect, pairs) < 1e-4
    assert hungarian_attention(perfect, pairs) < 1e-4
    assert offset(perfect, pairs) == pytest.approx(5 * OFFSET_EPSILON**0.5 / 2, rel=1e-3)
