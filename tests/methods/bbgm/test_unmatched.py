"""Costs of unmatched keypoints: against the solver's own, against enumeration, and where training begins."""

from collections.abc import Sequence

import bbgm_solver
import numpy as np
import pytest
import torch

from bbgm.config import make_run
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.matching.blackbox import match_graphs
from bbgm.matching.instance import Instance
from bbgm.methods.bbgm.network import BBGM
from bbgm.methods.bbgm.settings import BBGMRun
from bbgm.methods.bbgm.unmatched import UnmatchedCosts
from bbgm.methods.losses import hamming_loss
from tests.support.draws import draw_instance, draw_truth
from tests.support.enumeration import all_costs, all_matchings

CHANNELS, GLOBAL = 6, 8


def make_head(gated: bool = True, seed: int = 0) -> UnmatchedCosts:
    """A head whose last layer is not zero."""
    torch.manual_seed(seed)
    head = UnmatchedCosts(CHANNELS, GLOBAL, gated).double()
    torch.nn.init.normal_(head.cost.weight)
    torch.nn.init.normal_(head.cost.bias)
    return head


def make_network(**network: object) -> BBGM:
    content = {"backbone": "small", "weights": "random", **network}
    config = make_run({"method": "bbgm", "title": "BB-GM", "budget": "smoke", "seed": 0, "network": content})
    assert isinstance(config, BBGMRun)
    return BBGM(config)


def unmatched_parts(assignment: np.ndarray, n2: int) -> tuple[np.ndarray, np.ndarray]:
    """s1 (n1,) and s2 (n2,): 1 where a node is unmatched."""
    return (assignment < 0).astype(float), (~np.isin(np.arange(n2), assignment)).astype(float)


@pytest.mark.parametrize("gated", [True, False])
def test_costs_are_their_equation(gated: bool) -> None:
    head = make_head(gated)
    x, y, g = (torch.randn(*shape, dtype=torch.float64) for shape in ((2, 3, CHANNELS), (2, 4, CHANNELS), (2, GLOBAL)))
    unary = torch.randn(2, 3, 4, dtype=torch.float64)
    weights = {name: value.detach().numpy() for name, value in head.named_parameters()}

    def cost(features: torch.Tensor, both: np.ndarray) -> float:
        a = np.tanh(weights["gate.weight"] @ both + weights["gate.bias"]) if gated else 1.0
        hidden = np.maximum(weights["hidden.weight"] @ (a * features.numpy()) + weights["hidden.bias"], 0)
        return float((weights["cost.weight"] @ hidden + weights["cost.bias"]).item())

    result = head.subtract(unary, x, y, g)
    for b, i, j in np.ndindex(2, 3, 4):
        g1, g2 = np.split(g[b].numpy(), 2)
        expected = unary[b, i, j].item() - cost(x[b, i], np.r_[g1, g2]) - cost(y[b, j], np.r_[g2, g1])
        assert result[b, i, j].item() == pytest.approx(expected)


