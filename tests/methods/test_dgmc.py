"""DGMC: the method by its equations, batches, symmetries, and that it learns."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from bbgm.config import load_run, make_run
from bbgm.data import open_dataset
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.features.cache import compute_features
from bbgm.graphs.delaunay import delaunay_graph, pseudo_coordinates
from bbgm.methods.base import make_matcher
from bbgm.methods.dgmc.network import DGMC
from bbgm.runs.evaluate import evaluate
from bbgm.runs.train import evaluate_run, run
from tests.support.training import train_a_little

SMALL = {"channels": 24, "consensus_channels": 12, "steps": 3}


def make_dgmc(seed=0, frozen=True, **settings):
    """With a small backbone and small widths."""
    content = {
        "method": "dgmc",
        "title": "DGMC*",
        "model": "dgmc",
        "budget": "smoke",
        "seed": seed,
        "network": {"backbone": "small", "weights": "random", "freeze_backbone": frozen},
        "dgmc": {**SMALL, **settings},
    }
    matcher = make_matcher(make_run(content))
    assert isinstance(matcher, DGMC)
    with torch.no_grad():  # so that consensus matters, as after training
        matcher.compare2.weight *= 50
    return matcher


def reference(matcher, pair, indicators):
    """S_0 and S_L of one pair by the equations, in the pair's order, without batching; indicators (L, n1, R)."""
    sides = []
    for image, kept in ((pair.source, pair.kept1), (pair.target, pair.kept2)):
        nodes, _ = compute_features(matcher.backbone, [image], unit=matcher.settings.features == "unit")[0]
        nodes = matcher.settings.feature_scale * nodes
        graph = delaunay_graph(image.xy[kept])
        source, target = graph.edge_index
        scale = np.abs(graph.xy[source] - graph.xy[target]).max(initial=0) or 1.0
        sides.append(
            (nodes[torch.from_numpy(kept)], torch.from_numpy(graph.edge_index), pseudo_coordinates(graph, scale))
        )

    def psi(stack, x, side, concat):
        _, ends, pseudo = side
        one = F.relu(stack.first(x, ends, torch.from_numpy(pseudo)))
        two = F.relu(stack.second(one, ends, torch.from_numpy(pseudo)))
        return stack.final(torch.cat([x, one, two], dim=1) if concat else two)

    h1, h2 = (psi(matcher.local, side[0], side, concat=False) for side in sides)
    scores = h1 @ h2.T
    first = scores.softmax(dim=1)
    for r in indicators:
        o1 = psi(matcher.consensus, r, sides[0], concat=True)
        o2 = psi(matcher.consensus, scores.softmax(dim=1).T @ r, sides[1], concat=True)
        difference = o1[:, None] - o2[None]
        scores = scores + matcher.compare2(F.relu(matcher.compare1(difference)))[:, :, 0]
    return first, scores.softmax(dim=1)


def correspondences(matcher, pairs):
    batch = next(matcher._batches(pairs, len(pairs)))
    return batch, [part.exp() for part in matcher.correspondences(batch)]


@torch.no_grad()
@pytest.mark.parametrize("features", ["unit", "raw"])
def test_correspondences_are_the_equations_for_every_pair_of_a_mixed_batch(pairs, features):
    matcher = make_dgmc(features=features, feature_scale=2.0).eval()
    batch, (first, last) = correspondences(matcher, pairs)
    for b, pair in enumerate(pairs):
        n1, n2 = len(pair.kept1), len(pair.kept2)
        expected = reference(matcher, pair, batch.indicators[:, b, :n1])
        for found, by_hand in zip((first[b], last[b]), expected, strict=True):
            torch.testing.assert_close(found[:n1, :n2], by_hand, rtol=1e-3, atol=1e-5)
            assert (found[:, n2:] == 0).all()
    assert (first - last).abs().max() > 1e-2


@torch.no_grad()
def test_a_pair_does_not_depend_on_company_chunks_or_repetition(pairs, monkeypatch):
    matcher = make_dgmc().eval()
    found = matcher.predict(pairs)
    _, (_, together) = correspondences(matcher, pairs)
    for b, pair in enumerate(pairs):
        alone = correspondences(matcher, [pair])[1][1][0]
        torch.testing.assert_close(together[b, : alone.shape[0], : alone.shape[1]], alone, rtol=1e-3, atol=1e-6)
    monkeypatch.setattr("bbgm.methods.dgmc.network.PAIRS", 2)
    monkeypatch.setattr("bbgm.methods.base.GRAPHS", 2)
    for pair, one, chunked in zip(pairs, found, matcher.predict(pairs), strict=True):
        assert one.dtype == np.int32
        assert np.array_equal(one, chunked)
        assert np.array_equal(one, matcher.predict([pair])[0])
    assert matcher.predict([]) == []


