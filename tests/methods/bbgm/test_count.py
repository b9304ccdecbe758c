"""The number of matches: the cheapest matching of k against enumeration, and the head that predicts k."""

import numpy as np
import pytest
import torch

from bbgm.config import load_run, make_run
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.matching.instance import Instance
from bbgm.matching.solvers import make_solver
from bbgm.methods.bbgm.count import CountHead, count_statistics, shift_to_counts
from bbgm.methods.bbgm.network import BBGM
from bbgm.methods.bbgm.settings import BBGMRun
from bbgm.methods.soft.sinkhorn import sinkhorn
from tests.support.draws import draw_instance
from tests.support.enumeration import all_costs, all_matchings, enumerate_solver


def smallest_by_count(instance: Instance) -> np.ndarray:
    """C(k), k = 0, ..., min(n1, n2)."""
    n1, n2 = instance.unary.shape
    matchings = all_matchings(n1, n2)
    numbers, costs = (matchings >= 0).sum(axis=1), all_costs(instance, matchings)
    return np.array([costs[numbers == k].min() for k in range(min(n1, n2) + 1)])


def hull_margin(smallest: np.ndarray, k: int) -> float:
    """Length of the interval of mu in which C(k) - mu k is the smallest; negative where there is none."""
    from_below = max([(smallest[k] - smallest[m]) / (k - m) for m in range(k)], default=-np.inf)
    to_above = min([(smallest[m] - smallest[k]) / (m - k) for m in range(k + 1, len(smallest))], default=np.inf)
    return float(to_above - from_below)


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (5, 3)])
def test_matchings_of_k_are_the_cheapest_where_k_is_on_the_convex_hull(sizes: tuple[int, int]) -> None:
    skipped = 0
    for seed in range(8):
        instance = draw_instance(np.random.default_rng([seed, *sizes]), *sizes)
        smallest = smallest_by_count(instance)
        margins = np.array([hull_margin(smallest, k) for k in range(len(smallest))])
        on_hull = np.flatnonzero(margins > 0)
        shifted = shift_to_counts([instance] * len(smallest), range(len(smallest)), enumerate_solver)
        for k, (x, assignment, hit) in enumerate(zip(shifted.instances, shifted.assignments, shifted.hit, strict=True)):
            found = int((assignment >= 0).sum())
            np.testing.assert_array_equal(assignment, enumerate_solver([x])[0])
            assert instance.cost(instance.solution(assignment)) == pytest.approx(smallest[found])
            mu = instance.unary - x.unary
            np.testing.assert_allclose(mu, mu[0, 0])
            assert hit == (found == k)
            if margins[k] > 0.02:
                assert hit
            if margins[k] < 0:
                below, above = on_hull[on_hull < k].max(), on_hull[on_hull > k].min()
                assert found == (below if k - below <= above - k else above)
                skipped += 1
    assert skipped >= 3  # the gap occurs, and is tested


def test_each_k_is_met_without_edge_costs() -> None:
    for seed in range(8):
        instance = Instance.linear(np.random.default_rng(seed).normal(size=(4, 5)))
        smallest = smallest_by_count(instance)
        shifted = shift_to_counts([instance] * 5, range(5), make_solver("best"))
        margins = [hull_margin(smallest, k) for k in range(5)]
        assert min(margins) > 0
        assert shifted.hit[np.array(margins) > 0.01].all()
        for k in np.flatnonzero(shifted.hit):
            assert instance.cost(instance.solution(shifted.assignments[k])) == pytest.approx(smallest[k])


def test_what_has_k_matches_already_is_solved_once_and_stays_as_it_is() -> None:
    instances = [draw_instance(np.random.default_rng(seed), 4, 5) for seed in range(4)]
    solver = make_solver("best")
    plain = solver(instances)
    counts = [int((a >= 0).sum()) for a in plain]
    shifted = shift_to_counts(instances, counts, solver)
    assert solver.instances == 2 * len(instances)
    assert shifted.hit.all()
    for x, y, a, b in zip(instances, shifted.instances, plain, shifted.assignments, strict=True):
        assert np.array_equal(x.unary, y.unary)
        assert np.array_equal(a, b)


def test_impossible_counts_are_refused() -> None:
    instance = draw_instance(np.random.default_rng(0), 4, 3)
    for k in (-1, 4):
        with pytest.raises(ValueError, match=f"{k} matches of at most 3"):
            shift_to_counts([instance], [k], enumerate_solver)


