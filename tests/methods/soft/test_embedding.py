"""What holds for every method that embeds nodes across both graphs of a pair."""

import numpy as np
import pytest
import torch

from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.data.sampling.pairs import KeypointPair, sample_training_batch
from bbgm.matching.linear import linear_assignment
from bbgm.methods.base import make_matcher
from bbgm.methods.losses import cross_entropies
from bbgm.methods.soft.embedding import Bilinear, CrossGraph, neighbour_mean, neighbour_sum
from bbgm.runs.evaluate import evaluate
from bbgm.runs.train import evaluate_run, run
from tests.support.embeddings import feature_batch, make_embedding, scores_of
from tests.support.training import shuffle, slope_and_quotient, train_a_little

METHODS = {
    "PIA-GM": ("pca", {"cross": "none"}),
    "PCA-GM": ("pca", {}),
    "IPCA-GM": ("pca", {"cross": "repeated"}),
    "CIE1": ("cie", {}),
    "CIE2": ("cie", {"edges": "cie2"}),
    "GLMNet": ("glmnet", {}),
}
EXPERIMENTS = ("pca_gm", "ipca_gm", "cie", "glmnet")

every_method = pytest.mark.parametrize(("model", "settings"), METHODS.values(), ids=METHODS)


@every_method
@pytest.mark.parametrize("loss", ["permutation", "hungarian_attention"])
def test_gradients_are_those_of_finite_differences(make_pair, model, settings, loss):
    pairs = [make_pair(0, 1), make_pair(0, 2, 5, 7), make_pair(2, 1, 4, 3)]
    matcher = make_embedding(model, soft={"loss": loss}, **settings)
    matcher.loss(pairs).backward()
    generator, step = torch.Generator().manual_seed(0), 1e-6
    for name, parameter in matcher.named_parameters():
        if name.startswith("backbone."):
            continue
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        slope, quotient = slope_and_quotient(matcher, pairs, parameter, direction, step)
        assert quotient == pytest.approx(slope, rel=1e-4, abs=1e-7), name


@every_method
def test_scores_follow_the_order_of_the_keypoints(pairs, model, settings):
    matcher, rng = make_embedding(model, **settings), np.random.default_rng(9)
    shuffled, rows, columns = zip(*(shuffle(pair, rng) for pair in pairs), strict=True)
    results = zip(scores_of(matcher, pairs), scores_of(matcher, list(shuffled)), rows, columns, strict=True)
    for one, other, p, q in results:
        np.testing.assert_allclose(other, one[p][:, q], rtol=1e-9, atol=1e-10)


@every_method
def test_a_pair_does_not_depend_on_company_or_chunks(pairs, monkeypatch, model, settings):
    matcher = make_embedding(model, **settings)
    found = matcher.predict(pairs)
    for pair, together in zip(pairs, scores_of(matcher, pairs), strict=True):
        np.testing.assert_allclose(scores_of(matcher, [pair])[0], together, rtol=1e-9, atol=1e-10)
    monkeypatch.setattr(matcher, "at_once", 2)
    monkeypatch.setattr("bbgm.methods.base.GRAPHS", 2)
    for pair, one, chunked in zip(pairs, found, matcher.predict(pairs), strict=True):
        assert np.array_equal(one, chunked)
        used = one[one >= 0]
        assert len(np.unique(used)) == len(used) == min(len(pair.kept1), len(pair.kept2))
    assert matcher.predict([]) == []


@every_method
def test_source_and_target_change_places(pairs, model, settings):
    """With symmetric A and, for GLMNet, the same layer in both directions, scores are transposed."""
    matcher = make_embedding(model, **settings)
    with torch.no_grad():
        for module in matcher.modules():
            if isinstance(module, Bilinear):
                module.weight.add_(module.weight.T.clone())
    if model == "glmnet":
        matcher.cross2.load_state_dict(matcher.cross1.state_dict())
    matcher.settings = matcher.settings.model_copy(update={"iterations": 500})  # rows come first
    swapped = [KeypointPair(pair.target, pair.source, pair.kept2, pair.kept1) for pair in pairs]
    for one, other in zip(scores_of(matcher, pairs), scores_of(matcher, swapped), strict=True):
        np.testing.assert_allclose(other, one.T, rtol=1e-5, atol=1e-6)


