"""The spline convolution equals its definition, and torch_geometric's layer."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bbgm.graphs.delaunay import delaunay_graph, pseudo_coordinates
from bbgm.methods.spline.convolution import FEW, LARGE, SplineConv
from bbgm.methods.spline.plan import SplinePlan

AGGREGATIONS = ["max", "mean", "sum"]


def reference(layer, x, edge_index, pseudo):
    """The layer by the letter of its equation, one edge after another, with ordinary autograd."""
    size = layer.kernel_size
    incoming: list[list[torch.Tensor]] = [[] for _ in range(len(x))]
    for (source, target), u in zip(edge_index.T.tolist(), pseudo.tolist(), strict=True):
        message = torch.zeros(layer.weight.shape[2], dtype=x.dtype)
        for a in range(size):
            for b in range(size):
                # The linear B-spline of a knot is a hat of width one around it.
                basis = max(0.0, 1 - abs(u[0] * (size - 1) - a)) * max(0.0, 1 - abs(u[1] * (size - 1) - b))
                if basis > 0:
                    message = message + basis * (x[source] @ layer.weight[a + size * b])
        incoming[target].append(message)
    rows = []
    for messages in incoming:
        if not messages:
            rows.append(torch.zeros(layer.weight.shape[2], dtype=x.dtype))
            continue
        stack = torch.stack(messages)
        rows.append({"max": stack.amax(0), "mean": stack.mean(0), "sum": stack.sum(0)}[layer.aggr])
    return torch.stack(rows) + x @ layer.lin.weight.T + layer.bias


def make_layer(channels, out, seed=0, **settings):
    torch.manual_seed(seed)
    layer = SplineConv(channels, out, **settings).double()
    with torch.no_grad():
        layer.bias.uniform_(-1, 1)
    return layer


def test_root_matrix_starts_as_in_either_version_of_torch_geometric():
    """Its first values differ by their scale alone, 1 / K; the kernel's are the same."""
    today, before = (make_layer(40, 30, root_init=name) for name in ("channels", "kernel"))
    assert today.lin.weight.abs().max().item() == pytest.approx(40**-0.5, rel=0.01)
    torch.testing.assert_close(before.lin.weight, today.lin.weight / 5)
    assert torch.equal(before.weight, today.weight)