@torch.no_grad()
def test_correspondences_follow_the_order_of_the_keypoints(pairs):
    matcher, rng = make_dgmc().eval(), np.random.default_rng(9)
    for pair in pairs:
        p, q = rng.permutation(len(pair.kept1)), rng.permutation(len(pair.kept2))
        shuffled = KeypointPair(pair.source, pair.target, pair.kept1[p], pair.kept2[q])
        one, other = (correspondences(matcher, [x])[1][1][0] for x in (pair, shuffled))
        torch.testing.assert_close(other, one[p][:, q], rtol=1e-3, atol=1e-6)


@torch.no_grad()
def test_without_consensus_steps_it_is_the_local_features(pairs):
    matcher = make_dgmc(steps=0).eval()
    _, (first, last) = correspondences(matcher, pairs)
    assert torch.equal(first, last)
    for pair, found in zip(pairs, matcher.predict(pairs), strict=True):
        expected, _ = reference(matcher, pair, [])
        assert np.array_equal(found, expected.argmax(dim=1))


@torch.no_grad()
def test_consensus_sees_no_difference_if_the_correspondence_is_an_isomorphism(make_pair):
    """Then o_1i = o_2j for matched i and j, whatever the indicators; not so for any other correspondence."""
    matcher, pair = make_dgmc().eval(), make_pair(0, 0)
    batch = next(matcher._batches([pair], 1))
    for r in batch.indicators[:, 0]:
        o1 = matcher.consensus(r, batch.plan1)
        for shift in range(10):
            truth = np.roll(pair.truth, shift)
            s = F.one_hot(torch.from_numpy(truth), 10).float()
            difference = (o1 - matcher.consensus(s.T @ r, batch.plan2)[truth]).norm(dim=1) / o1.norm(dim=1)
            assert difference.min() > 1e-3 if shift else difference.max() < 1e-6


def test_indicators_are_the_pairs_own_at_test_and_new_in_training(make_pair):
    matcher = make_dgmc()
    pairs = [make_pair(0, 1), make_pair(1, 0)]
    at_test = [next(matcher.eval()._batches(pairs, 2)).indicators for _ in range(2)]
    assert torch.equal(*at_test)
    assert not torch.equal(at_test[0][:, 0], at_test[0][:, 1])
    torch.manual_seed(0)
    training = [next(matcher.train()._batches(pairs, 2)).indicators for _ in range(2)]
    torch.manual_seed(0)
    assert torch.equal(next(matcher._batches(pairs, 2)).indicators, training[0])
    assert not torch.equal(*training)


def test_the_likeliest_matching_uses_each_target_once(pairs):
    rows, matchings = make_dgmc().eval(), make_dgmc(rounding="lap").eval()
    assert (rows.one_to_one, matchings.one_to_one) == (False, True)
    shared = [len(np.unique(found)) < len(found) for found in rows.predict(pairs)]
    assert any(shared)
    for pair, found in zip(pairs, matchings.predict(pairs), strict=True):
        used = found[found >= 0]
        assert len(np.unique(used)) == len(used) == min(len(pair.kept1), len(pair.kept2))
    assert matchings.solver_seconds > 0
    assert rows.solver_seconds == 0


def test_loss_is_the_cross_entropy_of_both_correspondences(make_pair, images):
    pairs = [make_pair(0, 1), make_pair(0, 2, 7, 5), make_pair(1, 1, 1, 4)]
    matcher = make_dgmc().eval()  # no dropout, indicators of the pairs
    _, (first, last) = correspondences(matcher, pairs)
    likelihoods = [
        [part[b, i, j].item() for part in (first, last)]
        for b, pair in enumerate(pairs)
        for i, j in enumerate(pair.truth)
        if j >= 0
    ]
    assert matcher.loss(pairs).item() == pytest.approx(
        -np.log(np.array(likelihoods) + 1e-8).mean(axis=0).sum(), rel=1e-4
    )
    found = [np.sum((a == pair.truth) & (a >= 0)) for a, pair in zip(matcher.predict(pairs), pairs, strict=True)]
    assert matcher.batch_accuracy == pytest.approx(sum(found) / len(likelihoods))
    none = KeypointPair(images[0], images[1], np.arange(3), np.arange(4, 9))
    assert matcher.loss([none]).item() == 0  # nothing to learn from


