"""The momentum teacher: how it follows, what it says, and that it leaves the network alone."""

import copy

import pytest
import torch

from bbgm.methods.bbgm.network import BBGM
from tests.support.bbgm_networks import make_config


def make_matcher(seed=0, network=None, **teacher):
    contrast = {"terms": {"info_nce": 1.0}, "teacher": teacher}
    return BBGM(make_config(seed=seed, network=network, solver={"weight": 0}, contrast=contrast)).train()


def test_it_follows_the_network(pairs):
    matcher = make_matcher(momentum=0.75)
    name = "vertex_affinity.layer.weight"
    start = matcher.get_parameter(name).detach().clone()
    torch.nn.init.normal_(matcher.get_parameter(name))
    now = matcher.get_parameter(name).detach().clone()
    for share in (0.75, 0.75**2):
        matcher.loss(pairs)
        torch.testing.assert_close(matcher.teacher.state(matcher)[name], share * start + (1 - share) * now)
    assert torch.equal(matcher.get_parameter(name), now)
    matcher.eval().loss(pairs)  # no step outside of training
    torch.testing.assert_close(matcher.teacher.state(matcher)[name], 0.75**2 * start + (1 - 0.75**2) * now)


def test_its_share_grows(pairs):
    matcher = make_matcher(alpha=0.4, warm_up=4)
    shares = []
    for _ in range(6):
        matcher.loss(pairs)
        shares.append(matcher.teacher.alpha)
    assert shares == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4, 0.4])


def test_soft_targets(pairs):
    """The loss is that of the mixed targets, with what a network with the teacher's parameters computes."""
    matcher = make_matcher(momentum=1, alpha=0.5, warm_up=0)
    other = make_matcher(seed=0)
    torch.nn.init.normal_(matcher.get_parameter("vertex_affinity.layer.weight"))
    seen = other(pairs, *other.sides_of(pairs))
    batch = matcher(pairs, *matcher.sides_of(pairs))
    expected = torch.zeros(())
    for mine, theirs, chosen, right in (
        (batch.rows, seen.rows, batch.true1, batch.true2),
        (batch.columns.T, seen.columns.T, batch.true2, batch.true1),
    ):
        target = 0.5 * torch.softmax(theirs[chosen] / 0.07, dim=1)
        target[torch.arange(len(right)), right] += 0.5
        expected -= (target * torch.log_softmax(mine[chosen] / 0.07, dim=1)).sum(dim=1).mean() / 2
    torch.testing.assert_close(matcher.loss(pairs), expected, rtol=1e-4, atol=1e-4)


def test_it_is_stored_and_gets_no_gradient(pairs):
    matcher = make_matcher()
    matcher.loss(pairs).backward()
    again = make_matcher(seed=3)
    again.load_state_dict(matcher.state_dict())
    assert again.teacher.steps == 1
    mine, theirs = matcher.teacher.state(matcher), again.teacher.state(again)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert not list(matcher.teacher.parameters())


def test_batch_norm_counts_only_what_the_network_sees(pairs):
    settings = {"network": {"projection": 16}, "solver": {"weight": 0}}
    plain = BBGM(make_config(**settings, contrast={"terms": {"info_nce": 1.0}})).train()
    taught = BBGM(make_config(**settings, contrast={"terms": {"info_nce": 1.0}, "teacher": {}})).train()
    for matcher in (plain, taught):
        matcher.loss(pairs)
    one, two = (copy.deepcopy(dict(matcher.projection.named_buffers())) for matcher in (plain, taught))
    assert one["1.num_batches_tracked"] == 1
    assert all(torch.equal(one[name], two[name]) for name in one)
