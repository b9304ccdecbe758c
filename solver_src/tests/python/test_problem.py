"""bbgm_solver.Problem: what it accepts, and errors that name the argument and the position."""

import itertools
import pickle

import bbgm_solver as gm
import numpy as np
import pytest
from support.problems import linear, random_edges, same

EDGES = np.array([[0, 1], [1, 0], [1, 2], [2, 1]])


def dense(n1: int = 3, n2: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "unary": rng.normal(size=(n1, n2)),
        "edges1": EDGES,
        "edges2": EDGES,
        "quadratic": rng.normal(size=(4, 4)),
    }


def changed(name: str, index: tuple[int, ...], value: float) -> dict[str, np.ndarray]:
    arguments = {key: array.copy() for key, array in dense().items()}
    arguments[name][index] = value
    return arguments


def test_value_follows_the_definition() -> None:
    """Every directed pair of edges whose ends are matched to each other is paid; opposite directions add up."""
    given = dense()
    problem = gm.Problem(**given)
    for labels in ([0, 1, 2], [2, 1, 0], [1, 0, -1], [-1, -1, -1], [2, -1, 1]):
        expected = sum(given["unary"][i, j] for i, j in enumerate(labels) if j >= 0)
        for e, (a, b) in enumerate(EDGES):
            for f, (k, m) in enumerate(EDGES):
                expected += given["quadratic"][e, f] * (labels[a] == k and labels[b] == m)
        assert gm.evaluate(problem, labels) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_directed_edges_and_forbidden_matches(seed: int) -> None:
    """Edges in any order, some without their opposite; what is forbidden has neither cost nor terms."""
    rng = np.random.default_rng(seed)
    n1, n2 = (int(n) for n in rng.integers(1, 6, size=2))
    edges = [rng.permutation(random_edges(rng, n, 0.6)) for n in (n1, n2)]
    unary, quadratic = rng.normal(size=(n1, n2)), rng.normal(size=(len(edges[0]), len(edges[1])))
    allowed = rng.random((n1, n2)) < 0.8
    problem = gm.Problem(unary, edges[0], edges[1], quadratic, allowed=allowed)
    assert np.array_equal(problem.assignments, np.argwhere(allowed))
    terms: dict[tuple[int, int], float] = {}
    row = {(int(i), int(j)): a for a, (i, j) in enumerate(problem.assignments)}
    for (e, f), cost in np.ndenumerate(quadratic):
        ends = [(int(i), int(j)) for i, j in zip(edges[0][e], edges[1][f], strict=True)]
        if all(end in row for end in ends):
            a, b = sorted(row[end] for end in ends)
            terms[a, b] = terms.get((a, b), 0.0) + cost
    assert problem.terms.tolist() == [list(pair) for pair in sorted(terms)]
    assert problem.term_costs.tolist() == [terms[pair] for pair in sorted(terms)]


def test_float32_is_read_as_it_is() -> None:
    """Bit by bit the problem of the same numbers as float64, and so for either array alone; nothing is changed."""
    rng = np.random.default_rng(0)
    edges = np.array(list(itertools.permutations(range(30), 2)))
    unary = rng.normal(size=(30, 30)).astype(np.float32)
    quadratic = rng.normal(size=(len(edges), len(edges))).astype(np.float32)
    before = unary.copy(), quadratic.copy()
    reference = gm.Problem(unary.astype(np.float64), edges, edges, quadratic.astype(np.float64))
    unary.flags.writeable = quadratic.flags.writeable = False
    for u in (unary, unary.astype(np.float64)):
        for q in (quadratic, quadratic.astype(np.float64)):
            assert same(gm.Problem(u, edges.astype(np.int32), edges, q), reference)
    assert np.array_equal(unary, before[0])
    assert np.array_equal(quadratic, before[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_at_odd_addresses(dtype: type) -> None:
    given = {key: value.astype(dtype) if key in ("unary", "quadratic") else value for key, value in dense().items()}
    moved = {}
    for key, value in given.items():
        memory = np.empty(value.nbytes + 1, dtype=np.uint8)[1:]
        moved[key] = memory.view(value.dtype).reshape(value.shape)
        moved[key][...] = value
    assert same(gm.Problem(**moved), gm.Problem(**given))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", [0, 511, 512, 1023, 1024, 1599])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_first_wrong_cost_is_named(dtype: type, place: int, value: float) -> None:
    unary: np.ndarray = np.zeros((40, 40), dtype=dtype)
    unary.flat[[place, -1]] = value
    with pytest.raises(ValueError, match=rf"unary\[{place // 40}, {place % 40}\] is {value}"):
        linear(unary)
    unary.flat[[place, -1]] = np.finfo(np.float32).max if dtype == np.float32 else 1e150
    assert linear(unary).costs[place] == unary.flat[place]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64, bool])