def test_an_exchange_of_the_images_transposes_the_costs() -> None:
    head = make_head()
    x, y, g = (torch.randn(*shape, dtype=torch.float64) for shape in ((2, 3, CHANNELS), (2, 4, CHANNELS), (2, GLOBAL)))
    unary = torch.randn(2, 3, 4, dtype=torch.float64)
    swapped = head.subtract(unary.transpose(1, 2), y, x, torch.cat([g[:, GLOBAL // 2 :], g[:, : GLOBAL // 2]], dim=1))
    torch.testing.assert_close(swapped.transpose(1, 2), head.subtract(unary, x, y, g))


@pytest.mark.parametrize("sizes", [(4, 4), (5, 3), (3, 5)])
def test_minima_are_those_of_the_solver_s_unmatched_costs(sizes: tuple[int, int]) -> None:
    """And of enumeration of what the definition says; the costs differ by the sum of all unmatched costs."""
    head, changed = make_head(), 0
    for seed in range(10):
        rng = np.random.default_rng([seed, *sizes])
        instance = draw_instance(rng, *sizes)
        x, y, g = (
            torch.from_numpy(rng.normal(size=(1, *s))) for s in ([sizes[0], CHANNELS], [sizes[1], CHANNELS], [GLOBAL])
        )
        u1, u2 = head(x, g)[0].detach().numpy(), head(y, g.roll(GLOBAL // 2, dims=1))[0].detach().numpy()
        shifted = head.subtract(torch.from_numpy(instance.unary)[None], x, y, g)[0].detach().numpy()
        own = bbgm_solver.Problem(
            instance.unary, instance.edges1, instance.edges2, instance.quadratic, unmatched1=u1, unmatched2=u2
        )
        theirs = bbgm_solver.solve(own, "exact")
        ours = bbgm_solver.solve(
            Instance(
                unary=shifted, edges1=instance.edges1, edges2=instance.edges2, quadratic=instance.quadratic
            ).problem(),
            "exact",
        )
        np.testing.assert_array_equal(ours.assignment, theirs.assignment)
        assert ours.objective + u1.sum() + u2.sum() == pytest.approx(theirs.objective)
        matchings = all_matchings(*sizes)
        parts = [unmatched_parts(a, sizes[1]) for a in matchings]
        total = all_costs(instance, matchings) + [s1 @ u1 + s2 @ u2 for s1, s2 in parts]
        np.testing.assert_array_equal(ours.assignment, matchings[total.argmin()])
        changed += not np.array_equal(ours.assignment, matchings[all_costs(instance, matchings).argmin()])
    assert changed >= 3  # the costs have an effect


def test_gradient_is_that_of_the_indicators_of_unmatched_keypoints() -> None:
    lambda_, nonzero = 3.0, 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        instance, truth = draw_instance(rng, 4, 3), draw_truth(rng, 4, 3)
        u1, u2 = (torch.tensor(rng.normal(size=n), requires_grad=True) for n in (4, 3))
        unary = torch.from_numpy(instance.unary) - u1[:, None] - u2
        match, _ = match_graphs(
            [
                Instance(
                    unary=unary,
                    edges1=instance.edges1,
                    edges2=instance.edges2,
                    quadratic=torch.from_numpy(instance.quadratic),
                )
            ],
            lambda_=lambda_,
            method="exact",
        )
        hamming_loss(match, [torch.from_numpy(truth)]).backward()
        matchings = all_matchings(4, 3)
        parts = [unmatched_parts(a, 3) for a in matchings]
        total = all_costs(instance, matchings) + [
            s1 @ u1.detach().numpy() + s2 @ u2.detach().numpy() for s1, s2 in parts
        ]
        v = (matchings[:, :, None] == np.arange(3)).astype(float)
        now, later = total.argmin(), (total + lambda_ * np.tensordot(v, 1.0 - 2 * truth, 2)).argmin()
        for u, (before, after) in zip((u1, u2), zip(parts[now], parts[later], strict=True), strict=True):
            assert u.grad is not None
            np.testing.assert_allclose(u.grad.numpy(), (after - before) / lambda_, atol=1e-12)
            nonzero += bool(u.grad.any())
    assert nonzero >= 5


def test_training_through_the_solver_learns_which_keypoints_stay_unmatched() -> None:
    """The features say which nodes have no partner, the vertex costs do not."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    head = UnmatchedCosts(CHANNELS, GLOBAL, gated=False)
    optimiser = torch.optim.Adam(head.parameters(), lr=0.01)
    alone = torch.from_numpy(rng.random((16, 5)) < 0.4)
    x = torch.randn(16, 5, CHANNELS) + 2 * alone[:, :, None]
    unary = -0.2 * torch.ones(16, 5, 5) - torch.eye(5)
    truth = [torch.diag(~one) for one in alone]

    def matched(level: float) -> Sequence[torch.Tensor]:
        costs = head.subtract(unary, x, torch.zeros(16, 5, CHANNELS), torch.zeros(16, GLOBAL))
        raised = [one + level * true for one, true in zip(costs, truth, strict=True)]
        return match_graphs([Instance.linear(one) for one in raised], lambda_=80.0)[0]

    before = hamming_loss(matched(0.0), truth).item()
    for _ in range(100):
        optimiser.zero_grad()
        hamming_loss(matched(0.5), truth).backward()
        optimiser.step()
    assert before > 1
    assert hamming_loss(matched(0.0), truth).item() < 0.1 * before


def test_training_begins_as_without_unmatched_costs(pairs: list[KeypointPair]) -> None:
    plain, learned = make_network().train(), make_network(unmatched="learned").train()
    state = plain.state_dict()
    assert not any("unmatched" in name for name in state)
    for name, value in learned.state_dict().items():
        assert name.startswith("unmatched_costs.") or torch.equal(value, state[name])
    for one, two in zip(plain.costs(pairs), learned.costs(pairs), strict=True):
        assert torch.equal(one.unary, two.unary)
        assert torch.equal(one.quadratic, two.quadratic)
    loss = learned.loss(pairs)
    assert torch.equal(loss, plain.loss(pairs))
    loss.backward()
    weight = learned.get_parameter("unmatched_costs.cost.weight")
    assert weight.grad is not None
    assert weight.grad.abs().sum() > 0


def test_costs_of_a_pair_do_not_depend_on_padding(pairs: list[KeypointPair]) -> None:
    network = make_network(unmatched="learned").eval()
    torch.nn.init.normal_(network.get_parameter("unmatched_costs.cost.weight"))
    torch.nn.init.constant_(network.get_parameter("unmatched_costs.cost.bias"), 0.3)
    plain = make_network().eval()
    differences = []
    for together, pair in zip(network.instances(pairs), pairs, strict=True):
        (alone,), (without,) = network.instances([pair]), plain.instances([pair])
        np.testing.assert_allclose(together.unary, alone.unary, atol=1e-5)
        difference = without.unary - alone.unary
        # u1_i + u2_j: a sum of a row's and of a column's part
        np.testing.assert_allclose(difference, difference[:, :1] + difference[:1] - difference[:1, :1], atol=1e-5)
        differences.append(np.abs(difference).max())
    assert min(differences) > 0.01
