"""The layer for several graphs: brute force, and its gradient against difference quotients."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
import torch

from bbgm.graphs.delaunay import delaunay_graph
from bbgm.matching.blackbox import match_graphs
from bbgm.matching.blackbox_multi import joint_interpolated_loss, match_multi
from bbgm.matching.joint_solvers import solve_jointly
from bbgm.matching.solvers import Instance
from bbgm.methods.losses import hamming_loss
from bbgm.scoring.cycles import inconsistent_triples


def random_set(rng, sizes=(3, 3, 3)):
    """Costs of both signs on the pairs of several Delaunay graphs; and the graphs' edges."""
    edges = {g: delaunay_graph(rng.uniform(0, 256, (n, 2))).edges for g, n in enumerate(sizes)}
    return {
        (p, q): Instance(
            rng.normal(-0.3, 1, (sizes[p], sizes[q])),
            0.5 * rng.normal(size=(len(edges[p]), len(edges[q]))),
            edges[p],
            edges[q],
        )
        for p, q in combinations(edges, 2)
    }, edges


@cache
def consistent_matchings(sizes):
    """Every consistent matching of graphs with these numbers of nodes: by pair the assignments (M, n_p)."""
    nodes = [(g, i) for g, n in enumerate(sizes) for i in range(n)]
    partitions = [[]]
    for g, i in nodes:  # each node joins a clique that has none of its graph, or opens one
        partitions = [
            partition[:c] + [{**clique, g: i}] + partition[c + 1 :]
            for partition in partitions
            for c, clique in [*enumerate(partition), (len(partition), {})]
            if g not in clique
        ]
    pairs = list(combinations(range(len(sizes)), 2))
    result = {pair: np.full((len(partitions), sizes[pair[0]]), -1) for pair in pairs}
    for m, partition in enumerate(partitions):
        for clique in partition:
            for p, q in combinations(sorted(clique), 2):
                result[p, q][m, clique[p]] = clique[q]
    return result


def enumerate_jointly(instances):
    """The cheapest consistent matching of a set, by brute force."""
    sizes = {}
    for (p, q), x in instances.items():
        sizes |= {p: x.unary.shape[0], q: x.unary.shape[1]}
    matchings = consistent_matchings(tuple(sizes[g] for g in sorted(sizes)))
    total = 0.0
    for pair, x in instances.items():
        v = (matchings[pair][:, :, None] == np.arange(x.unary.shape[1])).astype(float)
        (i, i2), (j, j2) = x.edges1.T, x.edges2.T
        e = v[:, i[:, None], j] * v[:, i2[:, None], j2]
        total = total + np.tensordot(v, x.unary, 2) + np.tensordot(e, x.quadratic, 2)
    return {pair: found[np.argmin(total)] for pair, found in matchings.items()}


def cost(instances, matchings):
    return sum(x.cost(x.solution(matchings[pair])) for pair, x in instances.items())


def proved_solver(instances):
    """Our solver; each of its solutions is checked to be optimal, by enumeration."""
    found = solve_jointly(instances).matchings
    assert cost(instances, found) == pytest.approx(cost(instances, enumerate_jointly(instances)), abs=1e-9)
    return found


def layer(instances, edges, lambda_, method="best", dtype=torch.float64):
    unary, quadratic = (
        {pair: torch.tensor(getattr(x, name), dtype=dtype, requires_grad=True) for pair, x in instances.items()}
        for name in ("unary", "quadratic")
    )
    return unary, quadratic, *match_multi(unary, quadratic, edges, lambda_=lambda_, method=method)


def as_matchings(v):
    """Assignments from indicators."""
    return {
        pair: np.where(part.detach().numpy().any(axis=1), part.detach().numpy().argmax(axis=1), -1)
        for pair, part in v.items()
    }


def test_the_enumeration_is_of_all_consistent_matchings():
    assert len(consistent_matchings((1, 1))[0, 1]) == 2
    assert len(consistent_matchings((1, 1, 1))[0, 1]) == 5  # partitions of three nodes
    assert len(consistent_matchings((2, 2))[0, 1]) == 7  # partial matchings of 2 and 2
    for m in range(0, len(consistent_matchings((2, 2, 2))[0, 1]), 7):
        chosen = {pair: found[m] for pair, found in consistent_matchings((2, 2, 2)).items()}
        assert inconsistent_triples(chosen) == []


@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 3, 1), (2, 2, 2, 2), (3, 3)])
def test_forward_is_the_cheapest_consistent_matching(sizes):
    rng = np.random.default_rng([1, *sizes])
    for _ in range(15):
        instances, edges = random_set(rng, sizes)
        _, _, v, e = layer(instances, edges, 1.0)
        found = as_matchings(v)
        assert inconsistent_triples(found) == []
        value = sum(x.cost((v[pair].detach().numpy(), e[pair].detach().numpy())) for pair, x in instances.items())
        assert value == pytest.approx(cost(instances, enumerate_jointly(instances)))


