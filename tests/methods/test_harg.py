"""HARG-SSVM: attributes, joint features and objective by their formulas, inference by enumeration, learning."""

from dataclasses import replace
from itertools import permutations
from math import atan2, exp, hypot, log, pi

import bbgm_solver
import numpy as np
import pytest
import torch

from bbgm.config import load_run, make_run
from bbgm.data import open_dataset
from bbgm.data.images.keypoints import Dataset
from bbgm.data.sampling.pairs import KeypointPair, make_pair
from bbgm.graphs.delaunay import complete_edges
from bbgm.methods.base import make_matcher
from bbgm.methods.batching import Side
from bbgm.methods.harg.attributes import edge_attributes, length_range, log_lengths, principal_axes
from bbgm.methods.harg.network import HargSSVM
from bbgm.runs.checkpoint import read_model, write_model
from bbgm.runs.evaluate import evaluate
from bbgm.runs.train import evaluate_run, load_matcher, run
from tests.support.images import NAMES, grey_image
from tests.support.training import train_a_little


def make_harg(frozen=True, **settings):
    """With a small random backbone."""
    content = {
        "method": "harg_ssvm",
        "title": "HARG-SSVM (VGG)",
        "model": "harg",
        "budget": "smoke",
        "seed": 0,
        "network": {"backbone": "small", "weights": "random", "freeze_backbone": frozen},
        "harg": settings,
    }
    matcher = make_matcher(make_run(content))
    assert isinstance(matcher, HargSSVM)
    return matcher


def part_of(image, count, seed):
    """An image with some of its keypoints."""
    kept = np.sort(np.random.default_rng(seed).permutation(len(image.xy))[:count])
    return replace(
        image, image_id=f"{image.image_id}-{seed}", names=tuple(image.names[k] for k in kept), xy=image.xy[kept]
    )


@pytest.fixture
def small_dataset(images):
    """Eight images with 4 or 5 of 6 keypoints: a model graph of 6 nodes."""
    six = [part_of(replace(x, names=x.names[:6], xy=x.xy[:6]), 4 + k % 2, k) for k, x in enumerate([*images, *images])]
    return Dataset("small", {"Car": tuple(six)}, {"Car": tuple(six)})


def random_weights(matcher, dataset, scale=1.0):
    """Model graphs with random weights, in double precision."""
    matcher.prepare(dataset)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in (matcher.nodes, matcher.edges):
            weights.copy_(scale * torch.randn(weights.shape, generator=generator))
    matcher.nodes.data, matcher.edges.data = matcher.nodes.data.double(), matcher.edges.data.double()
    return matcher


def plain_features(matcher, image, y):
    """Phi(x, y) by loops, from the images and the docstring's formulas alone."""
    names = sorted({name for x in matcher.used for name in x.names})
    k, n = len(names), len(image.xy)
    phi = matcher.visual_features([image])[0][0].double().numpy()
    lengths = [hypot(*(image.xy[j] - image.xy[i])) for i in range(n) for j in range(n) if i != j]
    low, high = length_range(np.concatenate([log_lengths(x.xy) for x in matcher.used]))
    nodes, edges = np.zeros((k, phi.shape[1])), np.zeros((k, k, 27))
    for i in range(n):
        nodes[y[i]] += phi[i]
        for j in range(n):
            if i == j:
                continue
            dx, dy = image.xy[j] - image.xy[i]
            place = (log(hypot(dx, dy) / np.median(lengths)) - low) / (high - low) * 9
            bins = [exp(-((min(max(place, 0), 9) - b - 0.5) ** 2) / 2) for b in range(9)]
            turn = atan2(dy, dx) / (2 * pi) * 18
            angles = [exp(-(min(abs(turn - b + s) for s in (-18, 0, 18)) ** 2) / 2) for b in range(18)]
            psi = np.array([b / sum(bins) for b in bins] + [a / sum(angles) for a in angles])
            edges[y[i], y[j]] += psi / np.linalg.norm(psi)
    return nodes, edges[~np.eye(k, dtype=bool)]


def plain_objective(matcher, images):
    """The docstring's objective, its maximum by enumeration of all injective y."""
    names = sorted({name for x in matcher.used for name in x.names})
    w = [weights.detach().numpy() for weights in (matcher.nodes, matcher.edges)]
    hinges = []
    for image in images:
        true = [names.index(name) for name in image.names]

        def score(y, image=image):
            return sum(
                (part * weights).sum() for part, weights in zip(plain_features(matcher, image, y), w, strict=True)
            )

        best = max(score(y) + np.mean(np.array(y) != true) for y in permutations(range(len(names)), len(image.names)))
        hinges.append(best - score(true))
    return sum((weights**2).sum() for weights in w) / (2 * matcher.settings.c) + np.mean(hinges)


def whole_pair(source, target, seed=0):
    return make_pair(source, target, np.random.default_rng(seed), "unfiltered")


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


def test_matchings_follow_the_order_of_the_keypoints(images):
    matcher, rng = make_harg(), np.random.default_rng(3)
    matcher.prepare(Dataset("d", {"Car": tuple(images[:2])}, {}))
    for filter_ in ("intersection", "unfiltered"):
        pair = make_pair(part_of(images[2], 8, 1), images[3], rng, filter_)
        found = matcher.predict([pair])[0]
        p, q = rng.permutation(len(pair.kept1)), rng.permutation(len(pair.kept2))
        shuffled = matcher.predict([KeypointPair(pair.source, pair.target, pair.kept1[p], pair.kept2[q])])[0]
        matched = found[p] >= 0
        assert matched.any()
        assert np.array_equal(shuffled >= 0, matched)
        assert np.array_equal(q[shuffled[matched]], found[p][matched])
        # The list of an image's keypoints may have another order, and other names: neither is looked at.
        r = rng.permutation(len(pair.source.xy))
        source = replace(pair.source, xy=pair.source.xy[r], names=tuple(f"n{k}" for k in range(len(r))))
        again = matcher.predict([KeypointPair(source, pair.target, np.argsort(r)[pair.kept1], pair.kept2)])[0]
        assert np.array_equal(again, found)


