"""The whole network: costs, equivariance, deduplication, determinism, ablations."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from bbgm.data.images.views import mirror_image
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.features.cache import compute_features
from bbgm.graphs.delaunay import delaunay_graph, pseudo_coordinates
from bbgm.methods.base import Matcher
from bbgm.methods.bbgm.network import BBGM
from bbgm.methods.losses import hamming_loss
from bbgm.methods.soft.sinkhorn import sinkhorn
from tests.support.bbgm_networks import make_config, trained_a_little


def reference_costs(matcher, pair):
    """c^v and c^e of one pair, by the paper's steps, without any batching, edges by differences of features."""
    features = []
    for image, kept in ((pair.source, pair.kept1), (pair.target, pair.kept2)):
        nodes, pooled = compute_features(matcher.backbone, [image])[0]
        graph = delaunay_graph(image.xy[np.sort(kept)])
        x = nodes[torch.from_numpy(np.sort(kept))]
        ends, pseudo = torch.from_numpy(graph.edge_index), torch.from_numpy(pseudo_coordinates(graph))
        refined = matcher.refinement.second(F.relu(matcher.refinement.first(x, ends, pseudo)), ends, pseudo)
        x = x + 0.1 * refined
        features.append((x, x[ends[0]] - x[ends[1]], pooled))
    (x, dx, g1), (y, dy, g2) = features
    g = torch.cat([g1, g2]) / torch.cat([g1, g2]).norm()
    a, b = (torch.tanh(affinity.layer(g)) for affinity in (matcher.vertex_affinity, matcher.edge_affinity))
    unary, quadratic = (F.softplus((left * w) @ right.T) - 0.5 for left, w, right in ((x, a, y), (dx, b, dy)))
    place1, place2 = np.searchsorted(np.sort(pair.kept1), pair.kept1), np.searchsorted(np.sort(pair.kept2), pair.kept2)
    return -unary[place1][:, place2], -0.5 * quadratic


def edge_set(edges):
    return {tuple(edge) for edge in edges.tolist()}