def test_the_pairs_by_themselves_would_contradict_each_other():
    """Else the tests here would see nothing of the joint problem."""
    rng = np.random.default_rng(2)
    broken = 0
    for _ in range(20):
        instances, _ = random_set(rng)
        alone = {pair: enumerate_jointly({(0, 1): x})[0, 1] for pair, x in instances.items()}
        broken += bool(inconsistent_triples(alone))
    assert broken >= 15


def test_backward_is_algorithm_1_on_the_joint_problem():
    """Also where the loss sees one pair only: the other pairs' costs get their gradients too."""
    rng = np.random.default_rng(3)
    elsewhere = 0
    for k in range(30):
        instances, edges = random_set(rng)
        unary, quadratic, v, e = layer(instances, edges, 3.0)
        seen = [(0, 1)] if k % 2 else list(instances)
        weights = {
            pair: (rng.normal(size=x.unary.shape), rng.normal(size=x.quadratic.shape)) if pair in seen
            else (np.zeros_like(x.unary), np.zeros_like(x.quadratic))
            for pair, x in instances.items()
        }  # fmt: skip
        sum(
            (v[pair] * torch.from_numpy(weights[pair][0])).sum() + (e[pair] * torch.from_numpy(weights[pair][1])).sum()
            for pair in seen
        ).backward()
        y = enumerate_jointly(instances)
        moved = {pair: x.plus(weights[pair], 3.0) for pair, x in instances.items()}
        y_lambda = enumerate_jointly(moved)
        for pair, x in instances.items():
            before, after = x.solution(y[pair]), x.solution(y_lambda[pair])
            np.testing.assert_allclose(unary[pair].grad.numpy(), (after[0] - before[0]) / 3.0)
            np.testing.assert_allclose(quadratic[pair].grad.numpy(), (after[1] - before[1]) / 3.0)
        elsewhere += k % 2 and bool(unary[1, 2].grad.any())
    assert elsewhere >= 5


def gradient_and_quotient(rng, lambda_):
    """Directional derivative of a set's Hamming loss: from the layer, and from f_lambda; NaN where that has a kink."""
    instances, edges = random_set(rng)
    matchings = consistent_matchings((3, 3, 3))
    m = rng.integers(len(matchings[0, 1]))
    truth = {pair: x.solution(matchings[pair][m])[0] for pair, x in instances.items()}
    unary, quadratic, v, _ = layer(instances, edges, lambda_, proved_solver)
    hamming_loss(list(v.values()), [torch.from_numpy(truth[pair]) for pair in v]).backward()

    directions = {
        pair: (rng.normal(size=x.unary.shape), rng.normal(size=x.quadratic.shape)) for pair, x in instances.items()
    }
    slope = sum(
        float((unary[pair].grad.numpy() * dv).sum() + (quadratic[pair].grad.numpy() * de).sum())
        for pair, (dv, de) in directions.items()
    )
    gradients = {pair: ((1 - 2 * truth[pair]) / 3, np.zeros_like(x.quadratic)) for pair, x in instances.items()}
    constant = sum(true.sum() for true in truth.values()) / 3
    step = 1e-5
    ahead, here, behind = (
        joint_interpolated_loss(
            {pair: x.plus(directions[pair], sign * step) for pair, x in instances.items()},
            gradients, constant, lambda_, enumerate_jointly,
        )
        for sign in (1, 0, -1)
    )  # fmt: skip
    right, left = (ahead - here) / step, (here - behind) / step
    return slope, right if abs(right - left) < 1e-7 else np.nan


def test_gradient_equals_difference_quotients_of_the_interpolation():
    """60 random sets and directions, proved optimal; f_lambda by enumeration."""
    rng = np.random.default_rng(4)
    pairs = [gradient_and_quotient(rng, (2.0, 8.0, 32.0)[k % 3]) for k in range(66)]
    slopes, quotients = np.array([pair for pair in pairs if np.isfinite(pair[1])]).T
    assert len(slopes) >= 60  # kinks are rare
    np.testing.assert_allclose(slopes, quotients, atol=1e-6, rtol=0)
    assert np.count_nonzero(slopes) > 40