@given(
    nodes=st.integers(1, 7),
    edges=st.integers(0, 20),
    aggregation=st.sampled_from(AGGREGATIONS),
    kernel_size=st.integers(2, 5),
    on_knots=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_layer_and_gradients_equal_the_definition(nodes, edges, aggregation, kernel_size, on_knots, seed):
    rng = np.random.default_rng(seed)
    layer = make_layer(3, 4, seed, kernel_size=kernel_size, aggr=aggregation)
    edge_index = torch.from_numpy(rng.integers(nodes, size=(2, edges)))
    # Multi-edges and loops are legal; so are coordinates on a knot and at both ends.
    pseudo = rng.integers(kernel_size, size=(edges, 2)) / (kernel_size - 1) if on_knots else rng.random((edges, 2))
    pseudo = torch.from_numpy(pseudo)
    x = torch.from_numpy(rng.normal(size=(nodes, 3)))
    results = []
    for function in (layer, lambda *arguments: reference(layer, *arguments)):
        layer.zero_grad()
        point = x.clone().requires_grad_()
        result = function(point, edge_index, pseudo)
        (result * torch.arange(result.numel()).view_as(result)).sum().backward()
        kernel = torch.zeros_like(layer.weight) if layer.weight.grad is None else layer.weight.grad
        results.append([result.detach(), point.grad, kernel.clone(), layer.lin.weight.grad.clone()])
    if on_knots and aggregation == "max":
        results = [result[:1] for result in results]  # equal messages: which of them takes the gradient is a choice
    torch.testing.assert_close(results[0], results[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_gradient_is_numerical(aggregation):
    layer = make_layer(3, 2, aggr=aggregation, kernel_size=3)
    graph = delaunay_graph(np.random.default_rng(1).uniform(0, 256, (6, 2)))
    edge_index = torch.from_numpy(graph.edge_index)
    pseudo = torch.from_numpy(pseudo_coordinates(graph)).double().requires_grad_()
    x = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x, w, u: torch.func.functional_call(layer, {"weight": w}, (x, edge_index, u)),
        (x, layer.weight, pseudo),
    )


def test_gradient_of_coordinates_on_a_knot_is_that_from_its_right():
    layer = make_layer(3, 2, kernel_size=3)
    x = torch.randn(2, 3, dtype=torch.float64)
    edge_index = torch.tensor([[0], [1]])
    knot, beyond = (torch.tensor([[0.5 + h, 0.25]], dtype=torch.float64, requires_grad=True) for h in (0, 0.01))
    values = [layer(x, edge_index, u).sum() for u in (knot, beyond)]
    values[0].backward()
    assert knot.grad is not None
    assert knot.grad[0, 0].item() == pytest.approx((values[1] - values[0]).item() / 0.01)


def test_node_without_edges_gets_its_own_feature_only():
    layer = make_layer(3, 4)
    x = torch.randn(3, 3, dtype=torch.float64)
    result = layer(x, torch.tensor([[0], [1]]), torch.tensor([[0.3, 0.4]], dtype=torch.float64))
    torch.testing.assert_close(result[2], x[2] @ layer.lin.weight.T + layer.bias)


def test_disjoint_union_is_each_graph_by_itself():
    layer = make_layer(4, 4)
    rng = np.random.default_rng(2)
    graphs = [delaunay_graph(rng.uniform(0, 256, (n, 2))) for n in (5, 1, 2, 8)]
    x = [torch.from_numpy(rng.normal(size=(len(graph.xy), 4))) for graph in graphs]
    starts = np.cumsum([0, 5, 1, 2])
    edge_index = torch.from_numpy(
        np.concatenate([g.edge_index + s for g, s in zip(graphs, starts, strict=True)], axis=1)
    )
    pseudo = [torch.from_numpy(pseudo_coordinates(graph)).double() for graph in graphs]
    together = layer(torch.cat(x), edge_index, torch.cat(pseudo))
    alone = [layer(f, torch.from_numpy(g.edge_index), p) for f, g, p in zip(x, graphs, pseudo, strict=True)]
    torch.testing.assert_close(together, torch.cat(alone))


def test_order_of_edges_and_nodes_does_not_matter():
    layer = make_layer(4, 3)
    graph = delaunay_graph(np.random.default_rng(3).uniform(0, 256, (9, 2)))
    edge_index, pseudo = torch.from_numpy(graph.edge_index), torch.from_numpy(pseudo_coordinates(graph)).double()
    x = torch.randn(9, 4, dtype=torch.float64)
    shuffle, order = torch.randperm(edge_index.shape[1]), torch.randperm(9)
    place = torch.argsort(order)
    result = layer(x, edge_index, pseudo)
    torch.testing.assert_close(layer(x[order], place[edge_index[:, shuffle]], pseudo[shuffle]), result[order])


def test_equal_inputs_give_equal_bits_for_any_number_of_threads():
    torch.manual_seed(0)
    layer = SplineConv(32, 32)
    graph = delaunay_graph(np.random.default_rng(4).uniform(0, 256, (40, 2)))
    x = torch.randn(40, 32)
    results = []
    before = torch.get_num_threads()
    for threads in (1, 2, 2):
        torch.set_num_threads(threads)
        layer.zero_grad()
        point = x.clone().requires_grad_()
        layer(
            point, torch.from_numpy(graph.edge_index), torch.from_numpy(pseudo_coordinates(graph))
        ).square().sum().backward()
        assert point.grad is not None
        assert layer.weight.grad is not None
        results.append((point.grad, layer.weight.grad.clone()))
    torch.set_num_threads(before)
    assert all(torch.equal(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize(
    ("edge_index", "pseudo", "message"),
    [
        ([[0, 1], [1, 0]], [[0.5, 0.5], [0.5, 1.001]], r"pseudo-coordinates.*edge 1, \[1, 0\].*1\.001"),
        ([[0], [1]], [[float("nan"), 0.5]], "pseudo-coordinates"),
        ([[0], [3]], [[0.5, 0.5]], r"nodes in \[0, 3\), not 0 to 3"),
        ([[0, 1]], [[0.5, 0.5], [0.5, 0.5]], r"not \(1, 2\) and \(2, 2\)"),
    ],
)
def test_wrong_input_is_named(edge_index, pseudo, message):
    with pytest.raises(ValueError, match=message):
        SplineConv(2, 2)(torch.zeros(3, 2), torch.tensor(edge_index), torch.tensor(pseudo))


@pytest.mark.parametrize("settings", [{"dim": 3}, {"kernel_size": 1}, {"aggr": "min"}])
def test_unsupported_settings_are_named(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        SplineConv(2, 2, **settings)


def test_at_the_papers_size_it_has_27_million_parameters():
    layer = SplineConv(1024, 1024)
    assert sum(parameter.numel() for parameter in layer.parameters()) == 27_264_000
    assert layer.weight.abs().max() <= (25 * 1024) ** -0.5


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize(("channels", "out"), [(64, 64), (48, 96)])
def test_parity_with_torch_geometric(aggregation, channels, out):
    pytest.importorskip("torch_spline_conv", reason="torch-spline-conv, the reference, is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its CPU version warns about its speed
        from torch_geometric.nn import SplineConv as Reference

        torch.manual_seed(5)
        theirs = Reference(channels, out, dim=2, kernel_size=5, aggr=aggregation)
        ours = SplineConv(channels, out, dim=2, kernel_size=5, aggr=aggregation)
        ours.load_state_dict(theirs.state_dict(), strict=False)  # they keep the kernel's size as a buffer
        rng = np.random.default_rng(6)
        graph = delaunay_graph(rng.uniform(0, 256, (30, 2)))
        edge_index = torch.from_numpy(graph.edge_index)
        pseudo = torch.from_numpy(pseudo_coordinates(graph))
        pseudo[0], pseudo[1] = torch.tensor([1.0, 0.0]), torch.tensor([0.25, 0.75])
        x = torch.from_numpy(rng.normal(size=(32, channels)).astype(np.float32))
        values = []
        for layer in (ours, theirs):
            point = x.clone().requires_grad_()
            result = layer(point, edge_index, pseudo)
            result.square().sum().backward()
            values.append([result.detach(), point.grad, layer.weight.grad, layer.lin.weight.grad, layer.bias.grad])
    torch.testing.assert_close(values[0], values[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_wide_layer_with_matrices_of_few_and_of_many_pairs_equals_the_definition(aggregation: str) -> None:
    """Outer products of few pairs are added one by one, those of many are one product."""
    rng = np.random.default_rng(2)
    edge_index = torch.from_numpy(np.stack([np.arange(24), rng.permutation(24)]))
    # Most edges are short, so that they share the matrices in the middle.
    pseudo = torch.from_numpy(np.clip(rng.normal(0.5, 0.12, (24, 2)), 0, 1))
    sizes = SplinePlan.make(24, edge_index, pseudo, 5).sizes
    assert min(sizes) <= FEW < max(sizes)
    layer = make_layer(512, 512, aggr=aggregation)
    assert layer.weight[0].numel() >= LARGE
    x = torch.from_numpy(rng.standard_normal((24, 512)))
    pull = torch.from_numpy(rng.standard_normal((24, 512)))
    found, expected = (
        torch.autograd.grad(output, layer.weight, pull)[0]
        for output in (layer(x, edge_index, pseudo), reference(layer, x, edge_index, pseudo))
    )
    torch.testing.assert_close(found, expected)
