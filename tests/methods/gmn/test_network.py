"""GMN: the method by its equations with K in full, gradients, symmetries, what it must and cannot match."""

import numpy as np
import pytest
import torch

from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.methods.base import make_matcher
from bbgm.methods.gmn.network import leading_vector
from bbgm.runs.evaluate import evaluate
from tests.support.association import (
    association_of,
    copies,
    featured,
    full_matrix,
    make_batch,
    make_soft,
    plain_sinkhorn,
    share_right,
)
from tests.support.training import shuffle, slope_and_quotient, train_a_little


def eigenvector(k, shape, iterations):
    """By the definition of the power iteration."""
    v = np.ones(len(k))
    for _ in range(iterations):
        v = k @ v
        v = v / np.linalg.norm(v)
    return v.reshape(shape)


@torch.no_grad()
@pytest.mark.parametrize("rescale", [False, True])
def test_scores_and_matches_are_the_equations_for_every_pair_of_a_mixed_batch(pairs, rescale):
    matcher = make_soft("gmn_pl", soft={"power_iterations": 7, "rescale": rescale, "temperature": 0.02})
    batch = next(matcher.batches(pairs, len(pairs)))
    scores = matcher.scores(batch)
    for b, (pair, log_s) in enumerate(zip(pairs, matcher.normalise(batch, scores), strict=True)):
        n1, n2 = len(pair.kept1), len(pair.kept2)
        expected = eigenvector(full_matrix(association_of(matcher), *featured(batch, b)), (n1, n2), 7)
        expected = expected * (np.sqrt(n1 * n2) if rescale else 1)
        np.testing.assert_allclose(scores[b, :n1, :n2], expected, rtol=1e-8)
        np.testing.assert_allclose(log_s.exp(), plain_sinkhorn(expected, 0.02), rtol=1e-6)
        assert not scores[b, n1:].any()


@torch.no_grad()
def test_iterations_reach_the_leading_eigenvector():
    matcher, batch = make_soft("gmn_pl"), make_batch([(6, 7)], 192, np.random.default_rng(0))
    k = full_matrix(association_of(matcher), *featured(batch, 0))
    v = leading_vector(association_of(matcher)(batch), torch.ones(1, 6, 7, dtype=torch.bool), 100)[0].numpy().ravel()
    values, vectors = np.linalg.eigh(k)
    np.testing.assert_allclose(v, np.abs(vectors[:, -1]), atol=1e-8)
    assert v @ k @ v == pytest.approx(values[-1])


@pytest.mark.parametrize("method", ["gmn", "gmn_pl"])
def test_gradients_are_those_of_finite_differences(make_pair, method):
    matcher, pairs = make_soft(method), [make_pair(0, 1, 5, 5), make_pair(2, 3, 4, 4, seed=3)]
    pairs = [KeypointPair(p.source, p.target, p.kept1, p.kept1[::-1].copy()) for p in pairs]
    matcher.loss(pairs).backward()
    rng = np.random.default_rng(0)
    for parameter in matcher.association.parameters():
        direction = torch.from_numpy(rng.normal(size=parameter.shape))
        slope, quotient = slope_and_quotient(matcher, pairs, parameter, direction, 1e-6)
        assert slope == pytest.approx(quotient, rel=1e-4)
        assert abs(slope) > 1e-6


@torch.no_grad()
def test_matches_follow_the_order_of_the_keypoints_and_ignore_other_pairs(pairs):
    matcher, rng = make_soft("gmn_pl"), np.random.default_rng(9)
    together = matcher.scores(next(matcher.batches(pairs, len(pairs))))
    for b, pair in enumerate(pairs):
        n1, n2 = len(pair.kept1), len(pair.kept2)
        shuffled, p, q = shuffle(pair, rng)
        alone = matcher.scores(next(matcher.batches([shuffled], 1)))[0]
        torch.testing.assert_close(alone, together[b, :n1, :n2][p][:, q], rtol=1e-9, atol=1e-12)


def test_a_copy_is_matched_and_noise_is_not():
    matcher, rng = make_soft("gmn_pl"), np.random.default_rng(0)
    batch, truth = copies(50, 10, 192, rng)
    assert share_right(matcher, batch, truth) >= 0.99
    noise = make_batch([(10, 10)] * 200, 192, rng)
    found = share_right(matcher, noise, np.stack([rng.permutation(10) for _ in range(200)]))
    assert 0.06 < found < 0.14  # three standard deviations about 1 in 10


@torch.no_grad()
def test_the_solver_maximises_the_affinities(make_pair):
    matcher = make_soft("gmn_pl", soft={"rounding": "solver"})
    pairs = [make_pair(0, 1, 6, 6), make_pair(1, 2, 4, 7)]
    batch = next(matcher.batches(pairs, 2))
    for b, (pair, instance, found) in enumerate(
        zip(pairs, matcher.instances(pairs), matcher.predict(pairs), strict=True)
    ):
        k = full_matrix(association_of(matcher), *featured(batch, b))
        n1, n2 = len(pair.kept1), len(pair.kept2)
        assert (found >= 0).all()
        values = []
        rng = np.random.default_rng(b)
        for assignment in (found, *(rng.permutation(n2)[:n1] for _ in range(300))):
            v = np.zeros((n1, n2))
            v[np.arange(n1), assignment] = 1
            values.append(v.ravel() @ k @ v.ravel())
            assert instance.cost(instance.solution(assignment)) == pytest.approx(-values[-1])
        assert values[0] >= max(values) - 1e-9
    assert matcher.solver_seconds > 0


def test_nothing_in_common_gives_no_error(make_pair):
    """K = 0: one keypoint of each image, and features without a common channel."""
    matcher = make_soft("gmn_pl")
    batch = make_batch([(1, 1)], 192, np.random.default_rng(0))
    batch.source.x.zero_()
    scores = matcher.scores(batch)
    matcher.normalise(batch, scores)[0].sum().backward()
    assert scores.item() == 0
    assert association_of(matcher).same.grad.isfinite().all()


@pytest.mark.parametrize("method", ["gmn", "gmn_pl"])
def test_it_learns(method):
    """A few steps on the demo data: the loss falls, and the accuracy rises above the untrained network's."""
    config = load_run(method, "smoke", 0, protocol={"test_pairs_per_class": 20})
    dataset = open_dataset(config.data, config.protocol)
    matcher = make_matcher(config)
    before = evaluate(matcher, dataset, config.protocol).mean["accuracy"]
    losses = train_a_little(matcher, dataset, config, learning_rate=5e-3, backbone_factor=0.1)
    assert np.mean(losses[-3:]) < 0.95 * np.mean(losses[:3])
    assert evaluate(matcher, dataset, config.protocol).mean["accuracy"] > before + 0.02


def test_configurations_that_cannot_work():
    with pytest.raises(ValueError, match=r"offset needs a partner .* set protocol.filter: intersection"):
        load_run("gmn", "smoke", 0, filter="unfiltered")
    with pytest.raises(ValueError, match=r"soft.power_iterations.*greater than 0"):
        load_run("gmn", "smoke", 0, soft={"power_iterations": 0})
    with pytest.raises(ValueError, match=r"soft.loss.*given: 'offsets'"):
        load_run("gmn", "smoke", 0, soft={"loss": "offsets"})
    assert load_run("gmn_pl", "smoke", 0, filter="unfiltered").soft.loss == "permutation"
    assert load_run("gmn", "smoke", 0, dataset="voc", filter="inclusion").soft.loss == "offset"
