"""Losses of a whole batch against plain formulas with loops."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from bbgm.config import TERMS
from bbgm.methods.bbgm.contrast.consistency import pair_weights
from bbgm.methods.bbgm.contrast.loss import ContrastLoss
from bbgm.methods.bbgm.contrast.settings import ContrastConfig
from bbgm.methods.bbgm.network import BBGM
from tests.support.bbgm_networks import make_config, trained_a_little

START = 1 / 0.07


def batch_of(matcher, pairs):
    return matcher(pairs, *matcher.sides_of(pairs))


def with_terms(solver=None, network=None, **contrast):
    return BBGM(make_config(network=network, solver={"weight": 0, **(solver or {})}, contrast=contrast)).train()


def features_of(matcher, pairs):
    """For each pair its keypoints' features, and the coefficients of its vertex affinity."""
    found = []
    for pair in pairs:
        (computed,) = matcher.forward_passes(*matcher.sides_of([pair]))
        (x,), (y,) = computed.refined
        found.append((x, y, matcher.vertex_affinity.coefficients(computed.g)[0]))
    return found


def similarity(x, y, a=None):
    if a is None:
        return F.cosine_similarity(x, y, dim=0)
    return F.softplus((x * a * y).sum()) - 0.5


def plain_info_nce(found, pairs, negatives, same, kind):
    """InfoNCE by loops: the mean over both directions and all keypoints that have a partner."""
    means = []
    for one_way in (0, 1):
        losses = []
        for p, pair in enumerate(pairs):
            a = found[p][2] if kind == "costs" else None
            for i, j in enumerate(pair.truth):
                if j < 0:
                    continue
                query = found[p][0][i] if one_way == 0 else found[p][1][j]
                name = pair.source.names[pair.kept1[i]]
                exponents, right = [], []
                for q, other in enumerate(pairs):
                    kept, image = (other.kept2, other.target) if one_way == 0 else (other.kept1, other.source)
                    for k, number in enumerate(kept):
                        partner = q == p and k == (j if one_way == 0 else i)
                        twin = q != p and image.names[number] == name and image.cls == pair.source.cls
                        if (negatives == "pair" and q != p) or (same == "masked" and twin):
                            continue
                        exponents.append(START * similarity(query, found[q][1 - one_way][k], a))
                        right.append(partner or (same == "positive" and twin))
                shares = torch.log_softmax(torch.stack(exponents), dim=0)
                losses.append(-shares[torch.tensor(right)].mean())
        means.append(torch.stack(losses).mean())
    return (means[0] + means[1]) / 2


@pytest.mark.parametrize("kind", ["costs", "cosine"])
@pytest.mark.parametrize("negatives", ["batch", "pair"])
@pytest.mark.parametrize("same", ["negative", "masked", "positive"])
def test_info_nce(pairs, kind, negatives, same):
    """All kinds of negatives; pairs of different sizes, and keypoints without a partner."""
    matcher = with_terms(terms={"info_nce": 2.0}, similarity=kind, negatives=negatives, same=same).eval()
    torch.nn.init.normal_(matcher.get_parameter("vertex_affinity.layer.weight"))  # coefficients that differ
    with torch.no_grad():
        expected = plain_info_nce(features_of(matcher, pairs), pairs, negatives, same, kind)
        torch.testing.assert_close(matcher.loss(pairs), 2 * expected, rtol=1e-4, atol=1e-4)


def test_similarities_within_a_pair_are_minus_the_costs(pairs):
    matcher = with_terms(terms={"info_nce": 1.0})
    batch, costs = batch_of(matcher, pairs), matcher.costs(pairs)
    for p, cost in enumerate(costs):
        for matrix in (batch.rows, batch.columns):
            own = matrix[batch.pair1 == p][:, batch.pair2 == p]
            torch.testing.assert_close(own, -cost.unary, rtol=1e-4, atol=1e-5)


def test_the_temperature_is_learned_and_stays_in_its_range(pairs):
    matcher = with_terms(terms={"info_nce": 1.0})
    assert matcher.contrast.log_scale[0].item() == pytest.approx(math.log(START))
    matcher.loss(pairs).backward()
    assert matcher.contrast.log_scale.grad[0] != 0
    for outside, inside in ((-3.0, 0.0), (7.0, math.log(100))):
        torch.nn.init.constant_(matcher.contrast.log_scale, outside)
        matcher.loss(pairs)
        assert matcher.contrast.log_scale[0].item() == pytest.approx(inside)