def test_any_real_dtype(dtype: type) -> None:
    given = {
        key: (value > 0).astype(dtype) if key in ("unary", "quadratic") else value for key, value in dense().items()
    }
    wide = {key: value.astype(np.float64) if key in ("unary", "quadratic") else value for key, value in given.items()}
    assert np.array_equal(gm.Problem(**given).costs, gm.Problem(**wide).costs)
    assert np.array_equal(gm.Problem(**given).term_costs, gm.Problem(**wide).term_costs)


def test_any_stride_byte_order_and_list() -> None:
    given = dense()
    reference = gm.Problem(**given)
    wide = np.zeros((6, 9))
    wide[::2, ::3] = given["unary"]
    variants = [
        given | {"unary": wide[::2, ::3], "quadratic": np.asfortranarray(given["quadratic"])},
        given | {"unary": given["unary"].astype(">f8"), "edges1": EDGES.astype(np.uint8)},
        {key: value.tolist() for key, value in given.items()},
        given | {"edges1": np.asfortranarray(EDGES)},
    ]
    for variant in variants:
        problem = gm.Problem(**variant)
        assert np.array_equal(problem.costs, reference.costs)
        assert np.array_equal(problem.term_costs, reference.term_costs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (changed("unary", (1, 2), np.nan), r"unary\[1, 2\] is nan"),
        (changed("unary", (0, 0), -np.inf), r"unary\[0, 0\] is -inf"),
        (changed("quadratic", (3, 1), np.inf), r"quadratic\[3, 1\] is inf"),
        (changed("unary", (2, 1), 1e200), r"unary\[2, 1\] is 1e\+200"),
        (changed("edges1", (2, 1), 3), r"edges1\[2, 1\] is 3, outside 0 <= index < 3"),
        (changed("edges2", (0, 0), -1), r"edges2\[0, 0\] is -1, outside"),
        (changed("edges1", (1, 0), 0), r"edges1\[1\] = \(0, 0\) is a self-loop"),
        (
            changed("edges2", (3, 1), 0) | {"edges2": np.array([[0, 1], [1, 0], [1, 2], [0, 1]])},
            r"edges2\[3\].*edges2\[0\]",
        ),
        (dense() | {"unary": np.zeros(3)}, r"unary has shape \(3,\), expected 2 dimensions"),
        (dense() | {"quadratic": np.zeros((4, 3))}, r"quadratic has shape \(4, 3\), expected \(E1, E2\) = \(4, 4\)"),
        (dense() | {"edges1": np.zeros((4, 3), dtype=int)}, r"edges1 has shape \(4, 3\), expected two columns"),
        (dense() | {"allowed": np.ones((2, 3), dtype=bool)}, r"allowed has shape \(2, 3\)"),
    ],
)
def test_wrong_values_are_named(arguments: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gm.Problem(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dense() | {"unary": np.zeros((3, 3), dtype=complex)}, "unary has dtype complex128, expected real numbers"),
        (dense() | {"unary": [["a"]]}, "unary has dtype <U1"),
        (dense() | {"edges1": EDGES.astype(float)}, "edges1 has dtype float64, expected integers"),
    ],
)
def test_wrong_types_are_named(arguments: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        gm.Problem(**arguments)


def test_sparse_form_equals_dense_form() -> None:
    problem = gm.Problem(**dense())
    # Shuffled assignments, and each term given in two halves.
    order = np.random.default_rng(1).permutation(problem.n_assignments)
    place = np.argsort(order)
    terms = place[problem.terms]
    sparse = gm.Problem.sparse(
        3,
        3,
        problem.assignments[order],
        problem.costs[order],
        np.concatenate([terms, terms[:, ::-1]]),
        np.concatenate([problem.term_costs, problem.term_costs]) / 2,
    )
    assert np.array_equal(sparse.assignments, problem.assignments)
    assert np.array_equal(sparse.terms, problem.terms)
    assert np.array_equal(sparse.term_costs, problem.term_costs)


def test_sparse_errors() -> None:
    with pytest.raises(ValueError, match=r"assignments\[2\] = \(0, 0\) repeats assignments\[0\]"):
        gm.Problem.sparse(1, 2, [[0, 0], [0, 1], [0, 0]], [1, 2, 3], [], [])
    with pytest.raises(ValueError, match=r"terms\[0, 1\] is 7, outside 0 <= index < 2"):
        gm.Problem.sparse(2, 2, [[0, 0], [1, 1]], [1, 2], [[0, 7]], [1])
    with pytest.raises(ValueError, match=r"costs has shape \(1,\), expected \(A,\) = \(2,\)"):
        gm.Problem.sparse(2, 2, [[0, 0], [1, 1]], [1], [], [])
    with pytest.raises(ValueError, match="n1: -1 nodes"):
        gm.Problem.sparse(-1, 2, [], [], [], [])


def test_evaluate_refuses_what_is_no_matching() -> None:
    given = dense()
    allowed = np.ones((3, 3), dtype=bool)
    allowed[2, 2] = False
    problem = gm.Problem(**given, allowed=allowed)
    with pytest.raises(ValueError, match=r"assignment\[1\] is 0, which assignment\[0\] already is"):
        gm.evaluate(problem, [0, 0, -1])
    with pytest.raises(ValueError, match=r"assignment\[2\] is 2, but this match is forbidden"):
        gm.evaluate(problem, [0, 1, 2])
    with pytest.raises(ValueError, match=r"assignment\[0\] is 3, outside"):
        gm.evaluate(problem, [3, 1, -1])
    with pytest.raises(ValueError, match=r"assignment has shape \(2,\)"):
        gm.evaluate(problem, [0, 1])
    with pytest.raises(TypeError, match="assignment has dtype float64"):
        gm.evaluate(problem, [0.0, 1.0, -1.0])


@pytest.mark.parametrize("allowed", [[[1, 2], [3]], [["a", "b"]], [[0, 1]], [[float("nan"), 1.0]], "ab", [[None, 1]]])
def test_allowed_must_be_bool(allowed: object) -> None:
    with pytest.raises(TypeError, match=r"allowed (is not an array|has dtype .*, expected bool)"):
        gm.Problem(np.zeros((1, 2)), [], [], np.zeros((0, 0)), allowed=allowed)  # type: ignore[arg-type]


def test_an_instance_without_init_is_an_empty_problem() -> None:
    empty = gm.Problem.__new__(gm.Problem)
    assert (empty.n1, empty.n2, empty.n_assignments, empty.n_terms) == (0, 0, 0, 0)
    for method in gm.METHODS:
        assert gm.solve(empty, method).objective == 0
    assert gm.evaluate(empty, []) == 0
    assert pickle.loads(pickle.dumps(empty)).n1 == 0


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_pickle_protocol(protocol: int) -> None:
    problem = gm.Problem(np.array([[1.0, -2.0]]), [], [], np.zeros((0, 0)))
    assert pickle.loads(pickle.dumps(problem, protocol)).costs.tolist() == [1, -2]


def test_pickle_round_trip() -> None:
    problem = gm.Problem(**dense())
    copy = pickle.loads(pickle.dumps(problem))
    assert repr(copy) == repr(problem) == "Problem(n1=3, n2=3, n_assignments=9, n_terms=8)"
    assert np.array_equal(copy.term_costs, problem.term_costs)