@every_method
def test_copies_are_matched_and_unrelated_graphs_by_chance(model, settings):
    """Trained on graphs with random features and their shuffled copies, which say nothing about unrelated ones."""
    matcher = make_embedding(model, soft={"temperature": 0.05, "iterations": 10}, **{**settings, "width": 48})
    rng, n = np.random.default_rng(0), 8

    def draw(pairs):
        features = rng.normal(size=(pairs, n, matcher.backbone.node_channels))
        return features / np.linalg.norm(features, axis=2, keepdims=True), rng.uniform(0, 256, (pairs, n, 2))

    def assignments(source, target):
        x1, x2 = (torch.from_numpy(side[0]) for side in (source, target))
        batch = feature_batch(matcher, x1, x2, source[1], target[1])
        return matcher.normalise(batch, matcher.scores(batch))

    def copies(pairs):
        (x, xy), order = draw(pairs), rng.permutation(n)
        truth = torch.zeros(n, n, dtype=torch.bool)
        truth[torch.from_numpy(order), torch.arange(n)] = True
        return assignments((x, xy), (x[:, order], xy[:, order])), truth

    optimiser = torch.optim.Adam(matcher.parameter_groups(2e-3, 0.0))
    for _ in range(100):
        optimiser.zero_grad()
        log_match, truth = copies(8)
        torch.stack([cross_entropies(one, truth).mean() for one in log_match]).sum().backward()
        optimiser.step()

    def share(log_match, truth):
        chosen = [linear_assignment(one.exp().numpy()) for one in log_match]
        return np.mean([truth[np.arange(n), columns].double().mean() for columns in chosen])

    with torch.no_grad():
        assert share(*copies(100)) >= 0.99
        assert share(assignments(draw(200), draw(200)), truth) == pytest.approx(1 / n, abs=0.03)


@every_method
def test_the_seed_alone_decides_the_initial_parameters(model, settings):
    before = torch.random.get_rng_state()
    one, again, other = (make_embedding(model, seed, **settings).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(one[key], again[key]) for key in one)
    assert not torch.equal(one["affinity.weight"], other["affinity.weight"])


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_it_learns(experiment):
    """A few steps on the demo data: the loss falls, and test accuracy rises above the untrained network's."""
    protocol = {"test_pairs_per_class": 20}
    config = load_run(experiment, "smoke", 0, protocol=protocol, network={"freeze_backbone": True})
    dataset = open_dataset(config.data, config.protocol)
    matcher = make_matcher(config).train()
    untrained = evaluate(matcher, dataset, config.protocol).mean["accuracy"]
    losses = train_a_little(matcher, dataset, config, learning_rate=1e-3)
    assert np.mean(losses[-3:]) < 0.7 * losses[0]
    assert evaluate(matcher, dataset, config.protocol).mean["accuracy"] > untrained + 0.03


def test_a_run_is_reproducible(tmp_path):
    optimiser = {"epochs": 1, "iterations_per_epoch": 2}
    config = load_run("cie", "smoke", 0, protocol={"test_pairs_per_class": 4}, optimiser=optimiser)
    one, other = (run(config, tmp_path / name) for name in ("one", "other"))
    assert one.metrics["per_class"] == other.metrics["per_class"]
    assert one.history.loss.tolist() == other.history.loss.tolist()
    assert evaluate_run(one).per_class == one.metrics["per_class"]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_all_filters_are_possible(experiment):
    for name in ("inclusion", "unfiltered"):
        config = load_run(experiment, "smoke", 0, dataset="voc", filter=name, protocol={"test_sets_per_class": 0})
        dataset = open_dataset(config.data, config.protocol)
        matcher = make_matcher(config)
        pairs = sample_training_batch(dataset, config.protocol, 0, 0, 0, 8)
        assert torch.isfinite(matcher.loss(pairs))
        for pair, found in zip(pairs, matcher.predict(pairs), strict=True):
            assert (found >= 0).sum() == min(len(pair.kept1), len(pair.kept2))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"soft": {"graph2": "full"}}, "graph1 is 'delaunay' and soft.graph2 'full'.*make them equal"),
        ({"soft": {"rounding": "solver"}}, "needs costs.*set rounding: lap"),
        ({"filter": "unfiltered"}, "test_sets_per_class: 0"),
        (
            {"soft": {"loss": "offset"}, "filter": "unfiltered", "protocol": {"test_sets_per_class": 0}},
            "partner.*soft.loss: permutation",
        ),
        ({"soft": {"temperature": 0}}, "greater than 0"),
    ],
)
def test_what_cannot_work_is_named_at_once(experiment, change, message):
    with pytest.raises(ValueError, match=message):
        load_run(experiment, "smoke", 0, **change)


def test_the_cross_graph_layer_is_one_matrix_of_both_embeddings():
    torch.manual_seed(0)
    layer, x1, x2, soft = CrossGraph(3), torch.randn(2, 4, 3), torch.randn(2, 5, 3), torch.rand(2, 4, 5)
    expected = torch.cat([x1, soft @ x2], dim=2) @ layer.weight.T + layer.bias
    torch.testing.assert_close(layer(x1, x2, soft), expected)
    torch.testing.assert_close(layer.combine(layer.parts(x1)[0], layer.parts(x2)[1], soft), expected)


def test_neighbours_are_those_of_the_edges():
    x = torch.arange(8.0).view(4, 2)
    edge_index = torch.tensor([[1, 2, 0, 0], [0, 0, 1, 2]])
    torch.testing.assert_close(neighbour_mean(x, edge_index), torch.stack([(x[1] + x[2]) / 2, x[0], x[0], 0 * x[0]]))
    none = torch.zeros(2, 0, dtype=torch.int64)
    assert torch.equal(neighbour_sum(torch.zeros(0, 2), none, 3), torch.zeros(3, 2))