def test_edge_nce(pairs):
    """Each edge among those of the other image; edges whose partner is no edge there do not count."""
    matcher = with_terms(terms={"edge_nce": 1.0}).eval()
    losses = []
    with torch.no_grad():
        for pair, cost in zip(pairs, matcher.costs(pairs), strict=True):
            logits = START * -2 * cost.quadratic
            place = {tuple(edge): f for f, edge in enumerate(cost.edges2.tolist())}
            for e, (i, k) in enumerate(cost.edges1.tolist()):
                f = place.get((pair.truth[i], pair.truth[k]))
                if f is not None:
                    losses += [-torch.log_softmax(logits[e], 0)[f], -torch.log_softmax(logits[:, f], 0)[e]]
        assert 0 < len(losses) < 2 * sum(len(cost.edges1) for cost in matcher.costs(pairs))
        torch.testing.assert_close(matcher.loss(pairs), torch.stack(losses).mean(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("unmatched", ["none", "learned"])
def test_partial_nce(pairs, unmatched):
    """Each keypoint among those of the other image and no partner; costs of unmatched keypoints count, if learned."""
    matcher = with_terms(terms={"partial_nce": 2.0}, network={"unmatched": unmatched}).eval()
    if unmatched == "learned":
        torch.nn.init.normal_(matcher.unmatched_costs.cost.weight)
    with torch.no_grad():
        rows, columns = [], []
        for pair, cost in zip(pairs, matcher.costs(pairs), strict=True):
            (n1, n2), nothing = cost.unary.shape, torch.zeros(1)
            partners = {int(j): i for i, j in enumerate(pair.truth) if j >= 0}
            for i, j in enumerate(pair.truth):
                logits = torch.cat([-START * cost.unary[i], nothing])
                rows.append(-torch.log_softmax(logits, 0)[j if j >= 0 else n2])
            for j in range(n2):
                logits = torch.cat([-START * cost.unary[:, j], nothing])
                columns.append(-torch.log_softmax(logits, 0)[partners.get(j, n1)])
        assert any((pair.truth < 0).any() for pair in pairs)
        expected = sum(torch.stack(losses).mean() for losses in (rows, columns))
        torch.testing.assert_close(matcher.loss(pairs), expected, rtol=1e-4, atol=1e-4)


def test_partial_nce_teaches_what_stays_unmatched(pairs):
    """Its gradient reaches the costs of unmatched keypoints, and the offset of the cosine, which is the costs' zero."""
    network = {"affinity": "cosine", "unmatched": "learned"}
    matcher = with_terms(terms={"partial_nce": 1.0}, network=network, solver={"full": False})
    matcher.loss(pairs).backward()
    assert matcher.unmatched_costs.cost.bias.grad.abs() > 0
    assert matcher.vertex_affinity.offset.grad.abs() > 0


@pytest.mark.parametrize("names", ["class", "shared"])
def test_sup_con(pairs, names):
    """Both sides of all pairs together; keypoints whose name no other one has are only told from."""
    matcher = with_terms(terms={"sup_con": 2.0}, names=names).eval()
    with torch.no_grad():
        z, labels = [], []
        for (x, y, _), pair in zip(features_of(matcher, pairs), pairs, strict=True):
            for rows, kept, image in ((x, pair.kept1, pair.source), (y, pair.kept2, pair.target)):
                z += list(rows)
                labels += [(image.cls if names == "class" else "", image.names[k]) for k in kept]
        means = []
        for i, label in enumerate(labels):
            others = [k for k in range(len(z)) if k != i]
            shares = torch.log_softmax(torch.stack([START * similarity(z[i], z[k]) for k in others]), dim=0)
            right = torch.tensor([labels[k] == label for k in others])
            means += [-shares[right].mean()] if right.any() else []
        assert 0 < len(means) <= len(z)
        torch.testing.assert_close(matcher.loss(pairs), 2 * torch.stack(means).mean(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["within", "across"])
def test_consistency(pairs, name):
    matcher = with_terms(terms={name: 1.0}).eval()
    with torch.no_grad():
        a, b = [], []
        for (x, y, _), pair in zip(features_of(matcher, pairs), pairs, strict=True):
            for i, j in enumerate(pair.truth):
                if j >= 0:
                    a.append(x[i])
                    b.append(y[j])
        n = len(a)
        one, two, between = (
            np.array([[similarity(p, q).item() for q in v] for p in u]) for u, v in ((a, a), (b, b), (a, b))
        )
        sure = np.array(
            [(between[k, k] / between[k].sum() + between[k, k] / between[:, k].sum()) / 2 for k in range(n)]
        )
        sure = (sure - sure.min()) / (sure.max() - sure.min())
        weights = np.outer(sure, sure)
        weights = (weights - weights.min()) / (weights.max() - weights.min())
        difference = one - two if name == "within" else between - between.T
        assert matcher.loss(pairs).item() == pytest.approx(n * np.mean(weights * difference**2), rel=1e-3)


def test_equal_weights_are_one():
    assert torch.equal(pair_weights(torch.full((3, 3), 0.5)), torch.ones(3, 3))
    assert pair_weights(torch.zeros(0, 0)).shape == (0, 0)


def test_spread(pairs):
    """The keypoint that is alone in its image does not count."""
    matcher = with_terms(terms={"spread": 1.0}).eval()
    with torch.no_grad():
        expected = 0.0
        for side in (0, 1):
            largest = []
            for found in features_of(matcher, pairs):
                rows = found[side]
                for i in range(len(rows)):
                    others = [similarity(rows[i], rows[k]).item() for k in range(len(rows)) if k != i]
                    largest += [max(others)] if others else []
            expected += np.mean(largest)
        assert matcher.loss(pairs).item() == pytest.approx(expected, rel=1e-4)


def test_terms_of_nothing_are_zero_and_have_a_gradient(make_pair, images):
    """No true correspondence, and one keypoint for each image. Only `partial_nce` asks what has no partner."""
    from bbgm.data.sampling.pairs import KeypointPair

    apart = KeypointPair(images[0], images[1], np.array([1]), np.array([2]))
    for name in TERMS:
        matcher = with_terms(terms={name: 1.0})
        loss = matcher.loss([apart])
        loss.backward()
        assert (loss.item() == 0) == (name != "partial_nce")


def test_the_loss_is_the_weighted_sum(pairs):
    """Of the solver's loss and the terms; with weight 1 and without terms it is the solver's, bit for bit."""
    plain = BBGM(make_config()).train()
    explicit = BBGM(make_config(solver={"weight": 1.0}, contrast={"terms": {}})).train()
    assert plain.state_dict().keys() == explicit.state_dict().keys()
    assert not [name for name in plain.state_dict() if name.startswith(("contrast", "teacher", "positions", "proj"))]
    solver = plain.loss(pairs)
    assert torch.equal(explicit.loss(pairs), solver)
    terms = {"info_nce": 0.5, "spread": 3.0}
    parts = [with_terms(terms={name: 1.0}).loss(pairs) for name in terms]
    both = BBGM(make_config(solver={"weight": 0.25}, contrast={"terms": terms})).train()
    expected = 0.25 * solver + 0.5 * parts[0] + 3 * parts[1]
    torch.testing.assert_close(both.loss(pairs), expected, rtol=1e-4, atol=1e-4)


def test_terms_do_not_change_the_first_parameters():
    plain = BBGM(make_config(seed=4)).state_dict()
    more = make_config(seed=4, network={"positions": {"kind": "attention"}}, contrast={"terms": {"info_nce": 1}})
    more = BBGM(more).state_dict()
    assert all(torch.equal(more[name], plain[name]) for name in plain)
    assert len(more) > len(plain)


def test_without_the_solver_s_loss_the_terms_teach_matching(make_pair):
    pairs = [make_pair(i, j, seed=i) for i in range(4) for j in range(4) if i != j][:6]
    solver = {"weight": 0, "full": True}
    contrast = {"terms": {"info_nce": 1.0, "edge_nce": 1.0}, "same": "positive"}
    trained = trained_a_little(make_config(solver=solver, contrast=contrast), pairs, steps=40)
    found = trained.predict(pairs)
    assert np.mean([np.mean(a == pair.truth) for a, pair in zip(found, pairs, strict=True)]) > 0.7  # chance: 0.1
    trained.loss(pairs)
    assert trained.batch_accuracy > 0.5


def test_settings_that_make_no_sense():
    for solver, contrast, network, message in (
        ({"weight": 0}, {}, {}, "contrast.terms is empty"),
        ({}, {"terms": {"infonce": 1}}, {}, "not one of"),
        ({}, {"terms": {"info_nce": -1}}, {}, "info_nce is -1.0: weights are not negative; 0 leaves a term out"),
        ({}, {"terms": {"edge_nce": 1}}, {"quadratic": False}, "quadratic: true"),
        ({}, {}, {"positions": {"width": 10, "heads": 4}}, "multiple of"),
    ):
        with pytest.raises(ValueError, match=message):
            make_config(solver=solver, contrast=contrast, network=network)
    with pytest.raises(ValueError, match="no loss of a whole batch"):
        BBGM(make_config())([], [], {})


def test_the_loss_module_knows_its_terms():
    assert len(ContrastLoss(ContrastConfig(terms={"spread": 1, "within": 2}))._terms) == 2


def test_a_term_of_weight_0_is_left_out():
    """So an experiment that is like another one can drop a term of it."""
    assert ContrastConfig(terms={"info_nce": 0, "sup_con": 2}) == ContrastConfig(terms={"sup_con": 2})
