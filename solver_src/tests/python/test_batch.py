"""DenseBatch: the results of solve, one by one; padding; costs that change; errors that name the entry."""

from pathlib import Path
from typing import Any

import bbgm_solver as gm
import numpy as np
import pytest
from numpy.typing import NDArray
from support.problems import NO_EDGES, random_edges

SIZES = [(4, 5), (1, 3), (6, 6), (0, 4), (5, 2), (3, 0), (7, 7)]


class Drawn:
    """Problems of different sizes, one of them without edges, as lists of arrays and as padded ones."""

    def __init__(self, seed: int, *, extra: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.edges1 = [random_edges(rng, n1, rng.choice([0.4, 1.0])) for n1, _ in SIZES]
        self.edges2 = [NO_EDGES if k == 4 else random_edges(rng, n2, 0.7) for k, (_, n2) in enumerate(SIZES)]
        self.unary = [rng.normal(size=size) for size in SIZES]
        self.quadratic = [rng.normal(size=(len(e), len(f))) for e, f in zip(self.edges1, self.edges2, strict=True)]
        self.batch = gm.DenseBatch(SIZES, self.edges1, self.edges2)
        self.extra = extra

    def problems(self) -> list[gm.Problem]:
        return [
            gm.Problem(*arrays) for arrays in zip(self.unary, self.edges1, self.edges2, self.quadratic, strict=True)
        ]

    def padded(self, arrays: list[NDArray[Any]], fill: Any) -> NDArray[Any]:
        shape = [max(a.shape[k] for a in arrays) + self.extra for k in (0, 1)]
        out = np.full((len(arrays), *shape), fill)
        for row, a in zip(out, arrays, strict=True):
            row[: a.shape[0], : a.shape[1]] = a
        return out

    def joined(self) -> NDArray[np.float64]:
        return np.concatenate([part.ravel() for part in [*self.unary, *self.quadratic]])


def check_same(results: list[gm.Result], found: gm.BatchResult) -> None:
    for b, one in enumerate(results):
        n1 = len(one.assignment)
        assert np.array_equal(found.assignment[b, :n1], one.assignment)
        assert (found.assignment[b, n1:] == -1).all()
        assert (found.objective[b], found.lower_bound[b]) == (one.objective, one.lower_bound)
        assert (found.optimal[b], found.iterations[b]) == (one.optimal, one.iterations)
        assert gm.STOP_REASONS[found.stop_reason[b]] == one.stop_reason


def check_equal(found: gm.BatchResult, expected: gm.BatchResult) -> None:
    for name in gm.BatchResult._fields:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize("options", [{}, {"method": "dual"}, {"full": True}, {"effort": "fast"}])
def test_results_are_those_of_solve_for_any_number_of_threads(options: dict[str, Any]) -> None:
    for seed in range(4):
        drawn = Drawn(seed, extra=seed)
        unary, quadratic = drawn.padded(drawn.unary, np.nan), drawn.padded(drawn.quadratic, np.inf)
        results = [gm.solve(problem, **options) for problem in drawn.problems()]
        for threads in (1, 2, 3):
            check_same(results, drawn.batch.solve(unary, quadratic, threads=threads, **options))


def test_padded_edges_are_those_of_the_lists() -> None:
    drawn = Drawn(9, extra=2)
    padded = gm.DenseBatch(
        SIZES,
        drawn.padded(drawn.edges1, -7)[:, :, :2],
        drawn.padded(drawn.edges2, 99)[:, :, :2],
        edge_counts=[(len(e), len(f)) for e, f in zip(drawn.edges1, drawn.edges2, strict=True)],
    )
    assert (len(padded), padded.entries) == (len(SIZES), len(drawn.joined()))
    costs = drawn.padded(drawn.unary, 0.0), drawn.padded(drawn.quadratic, 0.0)
    check_equal(padded.solve(*costs), drawn.batch.solve(*costs))


def test_float32_and_strides() -> None:
    drawn = Drawn(3)
    unary, quadratic = drawn.padded(drawn.unary, 0.0), drawn.padded(drawn.quadratic, 0.0)
    expected = drawn.batch.solve(unary.astype(np.float32).astype(float), quadratic.astype(np.float32).astype(float))
    for change in (lambda x: x.astype(np.float32), lambda x: np.asfortranarray(x.astype(np.float32))):
        check_equal(drawn.batch.solve(change(unary), change(quadratic)), expected)


def test_large_trained_and_random_instances(instances_folder: Path) -> None:
    files = sorted((instances_folder / "keypoint_size").glob("*.npz"))
    arrays = [np.load(file) for file in files if "23x23" not in file.name]
    batch = gm.DenseBatch([a["U"].shape for a in arrays], [a["el"] for a in arrays], [a["er"] for a in arrays])
    results = [gm.solve(gm.Problem(a["U"], a["el"], a["er"], a["W"]), effort="fast") for a in arrays]
    unary, quadratic = (
        np.zeros((len(arrays), *np.max([a[name].shape for a in arrays], axis=0))) for name in ("U", "W")
    )
    for k, a in enumerate(arrays):
        unary[k, : a["U"].shape[0], : a["U"].shape[1]] = a["U"]
        quadratic[k, : a["W"].shape[0], : a["W"].shape[1]] = a["W"]
    check_same(results, batch.solve(unary, quadratic, effort="fast", threads=2))


def test_indicators_mark_matched_nodes_and_edges() -> None:
    drawn = Drawn(5)
    rows = np.stack([drawn.joined(), -drawn.joined(), np.roll(drawn.joined(), 1)])
    found, solved = drawn.batch.indicators(rows, threads=2)
    assert found.shape == rows.shape
    assert solved.all()
    sizes = [part.size for part in [*drawn.unary, *drawn.quadratic]]
    for costs, values in zip(rows, found, strict=True):
        parts, costs_of = (np.split(row, np.cumsum(sizes)[:-1]) for row in (values, costs))
        for b, size in enumerate(SIZES):
            edges1, edges2 = drawn.edges1[b], drawn.edges2[b]
            unary = costs_of[b].reshape(size)
            quadratic = costs_of[len(SIZES) + b].reshape(len(edges1), len(edges2))
            match = gm.solve(gm.Problem(unary, edges1, edges2, quadratic)).assignment
            assert np.array_equal(parts[b].reshape(size), match[:, None] == np.arange(size[1]))
            expected = [[float(match[i] == k and match[j] == m) for k, m in edges2] for i, j in edges1]
            assert parts[len(SIZES) + b].tolist() == np.array(expected).ravel().tolist()


def test_a_problem_with_the_same_costs_is_not_solved_again() -> None:
    drawn = Drawn(6)
    before = np.stack([drawn.joined()] * 2)
    marked = np.full(before.shape, 7.0)  # no solution: what is kept shows
    after = before.copy()
    after[1, 0] -= 5.0  # of problem 0
    after[0, before.shape[1] - 1] += 1.0  # of the last one
    found, solved = drawn.batch.indicators(after, known=(before, marked))
    assert np.argwhere(solved).tolist() == [[0, len(SIZES) - 1], [1, 0]]
    fresh, _ = drawn.batch.indicators(after)
    owner = np.repeat(np.tile(np.arange(len(SIZES)), 2), [part.size for part in [*drawn.unary, *drawn.quadratic]])
    assert np.array_equal(found, np.where(solved[:, owner], fresh, 7.0))


def test_a_batch_of_nothing() -> None:
    batch = gm.DenseBatch(np.zeros((0, 2), dtype=int), [], [])
    assert len(batch.solve(np.zeros((0, 3, 3)), np.zeros((0, 4, 4))).objective) == 0
    assert batch.indicators(np.zeros((2, 0)))[0].shape == (2, 0)


def wrong(**changes: Any) -> dict[str, Any]:
    drawn = Drawn(1)
    given: dict[str, Any] = {"sizes": SIZES, "edges1": drawn.edges1, "edges2": drawn.edges2}
    return {**given, **changes}


RING = np.array([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"sizes": [(4, -1), *SIZES[1:]]}, ValueError, r"sizes\[0, 1\]: -1 nodes"),
        ({"sizes": [4, 5]}, ValueError, r"sizes must have two columns, \(B, 2\)"),
        ({"sizes": [(4.0, 5.0)]}, TypeError, "sizes has dtype float64, expected integers"),
        ({"edges1": [RING] * 3}, ValueError, r"edges1 must be a list of 7 arrays \(E, 2\)"),
        ({"edges1": [[[0, 4]], *[[]] * 6]}, ValueError, r"edges1\[0\]\[0, 1\] is 4, outside 0 <= index < 4"),
        ({"edges2": [*[[]] * 6, [[2, 2]]]}, ValueError, r"edges2\[6\]\[0\] = \(2, 2\) is a self-loop"),
        ({"edges2": [RING[[0, 0]], *[[]] * 6]}, ValueError, r"edges2\[0\]\[1\] = \(0, 1\) repeats edges2\[0\]\[0\]"),
        (
            {"edges1": np.zeros((7, 2, 2), int), "edges2": np.zeros((7, 1, 2), int), "edge_counts": [(0, 2)] * 7},
            ValueError,
            r"edge_counts\[0, 1\] is 2, outside 0 <= count <= 1, the rows of edges2",
        ),
        (
            {"edges1": np.zeros((7, 2, 3), int), "edges2": np.zeros((7, 1, 2), int), "edge_counts": [(0, 0)] * 7},
            ValueError,
            r"edges1 is not \(B, E, 2\) with B = 7",
        ),
    ],
)
def test_wrong_graphs_are_named(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gm.DenseBatch(**wrong(**changes))


def test_wrong_costs_are_named() -> None:
    drawn = Drawn(2)
    unary, quadratic = drawn.padded(drawn.unary, np.nan), drawn.padded(drawn.quadratic, np.nan)
    for name, place in (("unary", (2, 1, 5)), ("quadratic", (0, 0, 1))):
        broken: dict[str, Any] = {"unary": unary.copy(), "quadratic": quadratic.copy()}
        broken[name][place] = np.inf
        with pytest.raises(ValueError, match=rf"{name}\[{place[0]}, {place[1]}, {place[2]}\] is inf; costs must be"):
            drawn.batch.solve(**broken)
    with pytest.raises(ValueError, match=r"unary is of 6 problems, the batch of 7"):
        drawn.batch.solve(unary[1:], quadratic)
    with pytest.raises(ValueError, match=r"quadratic\[0\] is 3 x \d+, problem 0 needs 12 x "):
        drawn.batch.solve(unary, quadratic[:, :3])
    with pytest.raises(ValueError, match=r"unary has shape \(7, 7\), expected 3 dimensions"):
        drawn.batch.solve(unary[0], quadratic)
    with pytest.raises(ValueError, match='method "exact" solves problems one by one: use solve_batch'):
        drawn.batch.solve(unary, quadratic, "exact")
    costs = drawn.joined()[None]
    costs[0, 20] = np.nan  # unary[1] of problem 1: the first has 4 x 5 entries
    with pytest.raises(ValueError, match=r"costs\[0, 20\] \(of problem 1\) is nan"):
        drawn.batch.indicators(costs)
    with pytest.raises(ValueError, match=r"costs has shape \(1, 3\), expected \(S, N\) = "):
        drawn.batch.indicators(np.zeros((1, 3)))