@pytest.mark.parametrize("frozen", [True, False])
def test_all_that_is_trained_gets_a_gradient(pairs, frozen):
    matcher = make_dgmc(frozen=frozen).train()
    matcher.loss(pairs).backward()
    trained = {id(p) for group in matcher.parameter_groups(1e-3, 0.01) for p in group["params"]}
    for name, parameter in matcher.named_parameters():
        assert (id(parameter) in trained) == (not frozen or "backbone" not in name)
        # The backbone's top makes the global vector, which DGMC has no use for.
        assert (parameter.grad is not None) == (id(parameter) in trained and "backbone.top" not in name)


def test_seed_alone_decides_the_initial_parameters():
    before = torch.random.get_rng_state()
    one, again, other = (make_dgmc(seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(one[key], again[key]) for key in one)
    assert not torch.equal(one["compare1.weight"], other["compare1.weight"])


def test_it_learns_what_chance_cannot():
    """A few steps on the demo data: the loss sinks, and test accuracy is far above one keypoint in ten."""
    settings = {"channels": 128, "consensus_channels": 32, "steps": 2}
    config = load_run("dgmc", "smoke", 0, dgmc=settings, protocol={"test_pairs_per_class": 10})
    dataset = open_dataset(config.data, config.protocol)
    matcher = make_matcher(config).train()
    size = {"batch_size": 32, "iterations": 12}
    losses = train_a_little(matcher, dataset, config, learning_rate=2e-3, backbone_factor=1.0, **size)
    assert np.mean(losses[-3:]) < 0.8 * losses[0]
    evaluation = evaluate(matcher, dataset, config.protocol)
    assert evaluation.mean["accuracy"] > 0.3


def test_a_run_of_it_is_reproducible_and_scores_as_its_authors_do(tmp_path):
    """Dropout and indicators included; several source keypoints may share a target in predictions.npz."""
    optimiser = {"epochs": 1, "iterations_per_epoch": 2}
    config = load_run("dgmc", "smoke", 0, protocol={"test_pairs_per_class": 4}, optimiser=optimiser)
    one, other = (run(config, tmp_path / name) for name in ("one", "other"))
    assert one.metrics["per_class"] == other.metrics["per_class"]
    assert one.history.loss.tolist() == other.history.loss.tolist()
    assert any(len(np.unique(item.assignment)) < len(item.assignment) for item in one.predictions)
    assert evaluate_run(one).per_class == one.metrics["per_class"]


def test_root_matrices_start_as_configured_and_the_paper_budget_has_raw_features():
    today, before = make_dgmc(), make_dgmc(root_init="kernel")
    for part in ("local", "consensus"):
        for layer in ("first", "second"):
            one, other = (getattr(getattr(matcher, part), layer).lin.weight for matcher in (today, before))
            torch.testing.assert_close(other, one / 5)
    assert torch.equal(before.compare1.weight, today.compare1.weight)
    paper = load_run("dgmc", "paper", 0, dataset="voc")
    assert (paper.dgmc.features, paper.dgmc.feature_scale, paper.network.backbone) == ("raw", 1.0, "vgg16")
    assert load_run("dgmc", "willow", 0).dgmc.features == "unit"


def test_its_authors_keep_all_keypoints_and_split_willow_again_in_each_run():
    voc = load_run("dgmc_authors", "paper", 0, dataset="voc", filter="inclusion")
    assert voc.data.keep_outside
    configs = [load_run("dgmc_authors", "demo", seed) for seed in (0, 3)]
    assert [config.protocol.split_seed for config in configs] == [0, 3]
    first, last = (open_dataset(config.data, config.protocol).split_record() for config in configs)
    assert first != last


def test_pretraining_is_of_the_same_network():
    for budget in ("smoke", "demo", "paper"):
        alone, pretrained = (load_run(name, budget, 0) for name in ("dgmc", "dgmc_pt_wt"))
        assert pretrained.parent.run.dgmc == alone.dgmc == load_run("dgmc_pt", budget, 0).dgmc
        assert pretrained.optimiser == alone.optimiser
        assert pretrained.parent.run.data.exclude_willow == "images_of_2007"