def test_costs_are_the_papers_for_every_pair_of_a_mixed_batch(pairs):
    matcher = trained_a_little(make_config(), pairs)
    with torch.no_grad():
        for pair, costs in zip(pairs, matcher.costs(pairs), strict=True):
            unary, quadratic = reference_costs(matcher, pair)
            torch.testing.assert_close(costs.unary, unary, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(costs.quadratic, quadratic, rtol=1e-4, atol=1e-5)
            assert edge_set(costs.edges1) == edge_set(delaunay_graph(pair.source.xy[pair.kept1]).edges)
            assert edge_set(costs.edges2) == edge_set(delaunay_graph(pair.target.xy[pair.kept2]).edges)


def test_mirrored_vertex_costs_are_the_mean_of_a_pair_and_its_mirror_image(pairs):
    matcher = trained_a_little(make_config(), pairs)
    mirrored = BBGM(make_config(network={"mirrored": True})).eval()
    mirrored.load_state_dict(matcher.state_dict())
    reverse = [KeypointPair(mirror_image(p.source), mirror_image(p.target), p.kept1, p.kept2) for p in pairs]
    both = zip(mirrored.instances(pairs), matcher.instances(pairs), matcher.instances(reverse), strict=True)
    for found, own, seen in both:
        assert np.abs(own.unary - seen.unary).max() > 1e-3
        np.testing.assert_allclose(found.unary, (own.unary + seen.unary) / 2, atol=1e-5)
        np.testing.assert_array_equal(found.quadratic, own.quadratic)


def test_matching_follows_the_order_of_the_keypoints(pairs):
    """Permutation equivariance: another shuffle gives the same costs and the same matching, shuffled."""
    matcher = trained_a_little(make_config(), pairs)
    rng = np.random.default_rng(9)
    for pair in pairs:
        p, q = rng.permutation(len(pair.kept1)), rng.permutation(len(pair.kept2))
        shuffled = KeypointPair(pair.source, pair.target, pair.kept1[p], pair.kept2[q])
        one, two = matcher.costs([pair])[0], matcher.costs([shuffled])[0]
        torch.testing.assert_close(two.unary, one.unary[p][:, q], rtol=1e-4, atol=1e-6)
        assert edge_set(p[two.edges1]) == edge_set(one.edges1)
        found, again = matcher.predict([pair])[0], matcher.predict([shuffled])[0]
        original = np.where(again >= 0, q[again], -1)  # in the first pair's numbers of target keypoints
        assert np.array_equal(found[p], original)


def test_prediction_does_not_depend_on_company_or_chunks(pairs, monkeypatch):
    matcher = trained_a_little(make_config(), pairs)
    together = matcher.predict(pairs)
    for limit in ("bbgm.network.PAIRS", "base.GRAPHS", "base.IMAGES"):
        monkeypatch.setattr(f"bbgm.methods.{limit}", 2)
    for pair, found, chunked in zip(pairs, together, matcher.predict(pairs), strict=True):
        assert found.dtype == np.int32
        assert np.array_equal(found, chunked)
        assert np.array_equal(found, matcher.predict([pair])[0])
    assert matcher.predict([]) == []


def test_training_learns_the_pairs_it_sees(make_pair):
    pairs = [make_pair(i, j, seed=i) for i in range(4) for j in range(4) if i != j][:6]
    matcher = BBGM(make_config()).train()
    first = matcher.loss(pairs).item()
    trained = trained_a_little(make_config(), pairs, steps=30)
    found = trained.predict(pairs)
    accuracy = np.mean([np.mean(a == pair.truth) for a, pair in zip(found, pairs, strict=True)])
    assert first > 8  # random: about ten missing or wrong matches of ten
    assert accuracy > 0.9
    assert trained.solver_seconds > 0


def test_all_parameters_get_gradients(pairs):
    matcher = BBGM(make_config()).train()
    matcher.loss(pairs).backward()
    without = [name for name, parameter in matcher.named_parameters() if parameter.grad is None]
    assert without == []


def test_initial_parameters_depend_on_the_seed_alone():
    before = torch.random.get_rng_state()
    one = BBGM(make_config(seed=1)).state_dict()
    torch.rand(5)
    again, other = BBGM(make_config(seed=1)).state_dict(), BBGM(make_config(seed=2)).state_dict()
    assert all(torch.equal(one[key], again[key]) for key in one)
    assert not any(torch.equal(one[key], other[key]) for key in one if key.endswith("affinity.layer.weight"))
    torch.random.set_rng_state(before)
    BBGM(make_config(seed=3))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_training_is_reproducible(pairs):
    one, two = (trained_a_little(make_config(), pairs).state_dict() for _ in range(2))
    assert all(torch.equal(one[key], two[key]) for key in one)


@pytest.mark.parametrize(
    ("network", "absent"),
    [
        ({"quadratic": False}, "edge_affinity"),
        ({"refine": False}, "refinement"),
        ({"affinity": "fixed"}, "vertex_affinity.layer"),
    ],
)
def test_ablations_train_and_predict(pairs, network, absent):
    matcher = trained_a_little(make_config(network=network), pairs, steps=1)
    assert not [name for name, _ in matcher.named_parameters() if name.startswith(absent)]
    assert [len(found) for found in matcher.predict(pairs)] == [len(pair.kept1) for pair in pairs]
    if absent == "edge_affinity":
        costs = matcher.costs(pairs[:1])[0]
        assert costs.quadratic.numel() == 0
        assert costs.edges1.shape == (0, 2)


def test_frozen_backbone_reads_its_features_from_the_cache(pairs, cache):
    frozen, free = (BBGM(make_config(network={"freeze_backbone": flag})).train() for flag in (True, False))
    torch.testing.assert_close(frozen.loss(pairs), free.loss(pairs))
    assert len(list(cache.rglob("*.safetensors"))) == 4
    assert [group["name"] for group in frozen.parameter_groups(1e-3, 0.01)] == ["head"]
    # Other weights, other features.
    frozen.load_state_dict(BBGM(make_config(seed=5, network={"freeze_backbone": True})).state_dict())
    frozen.costs(pairs)
    assert len(list(cache.rglob("*.safetensors"))) == 8


def test_parameter_groups_cover_every_parameter_once():
    matcher = BBGM(make_config())
    groups = matcher.parameter_groups(2e-3, 0.01)
    assert {group["name"]: group["lr"] for group in groups} == {"head": 2e-3, "backbone": pytest.approx(2e-5)}
    ids = [id(parameter) for group in groups for parameter in group["params"]]
    assert sorted(ids) == sorted(id(parameter) for parameter in matcher.parameters())


def test_margin_applies_in_training_only(make_pair):
    pair = make_pair(0, 1)
    config = make_config(solver={"margin": 1000.0})
    matcher = BBGM(config)
    matcher.loss([pair])
    assert matcher.batch_accuracy == 0  # no true match is worth a thousand
    costs = matcher.costs([pair])[0]
    assert costs.unary.max().item() < 100


def test_unmatched_keypoints_cost_a_match_each(images):
    """Rows and columns of the truth without a 1: no margin there, and each match there is one error, not two."""
    half = [KeypointPair(images[k], images[k + 1], np.arange(6), np.arange(4, 9)) for k in range(3)]
    none = KeypointPair(images[0], images[1], np.arange(5), np.arange(5, 10))
    for pairs in ([*half, none], [none]):
        matcher = BBGM(make_config(solver={"margin": 0.0})).train()
        loss = matcher.loss(pairs)
        loss.backward()
        assert all(parameter.grad is not None for parameter in matcher.parameters())
        found = matcher.predict(pairs)  # batch norm of the same images
        wrong = [(a >= 0) & (a != pair.truth) for a, pair in zip(found, pairs, strict=True)]
        missed = [(pair.truth >= 0) & (a != pair.truth) for a, pair in zip(found, pairs, strict=True)]
        assert loss.item() == pytest.approx(np.mean([w.sum() + m.sum() for w, m in zip(wrong, missed, strict=True)]))
    assert matcher.batch_accuracy == 1  # of no true match
    one, two = (BBGM(make_config(solver={"margin": margin})).train() for margin in (0.0, 50.0))
    assert one.loss([none]) == two.loss([none])


def test_solver_of_the_configuration_is_used(make_pair):
    pairs = [make_pair(0, 1, 4, 4), make_pair(1, 2, 3, 4)]
    found = [BBGM(make_config(solver={"method": method})).predict(pairs) for method in ("best", "exact")]
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("loss", ["cross_entropy", "hamming"])
@pytest.mark.parametrize("full", [True, False])
def test_sinkhorn_in_the_solver_s_place(make_pair, loss, full):
    """Its loss is the soft matchings'; training learns; at test the solver rounds, all keypoints or some."""
    pairs = [make_pair(i, j, seed=i) for i in range(3) for j in range(3) if i != j]
    pairs.append(make_pair(0, 1, 6, 4))
    solver = {"layer": "sinkhorn", "full": full, "margin": 0, "sinkhorn": {"loss": loss, "iterations": 7}}
    config = make_config(network={"quadratic": False}, solver=solver)
    matcher = BBGM(config).train()
    costs = [cost.unary.detach() for cost in matcher.costs(pairs)]
    settings: dict[str, Any] = {"temperature": 0.05, "iterations": 7, "epsilon": 1e-4, "partial": not full}
    soft = [sinkhorn([one], **settings)[0].exp() for one in costs]
    truth = [torch.from_numpy(pair.truth_matrix).float() for pair in pairs]
    expected = hamming_loss(soft, truth)
    if loss == "cross_entropy":
        each = [F.binary_cross_entropy(p, t, reduction="sum") for p, t in zip(soft, truth, strict=True)]
        expected = torch.stack(each).mean()
    first = matcher.loss(pairs)
    torch.testing.assert_close(first, expected, rtol=1e-3, atol=1e-3)
    trained = trained_a_little(config, pairs, steps=20)
    found = trained.predict(pairs)
    assert trained.loss(pairs) < first
    assert np.mean([np.mean(a == pair.truth) for a, pair in zip(found[:6], pairs, strict=False)]) > 0.8
    if full:
        assert all(np.sum(a >= 0) == min(len(p.kept1), len(p.kept2)) for a, p in zip(found, pairs, strict=True))
    assert trained.batch_accuracy > 0.5


def test_bbgm_max_leaves_no_keypoint_of_the_smaller_side_out(make_pair):
    """In training and at test, also where every match costs something, so that BB-GM leaves all of them out."""
    pairs = [make_pair(*shape) for shape in ((0, 1, 4, 5), (1, 2, 5, 3), (2, 3, 1, 4), (3, 0, 4, 4))]
    smaller = [min(len(pair.kept1), len(pair.kept2)) for pair in pairs]
    for network in ({}, {"refine": False, "quadratic": False}):
        partial, full = (BBGM(make_config(network=network, solver={"full": f})) for f in (False, True))
        assert [np.sum(a >= 0) for a in full.predict(pairs)] == smaller
    for matcher in (partial, full):
        bias = matcher.get_parameter("vertex_affinity.layer.bias")
        torch.nn.init.constant_(bias, -5.0)  # features are positive: similarities not
    assert min(costs.unary.min() for costs in full.costs(pairs)) > 0
    assert [np.sum(a >= 0) for a in partial.predict(pairs)] == [0] * 4
    assert [np.sum(a >= 0) for a in full.predict(pairs)] == smaller
    true = [int(np.sum(pair.truth >= 0)) for pair in pairs]
    assert partial.loss(pairs).item() == np.mean(true)
    assert full.loss(pairs).item() >= np.mean(np.subtract(smaller, true))


def test_instances_are_the_costs_in_double_precision(pairs):
    matcher = BBGM(make_config()).eval()
    for instance, costs in zip(matcher.instances(pairs), matcher.costs(pairs), strict=True):
        assert instance.unary.dtype == instance.quadratic.dtype == np.float64
        np.testing.assert_array_equal(instance.unary, costs.unary.detach().double().numpy())
        np.testing.assert_array_equal(instance.quadratic, costs.quadratic.detach().double().numpy())
        np.testing.assert_array_equal(instance.edges1, costs.edges1)
        np.testing.assert_array_equal(instance.edges2, costs.edges2)


def test_a_matcher_without_a_loss_says_so():
    assert issubclass(BBGM, Matcher)
    with pytest.raises(NotImplementedError):
        Matcher().loss([])