def test_statistics_are_those_of_each_pair_alone_whichever_image_is_first() -> None:
    torch.manual_seed(0)
    unary = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 5), (4, 4), (6, 2))]
    statistics = count_statistics(unary)
    assert not statistics.requires_grad
    for one, row in zip(unary, statistics, strict=True):
        torch.testing.assert_close(count_statistics([one])[0], row)
        smaller, larger = sorted(one.shape)
        costs = one.detach().numpy()
        costs = costs if len(costs) == smaller else costs.T
        levels = [0.1, 0.25, 0.5, 0.75, 0.9]
        expected = [*np.quantile(costs.min(axis=1), levels), *np.quantile(costs.min(axis=0), levels)]
        np.testing.assert_allclose(row[4:], [*expected, smaller / 10, larger / 10], rtol=1e-6)
        if smaller != larger:
            torch.testing.assert_close(count_statistics([one.T])[0], row)
        for column, temperature in ((0, 0.1), (2, 0.5)):
            (log_p,) = sinkhorn([torch.from_numpy(costs)], temperature=temperature, iterations=10, partial=True)
            p = np.exp(log_p.numpy())
            np.testing.assert_allclose(row[column : column + 2], [p.sum() / smaller, (p**2).sum() / smaller])


def test_loss_is_the_cross_entropy_of_the_share() -> None:
    torch.manual_seed(0)
    head = CountHead()
    unary = [torch.randn(3, 5), torch.randn(4, 2)]
    truth = [torch.eye(3, 5, dtype=torch.bool), torch.eye(4, 2, dtype=torch.bool)]
    truth[0][0, 0] = truth[1][0, 0] = False
    p = head(unary).detach().sigmoid().double().numpy()
    share = np.array([2 / 3, 1 / 2])
    expected = -(share * np.log(p) + (1 - share) * np.log(1 - p)).mean()
    assert head.loss(unary, truth).item() == pytest.approx(expected, rel=1e-5)
    torch.nn.init.zeros_(head.share.weight)
    for share_, counts in ((0.01, [0, 0]), (0.6, [2, 1]), (0.99, [3, 2])):
        torch.nn.init.constant_(head.share.bias, float(np.log(share_ / (1 - share_))))
        assert head.counts(unary).tolist() == counts


def test_head_learns_the_number_of_good_matches() -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    unary, truth = [], []
    for _ in range(64):
        n1, n2 = rng.integers(4, 9, size=2)
        true = torch.zeros(n1, n2, dtype=torch.bool)
        k = int(rng.integers(1, min(n1, n2) + 1))
        true[rng.permutation(n1)[:k], rng.permutation(n2)[:k]] = True
        truth.append(true)
        unary.append(0.3 * torch.randn(n1, n2) + 0.8 - true.float())
    head = CountHead()
    optimiser = torch.optim.Adam(head.parameters(), lr=0.01)
    for _ in range(150):
        optimiser.zero_grad()
        head.loss(unary, truth).backward()
        optimiser.step()
    true_counts = np.array([int(one.sum()) for one in truth])
    constant = np.abs(true_counts - true_counts.mean()).mean()
    assert np.abs(head.counts(unary) - true_counts).mean() < 0.4 * constant


def test_network_is_that_of_bbgm_bit_for_bit_and_matches_as_many_as_predicted(pairs: list[KeypointPair]) -> None:
    networks = []
    for count in ("none", "predicted"):
        settings = {"backbone": "small", "weights": "random", "count": count}
        config = make_run({"method": "bbgm", "title": "BB-GM", "budget": "smoke", "seed": 0, "network": settings})
        assert isinstance(config, BBGMRun)
        network = BBGM(config).train()
        optimiser = torch.optim.Adam(network.parameter_groups(2e-3, 1.0))
        for _ in range(3):
            optimiser.zero_grad()
            network.loss(pairs).backward()
            optimiser.step()
        networks.append(network.eval())
    plain, counted = networks
    assert counted.count_head is not None
    state = counted.state_dict()
    for name, value in plain.state_dict().items():
        assert torch.equal(value, state.pop(name))
    assert state
    assert all(name.startswith("count_head.") for name in state)
    for value in (0.1, 0.9):
        torch.nn.init.constant_(counted.count_head.share.bias, 100.0 * (value - 0.5))
        found = [int((a >= 0).sum()) for a in counted.predict(pairs)]
        assert found == [0 if value < 0.5 else min(len(p.kept1), len(p.kept2)) for p in pairs]


def test_counts_and_full_matchings_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="set one of them only"):
        load_run("bbgm_count", "demo", 0, dataset="voc", filter="intersection", solver={"full": True})