def test_interpolation_has_the_loss_as_its_limit_and_sinks_with_lambda():
    rng = np.random.default_rng(5)
    for _ in range(5):
        instances, _ = random_set(rng)
        found = enumerate_jointly(instances)
        gradients = {
            pair: (rng.normal(size=x.unary.shape), np.zeros_like(x.quadratic)) for pair, x in instances.items()
        }
        previous = 1.5 + sum((gradients[pair][0] * x.solution(found[pair])[0]).sum() for pair, x in instances.items())
        assert joint_interpolated_loss(instances, gradients, 1.5, 1e-9) == pytest.approx(previous, abs=1e-5)
        for lambda_ in (0.1, 1.0, 10.0):
            value = joint_interpolated_loss(instances, gradients, 1.5, lambda_)
            assert value <= previous + 1e-9
            previous = value


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_two_graphs_are_the_layer_for_pairs(dtype):
    """As the paper notes: the same output and the same gradient, bit by bit."""
    rng = np.random.default_rng(6)
    for sizes in [(5, 5), (6, 8), (1, 4), (0, 3)] * 5:
        instances, edges = random_set(rng, sizes)
        truth = torch.eye(*sizes)
        unary, quadratic, v, e = layer(instances, edges, 20.0, dtype=dtype)
        hamming_loss([v[0, 1]], [truth]).backward()

        x = instances[0, 1]
        alone = [torch.tensor(part, dtype=dtype, requires_grad=True) for part in (x.unary, x.quadratic)]
        v_alone, e_alone = match_graphs(alone[:1], alone[1:], [x.edges1], [x.edges2], lambda_=20.0)
        hamming_loss(v_alone, [truth]).backward()
        for ours, single in ((v[0, 1], v_alone[0]), (e[0, 1], e_alone[0])):
            assert torch.equal(ours, single)
            assert ours.dtype == dtype
        assert torch.equal(unary[0, 1].grad, alone[0].grad)
        assert torch.equal(quadratic[0, 1].grad, alone[1].grad)


def test_a_zero_gradient_stays_zero_and_solves_nothing():
    calls = []

    def counting(instances):
        calls.append(len(instances))
        return enumerate_jointly(instances)

    instances, edges = random_set(np.random.default_rng(7))
    unary, quadratic, v, _ = layer(instances, edges, 10.0, counting)
    (0 * sum(part.sum() for part in v.values())).backward()
    assert calls == [3]
    assert all(not part.grad.any() for costs in (unary, quadratic) for part in costs.values())
    _, _, v, _ = layer(instances, edges, 10.0, counting)
    v[0, 2].sum().backward()
    assert calls == [3, 3, 3]  # all three pairs again


def test_sync_is_consistent_and_a_pair_may_be_missing():
    instances, edges = random_set(np.random.default_rng(8), (5, 6, 5, 4))
    assert inconsistent_triples(as_matchings(layer(instances, edges, 1.0, "sync")[2])) == []
    del instances[0, 3]
    _, _, v, e = layer(instances, edges, 1.0)
    assert v.keys() == e.keys() == instances.keys()


def test_graph_numbers_are_names():
    """Graphs 2, 5 and 9 give what 0, 1 and 2 give, in any order of the keys."""
    instances, edges = random_set(np.random.default_rng(9))
    number = {0: 2, 1: 5, 2: 9}
    renamed = {(number[p], number[q]): x for (p, q), x in reversed(instances.items())}
    _, _, v, _ = layer(instances, edges, 1.0)
    _, _, other, _ = layer(renamed, {number[g]: part for g, part in edges.items()}, 1.0)
    assert all(torch.equal(v[p, q], other[number[p], number[q]]) for p, q in v)


def test_wrong_arguments_are_named():
    instances, edges = random_set(np.random.default_rng(10))
    unary = {pair: torch.tensor(x.unary) for pair, x in instances.items()}
    quadratic = {pair: torch.tensor(x.quadratic) for pair, x in instances.items()}
    with pytest.raises(ValueError, match="lambda must be positive, not 0"):
        match_multi(unary, quadratic, edges, lambda_=0)
    with pytest.raises(ValueError, match=r"same pairs of graphs, one at least, not \[\(0, 1\), .*\] and \[\]"):
        match_multi(unary, {}, edges, lambda_=1.0)
    with pytest.raises(ValueError, match=r"edges has no entry for graph 2, only \[0, 1\]"):
        match_multi(unary, quadratic, {0: edges[0], 1: edges[1]}, lambda_=1.0)
    with pytest.raises(ValueError, match=r"'fastest'"):
        match_multi(unary, quadratic, edges, lambda_=1.0, method="fastest")
    with pytest.raises(ValueError, match="has p > q"):
        match_multi({(1, 0): unary[0, 1]}, {(1, 0): quadratic[0, 1]}, edges, lambda_=1.0)
    unary[0, 1][0, 0] = float("nan")
    with pytest.raises(ValueError, match="the network has diverged"):
        match_multi(unary, quadratic, edges, lambda_=1.0)


def test_what_is_no_mapping_or_no_matrix_is_named():
    edges = np.array([[0, 1], [1, 0]])
    unary, quadratic = {(0, 1): torch.zeros(2, 2)}, {(0, 1): torch.zeros(2, 2)}
    with pytest.raises(TypeError, match="edges is a list"):
        match_multi(unary, quadratic, [edges, edges], lambda_=1.0)
    with pytest.raises(TypeError, match="unary is a Tensor"):
        match_multi(unary[0, 1], quadratic, {0: edges, 1: edges}, lambda_=1.0)
    for wrong in (torch.zeros(2), torch.zeros(1, 2, 2)):
        with pytest.raises(ValueError, match=r"unary\[\(0, 1\)\] has shape"):
            match_multi({(0, 1): wrong}, quadratic, {0: edges, 1: edges}, lambda_=1.0)
