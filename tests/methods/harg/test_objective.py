"""The objective, its gradient and its inference, against plain formulas and enumeration."""

from dataclasses import replace
from itertools import permutations

import bbgm_solver
import numpy as np
import pytest
import torch

from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.methods.base import make_matcher
from bbgm.methods.batching import Side
from bbgm.runs.evaluate import evaluate
from tests.support.harg import make_harg, plain_features, plain_objective, random_weights, whole_pair
from tests.support.training import train_a_little


def test_objective_is_the_plain_one(small_dataset):
    """Scores, joint features, margin and maximum, with images of fewer keypoints than the model has nodes."""
    images = small_dataset.train["Car"]
    matcher = random_weights(make_harg(c=3.0), small_dataset, scale=0.3)
    matcher.used = images
    pairs = [whole_pair(images[0], images[1]), whole_pair(images[2], images[1])]
    assert matcher.loss(pairs).item() == pytest.approx(plain_objective(matcher, images[:3]), rel=1e-9)


def test_gradient_is_the_difference_quotient_of_the_objective(small_dataset):
    images = small_dataset.train["Car"]
    matcher = random_weights(make_harg(c=3.0), small_dataset, scale=0.3)
    pairs = [whole_pair(images[k], images[k + 1]) for k in range(0, 8, 2)]
    matcher.loss(pairs).backward()
    assert matcher.batch_accuracy < 1  # else the hinge's part would be zero
    generator = torch.Generator().manual_seed(0)
    for weights in (matcher.nodes, matcher.edges):
        direction = torch.randn(weights.shape, generator=generator, dtype=torch.float64)
        start, step, values = weights.data.clone(), 1e-6, []
        for sign in (1, -1):
            weights.data = start + sign * step * direction
            values.append(matcher.loss(pairs).item())
        weights.data = start
        assert (weights.grad * direction).sum().item() == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-5)


def test_prototype_is_the_mean_of_the_training_graphs(small_dataset):
    matcher = make_harg()
    matcher.prepare(small_dataset)
    matcher.used = images = small_dataset.train["Car"]
    names = sorted({name for image in images for name in image.names})
    parts = [plain_features(matcher, x, [names.index(name) for name in x.names]) for x in images]
    for weights, column in ((matcher.nodes, 0), (matcher.edges, 1)):
        total = sum(part[column] for part in parts)
        count = sum((np.abs(part[column]).sum(axis=1, keepdims=True) > 0) for part in parts)
        assert count.min() < len(images)
        np.testing.assert_allclose(weights.detach().numpy(), total / np.maximum(count, 1), atol=1e-6)


def test_inference_is_exact_with_proof(small_dataset):
    """With and without the margin; every keypoint is matched, with a node of its own."""
    images = small_dataset.train["Car"]
    matcher = random_weights(make_harg(), small_dataset, scale=0.3)
    matcher.used = images
    w = [weights.detach().numpy() for weights in (matcher.nodes, matcher.edges)]
    for image in images[:3:2]:
        graph = matcher._graph(Side.make(image, np.arange(len(image.xy))), matcher.visual_features([image])[0][0])
        (instance,) = matcher._instances([graph])
        true, n = graph.true_nodes(), len(image.xy)
        scores = {
            y: sum((part * weights).sum() for part, weights in zip(plain_features(matcher, image, y), w, strict=True))
            for y in permutations(range(6), n)
        }
        for margin in (0.0, 1.0):
            wrong = 1 - instance.solution(true)[0]
            costs = replace(instance, unary=instance.unary - margin * wrong / n)
            result = bbgm_solver.solve(costs.problem(), full=True)
            augmented = {y: score + margin * np.mean(np.array(y) != true) for y, score in scores.items()}
            assert result.optimal
            assert tuple(result.assignment) == max(augmented, key=augmented.__getitem__)
            assert -result.objective == pytest.approx(max(augmented.values()))


def test_it_learns_from_nothing():
    """From weights of 0: the objective sinks, and test accuracy is far above one keypoint in ten."""
    config = load_run("harg_ssvm", "smoke", 0, harg={"start": "zero"}, protocol={"test_pairs_per_class": 10})
    dataset = open_dataset(config.data, config.protocol)
    matcher = make_matcher(config).train()
    matcher.prepare(dataset)
    losses = train_a_little(matcher, dataset, config, learning_rate=1e-3, backbone_factor=1.0, batch_size=8)
    assert losses[0] == pytest.approx(1, abs=0.15)  # every matching is as good, and the margin makes it a wrong one
    assert np.mean(losses[-3:]) < 0.3
    assert evaluate(matcher, dataset, config.protocol).mean["accuracy"] > 0.85
