"""Keypoint graphs: known triangulations, every degenerate case, and properties of random ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from bbgm.graphs.delaunay import Graph, delaunay_graph, largest_offset, pseudo_coordinates


def edge_set(graph: Graph) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in graph.edge_index.T}


def complete(n: int) -> set[tuple[int, int]]:
    return {(i, j) for i in range(n) for j in range(n) if i != j}


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_few_points_are_all_joined(n: int) -> None:
    graph = delaunay_graph(np.array([[10.0, 20.0], [200.0, 30.0], [50.0, 220.0]])[:n].reshape(n, 2))
    assert edge_set(graph) == complete(n)
    assert graph.edge_index.shape == (2, n * (n - 1))
    assert graph.edge_index.dtype == np.int64
    assert pseudo_coordinates(graph).shape == (n * (n - 1), 2)
    assert graph.edges.shape == (n * (n - 1), 2)


@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (3.0, -7.0)])
def test_collinear_points_are_all_joined(direction: tuple[float, float]) -> None:
    xy = 100 + np.arange(6)[:, None] * np.array(direction)
    assert edge_set(delaunay_graph(xy)) == complete(6)


def test_points_at_one_place_are_all_joined() -> None:
    assert edge_set(delaunay_graph(np.full((5, 2), 7.0))) == complete(5)


def test_a_square_with_its_centre_has_sides_and_spokes() -> None:
    xy = np.array([[0, 0], [100, 0], [100, 100], [0, 100], [50, 50]], dtype=float)
    sides = {(0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4), (2, 4), (3, 4)}
    assert edge_set(delaunay_graph(xy)) == sides | {(j, i) for i, j in sides}


def test_a_duplicate_stays_without_edges() -> None:
    xy = np.array([[0, 0], [100, 0], [0, 100], [90, 80], [100, 0]], dtype=float)
    edges = edge_set(delaunay_graph(xy))
    lonely = {i for i in range(5) if not any(i in edge for edge in edges)}
    assert len(lonely) == 1
    assert lonely < {1, 4}  # one of the two, the other one is joined
    assert len(edges) == 10


@pytest.mark.parametrize("wrong", [np.zeros((3, 3)), np.zeros(4), np.array([[0.0, np.nan]]), np.array([[np.inf, 0.0]])])
def test_coordinates_that_are_not_finite_points_are_refused(wrong: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"finite and of shape \(n, 2\)"):
        delaunay_graph(wrong)


def test_pseudo_coordinates_of_keypoints_outside_of_the_frame() -> None:
    """The convolution is defined on [0, 1] only: a run with ``keep_outside`` must not end at the first such pair."""
    graph = delaunay_graph(np.array([[-200.0, 10.0], [300.0, 10.0], [30.0, 900.0]]))
    pseudo = pseudo_coordinates(graph)
    assert (pseudo.min(), pseudo.max()) == (0, 1)
    np.testing.assert_allclose(pseudo[0], [0.0, 0.5])
    np.testing.assert_allclose(pseudo + pseudo_coordinates(Graph(graph.xy, graph.edge_index[::-1])), 1)


def test_pseudo_coordinates_are_those_by_hand() -> None:
    graph = delaunay_graph(np.array([[0.0, 256.0], [128.0, 0.0]]))
    np.testing.assert_array_equal(graph.edge_index, [[0, 1], [1, 0]])
    np.testing.assert_allclose(pseudo_coordinates(graph), [[0.25, 1.0], [0.75, 0.0]])
    assert pseudo_coordinates(graph).dtype == np.float32


grid_points = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=0, max_size=14)


@given(grid_points)
def test_any_points_give_a_plain_symmetric_graph(points: list[tuple[int, int]]) -> None:
    """On a coarse grid, where duplicates, lines and circles through many points are common."""
    xy = 32.0 * np.array(points, dtype=float).reshape(-1, 2)
    graph = delaunay_graph(xy)
    edges = edge_set(graph)
    assert len(edges) == graph.edge_index.shape[1]
    assert all(i != j and (j, i) in edges for i, j in edges)
    order = graph.edge_index[0] * len(xy) + graph.edge_index[1]
    assert (np.diff(order) > 0).all()  # row-major
    pseudo = pseudo_coordinates(graph)
    assert ((pseudo >= 0) & (pseudo <= 1)).all()
    np.testing.assert_allclose(pseudo + pseudo_coordinates(Graph(xy, graph.edge_index[::-1])), 1)


@given(st.integers(4, 25), st.integers(0, 10**6))
def test_random_points_obey_euler_and_the_empty_circle(n: int, seed: int) -> None:
    """Euler's formula, the empty circle, and the same graph whatever the points' order, shift and scale."""
    generator = np.random.default_rng(seed)
    xy = generator.uniform(0, 256, (n, 2))
    edges = edge_set(delaunay_graph(xy))
    on_hull = len(ConvexHull(xy).vertices)
    assert len(edges) == 2 * (3 * n - 3 - on_hull)

    order = generator.permutation(n)
    shuffled = delaunay_graph(xy[order])
    assert {(int(order[i]), int(order[j])) for i, j in shuffled.edge_index.T} == edges
    assert edge_set(delaunay_graph(0.25 * xy + 64)) == edges

    nearest = np.argmin(np.linalg.norm(xy[:, None] - xy, axis=2) + np.diag(np.full(n, np.inf)), axis=1)
    assert all((i, int(j)) in edges for i, j in enumerate(nearest))  # nearest neighbours are always joined


def test_coordinates_relative_to_the_graph_do_not_depend_on_its_size() -> None:
    xy = np.random.default_rng(0).uniform(0, 30, (7, 2))
    small, large = delaunay_graph(xy), delaunay_graph(8 * xy + 10)
    relative = pseudo_coordinates(small, largest_offset(small))
    np.testing.assert_allclose(relative, pseudo_coordinates(large, largest_offset(large)), atol=1e-6)
    assert (relative.min(), relative.max()) == (0, 1)
    assert largest_offset(delaunay_graph(xy[:1])) == 1


def test_edges_that_somebody_changes_are_not_those_of_the_next_graph():
    """The triangulation of the same keypoints is kept, and each graph has its own copy."""
    xy = np.random.default_rng(31).uniform(0, 256, (7, 2))
    first = delaunay_graph(xy)
    before = first.edge_index.copy()
    first.edge_index[0, 0] = 6 - first.edge_index[0, 0]
    assert (first.edge_index != before).any()
    np.testing.assert_array_equal(delaunay_graph(xy.copy()).edge_index, before)
    assert edge_set(delaunay_graph(xy[::-1])) == {(6 - i, 6 - j) for i, j in before.T}
