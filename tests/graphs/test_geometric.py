"""Graphs go to torch_geometric and come back; its own transform and batches agree with ours."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bbgm.graphs.delaunay import Graph, delaunay_graph, pseudo_coordinates
from bbgm.graphs.geometric import from_data, to_data

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of torch_geometric


def keypoints(nodes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 256, (nodes, 2))


@given(nodes=st.integers(0, 12), seed=st.integers(0, 10**6))
def test_there_and_back_is_the_same_graph(nodes: int, seed: int) -> None:
    graph = delaunay_graph(keypoints(nodes, seed))
    data = to_data(graph, torch.ones(nodes, 3))
    assert data.validate()
    assert (data.num_nodes, data.num_edges, data.num_node_features) == (nodes, graph.edge_index.shape[1], 3)
    back = from_data(data)
    assert back.xy.dtype == graph.xy.dtype
    assert back.edge_index.dtype == graph.edge_index.dtype
    np.testing.assert_array_equal(back.xy, graph.xy)
    np.testing.assert_array_equal(back.edge_index, graph.edge_index)


def test_pseudo_coordinates_are_its_cartesian_ones() -> None:
    from torch_geometric.transforms import Cartesian

    data = to_data(delaunay_graph(keypoints(10)))
    theirs = Cartesian(max_value=256.0, cat=False)(data.clone())
    torch.testing.assert_close(data.edge_attr, theirs.edge_attr.float())
    assert data.edge_attr.unique().numel() > 10


def test_its_batch_is_the_disjoint_union() -> None:
    from torch_geometric.data import Batch

    graphs = [delaunay_graph(keypoints(nodes, nodes)) for nodes in (5, 1, 7)]
    batch = Batch.from_data_list([to_data(graph) for graph in graphs])
    union = from_data(batch)
    np.testing.assert_array_equal(union.xy, np.concatenate([graph.xy for graph in graphs]))
    shifted = [graph.edge_index + start for graph, start in zip(graphs, (0, 5, 6), strict=True)]
    np.testing.assert_array_equal(union.edge_index, np.concatenate(shifted, axis=1))
    np.testing.assert_array_equal(batch.edge_attr.numpy(), pseudo_coordinates(union))


def test_a_graph_of_its_own_is_read() -> None:
    from torch_geometric.data import Data

    pos = torch.tensor([[0.0, 1.0], [2.0, 3.0]], requires_grad=True)
    graph = from_data(Data(pos=pos, edge_index=torch.tensor([[0, 1], [1, 0]])))
    assert isinstance(graph, Graph)
    assert graph.edges.tolist() == [[0, 1], [1, 0]]
    assert graph.xy.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pos": None}, "no pos"),
        ({"pos": torch.zeros(3, 3)}, r"pos must be \(n, 2\).* not \(3, 3\)"),
        ({"edge_index": torch.tensor([[0], [3]])}, r"nodes in \[0, 3\), not 0 to 3"),
        ({"edge_index": torch.tensor([0, 1])}, r"edge_index \(2, E\), not \(3, 2\) and \(2,\)"),
    ],
)
def test_what_is_no_graph_of_keypoints_is_named(changes: dict[str, torch.Tensor | None], message: str) -> None:
    data = to_data(delaunay_graph(keypoints(3)))
    for key, value in changes.items():
        data[key] = value
    with pytest.raises(ValueError, match=message):
        from_data(data)


def test_changing_the_data_leaves_the_graph_alone() -> None:
    graph = delaunay_graph(keypoints(4))
    before = graph.xy.copy()
    data = to_data(graph)
    data.pos += 1
    np.testing.assert_array_equal(graph.xy, before)