def test_pairs_need_both_images_to_be_right(images):
    matcher = make_harg()
    matcher.prepare(Dataset("d", {"Car": tuple(images[:2])}, {}))
    pairs = [whole_pair(images[2], images[3]), whole_pair(images[0], images[2])]
    for pair, found in zip(pairs, matcher.predict(pairs), strict=True):
        one, two = matcher.match_images([pair.source, pair.target])
        expected = [next((j for j, other in enumerate(pair.kept2) if two[other] == one[k]), -1) for k in pair.kept1]
        assert found.tolist() == expected
    assert matcher.predict([]) == []


def test_copies_without_noise_are_matched_and_unrelated_images_are_not(images, tmp_path, cache):
    """Copies with some keypoints missing, too; of keypoints at random places of grey images nothing can be learned."""
    copies = [replace(images[0], image_id=f"Car/copy{k}") for k in range(4)]
    copies += [part_of(images[0], 7, seed) for seed in range(4)]
    matcher = make_harg()
    matcher.prepare(Dataset("d", {"Car": tuple(copies[:6])}, {}))
    pairs = [whole_pair(one, other) for one in copies for other in copies]
    for pair, found in zip(pairs, matcher.predict(pairs), strict=True):
        assert np.array_equal(found, pair.truth)
    assert matcher.image_accuracy(copies) == 1

    rng = np.random.default_rng(0)
    grey = [grey_image(tmp_path, str(k), rng.uniform(10, 246, (10, 2)), NAMES) for k in range(40)]
    matcher.prepare(Dataset("d", {"Cup": tuple(grey[:10])}, {}))
    assert matcher.image_accuracy(grey[10:]) < 0.25


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


@pytest.mark.parametrize("keypoint_filter", ["intersection", "inclusion", "unfiltered"])
def test_runs_are_stored_and_reproducible_with_every_filter(tmp_path, keypoint_filter):
    optimiser = {"epochs": 1, "iterations_per_epoch": 2}
    config = load_run(
        "harg_ssvm",
        "smoke",
        0,
        dataset="voc",
        filter=keypoint_filter,
        protocol={"test_pairs_per_class": 4},
        optimiser=optimiser,
        harg={"components": 16},
    )
    one, other = (run(config, tmp_path / name) for name in ("one", "other"))
    assert one.metrics["per_class"] == other.metrics["per_class"]
    assert one.history.loss.tolist() == other.history.loss.tolist()
    assert evaluate_run(one).per_class == one.metrics["per_class"]
    matcher = load_matcher(one)
    assert isinstance(matcher, HargSSVM)
    assert matcher.nodes.shape[1] == 16
    assert set(matcher.places) == set(one.metrics["per_class"])
    if keypoint_filter == "unfiltered":
        assert any((item.assignment < 0).any() for item in one.predictions)


def test_state_carries_the_model_graphs(small_dataset, images, tmp_path):
    matcher = make_harg()
    matcher.prepare(small_dataset)
    write_model(tmp_path / "model.safetensors", matcher)
    fresh = make_harg()
    read_model(tmp_path / "model.safetensors", fresh)
    pair = whole_pair(images[2], images[3])
    assert np.array_equal(fresh.predict([pair])[0], matcher.predict([pair])[0])
    parameters = fresh.nodes
    read_model(tmp_path / "model.safetensors", fresh)
    assert fresh.nodes is parameters  # or an optimiser would lose it


def test_errors_name_the_remedy(small_dataset, images):
    with pytest.raises(ValueError, match=r"network\.freeze_backbone: true"):
        make_harg(frozen=False)
    matcher = make_harg()
    with pytest.raises(ValueError, match="prepare"):
        matcher.parameter_groups(1.0, 1.0)
    matcher.prepare(small_dataset)
    boat = replace(images[0], cls="Boat")
    with pytest.raises(ValueError, match=r"no model graph of class 'Boat'.*\['Car'\]"):
        matcher.predict([whole_pair(boat, boat)])
    with pytest.raises(RuntimeError, match="labels"):
        matcher.load_state_dict({})
    with pytest.raises(ValueError, match="set test_sets_per_class: 0"):
        load_run("harg_ssvm", "smoke", 0, filter="unfiltered", protocol={"test_sets_per_class": 4})
    other = load_run("harg_ssvm", "smoke", 0, dataset="voc")
    with pytest.raises(ValueError, match=r"none to take from the parent harg_ssvm: leave parent out"):
        load_run("harg_ssvm", "smoke", 0).model_validate(
            {**load_run("harg_ssvm", "smoke", 0).content(), "parent": {"run": other, "optimiser_state": False}}
        )


def test_evidence_is_the_score_of_the_node_that_suits_both_keypoints_best(small_dataset):
    matcher = random_weights(make_harg(), small_dataset).eval()
    source, target = small_dataset.train["Car"][:2]
    pair = make_pair(source, target, np.random.default_rng(3), "unfiltered")
    (seen,) = matcher.evidence([pair])
    features = {image.image_id: matcher.visual_features([image])[0][0].double() for image in (source, target)}
    w = matcher.nodes.detach()
    for i, a in enumerate(pair.kept1):
        for j, b in enumerate(pair.kept2):
            both = features[source.image_id][a] + features[target.image_id][b]
            assert seen.affinity[i, j] == pytest.approx((w @ both).max().item(), rel=1e-6)
    assert seen.soft is None
