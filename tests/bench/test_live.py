"""Live peers: what they return is a matching of the file's problem, valued with its costs; who is absent is told."""

import json
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pytest

from bbgm.bench.live import bench_peers, busiest, chosen_peers, family_rows, is_shared, peers_report
from bbgm.bench.peers import PEERS
from bbgm.bench.peers.assignment import LinearAssignment
from bbgm.bench.peers.peer import Answer, Peer, Unsupported, without_costly
from bbgm.bench.peers.qap import FAQ, weights
from bbgm.cli import main
from bbgm.matching.synthetic import random_instance
from bbgm.published import SOLVER_COLUMNS

INSTALLED = [peer.title for peer in chosen_peers()[0]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small planted and random instances, one with a forbidden match, one as in QAPLIB, and one of several graphs."""
    folder = tmp_path_factory.mktemp("instances")
    problems = {
        f"{kind}/{n1}x{n2}.dd": random_instance(n1, n2, 1, planted=kind == "planted").problem()
        for kind in ("planted", "random")
        for n1, n2 in ((5, 5), (4, 6), (6, 4))
    }
    some = problems["random/5x5.dd"]
    problems["sparse/5x5.dd"] = gm.Problem.sparse(5, 5, some.assignments[1:], some.costs[1:], [], [])
    problems["qaplib/x5.dd"] = quadratic_assignment(5)
    best = {}
    for name, problem in problems.items():
        (folder / name).parent.mkdir(exist_ok=True)
        gm.write_dd(folder / name, problem)
        best[name] = {"best": gm.solve(problem, "exact").objective}
    gm.write_dd(folder / "several.dd", {(0, 1): some, (0, 2): some})
    (folder / "best_known.json").write_text(json.dumps(best))
    return folder


def quadratic_assignment(n: int, shift: float = 200.0) -> gm.Problem:
    """Symmetric integer weights on both complete graphs; `shift` for a match makes every node matched."""
    rng = np.random.default_rng(2)
    edges = np.argwhere(~np.eye(n, dtype=bool))
    one, other = (m + m.T for m in (np.triu(rng.integers(1, 9, (n, n)), 1) for _ in range(2)))
    costs = np.outer(one[tuple(edges.T)], other[tuple(edges.T)]).astype(float)
    return gm.Problem(np.full((n, n), -shift), edges, edges, costs)


def test_every_peer_here_returns_matchings_that_are_no_better_than_the_optimum(folder: Path) -> None:
    peers, missing = chosen_peers()
    assert len(peers) + len(missing) == len(PEERS.names())
    records = bench_peers(folder, peers, repeats=1)
    assert [peer.title for peer in records] == INSTALLED
    for peer, own in records.items():
        assert [record["file"] for record in own] == sorted(record["file"] for record in own)
        assert len(own) == 8  # not the file of several graphs
        for record in own:
            if "unsupported" in record:
                continue
            assert record["gap_percent"] >= -1e-6, (peer.title, record)
            assert record["ms"] > 0
            if record["optimal"]:
                assert record["gap_percent"] < 1e-4, (peer.title, record)
    by_title = {peer.title: own for peer, own in records.items()}
    for title in ("best", "scipy HiGHS"):
        assert all(record["optimal"] for record in by_title[title]), title
    refused = {record["file"] for record in by_title["scipy FAQ"] if "unsupported" in record}
    assert refused == {record["file"] for record in by_title["scipy FAQ"]} - {"qaplib/x5.dd"}
    rows = family_rows(folder, records, "here")
    assert list(rows.columns) == list(SOLVER_COLUMNS)
    best = rows[rows["solver"] == "best"].set_index("family")
    assert best["proofs"].to_dict() == {"planted": 3, "random": 3, "sparse": 1, "QAPLIB, n <= 20": 1}
    assert rows.loc[rows["solver"] == "scipy FAQ", "family"].tolist() == ["QAPLIB, n <= 20"]
    (note,) = rows.loc[rows["solver"] == "scipy FAQ", "note"]
    assert "not planted: graphs of different sizes" in note
    assert rows["source"].str.startswith("here; ").all()
    assert "scipy HiGHS" in peers_report(rows)
    assert [line for line in busiest(records) if line.startswith("best")] == []


def test_more_than_one_thread_and_a_shared_machine_are_noticed() -> None:
    def records(threads: float) -> dict[type[Peer], list[dict[str, float]]]:
        return {FAQ: [{"ms": 20.0, "threads": threads}, {"ms": 0.1, "threads": 5.0}, {}]}

    assert busiest(records(1.0)) == []
    assert busiest(records(1.9)) == ["scipy FAQ used 1.9 threads: its times are not those of one"]
    assert [is_shared(records(threads)) for threads in (0.5, 1.0, 1.9)] == [True, False, False]


@pytest.mark.parametrize("title", ["pylibmgm", "pygmtools RRWM", "pygmtools IPFP", "pygmtools SM"])
def test_a_peer_that_is_here_matches_a_planted_pair(title: str, folder: Path) -> None:
    if title not in INSTALLED:
        pytest.skip(f"{title} is not installed")
    peer = next(peer for peer in chosen_peers()[0] if peer.title == title)
    instance = random_instance(8, 8, 0, planted=True)
    strong = gm.Problem(instance.unary - 3 * np.eye(8), instance.edges1, instance.edges2, instance.quadratic)
    answer = peer().prepare(strong)()
    assert np.array_equal(answer.assignment, np.arange(8))
    assert not answer.proved


def test_weights_of_a_quadratic_assignment_give_its_costs() -> None:
    problem = quadratic_assignment(5)
    one, other = weights(problem)
    for seed in range(5):
        match = np.random.default_rng(seed).permutation(5)
        assert (one * other[np.ix_(match, match)]).sum() == pytest.approx(gm.evaluate(problem, match) + 5 * 200)
    changed = problem.term_costs.copy()
    changed[3] += 1
    other_terms = gm.Problem.sparse(5, 5, problem.assignments, problem.costs, problem.terms, changed)
    for wrong, reason in (
        (other_terms, "not products of two weights"),
        (random_instance(5, 5, 0).problem(), "costs of single matches"),
        (random_instance(4, 5, 0).problem(), "graphs of different sizes"),
    ):
        with pytest.raises(Unsupported, match=reason):
            FAQ().prepare(wrong)


def test_costly_matches_are_taken_out_and_others_stay() -> None:
    problem = random_instance(6, 6, 3).problem()
    full = np.random.default_rng(0).permutation(6)
    kept = without_costly(problem, full)
    assert gm.evaluate(problem, kept) < gm.evaluate(problem, full)
    assert all(j in (-1, before) for j, before in zip(kept, full, strict=True))
    for i in np.flatnonzero(kept >= 0):
        less = kept.copy()
        less[i] = -1
        assert gm.evaluate(problem, less) >= gm.evaluate(problem, kept)
    best = gm.solve(problem).assignment
    assert np.array_equal(without_costly(problem, best), best)


def test_a_peer_that_is_absent_is_told_with_its_install_line(
    monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(package: str) -> str:
        if package == "pylibmgm":
            raise PackageNotFoundError
        return "1.0"

    monkeypatch.setattr("bbgm.bench.peers.peer.version", absent)
    assert main(["bench", "peers", str(folder / "planted"), "--peers", "pylibmgm,best", "--repeats", "1"]) == 0
    out = capsys.readouterr().out
    assert "pylibmgm is left out: pylibmgm is not installed (pip install pylibmgm)" in out
    assert "best" in out
    with pytest.raises(ValueError, match=r"peer 'cplex' is not one of \['best', 'dual', 'pylibmgm'"):
        chosen_peers(["cplex"])


class Liar(Peer):
    """Returns what is not a matching."""

    title, package, settings = "liar", "scipy", "none"

    def prepare(self, problem: gm.Problem) -> Callable[[], Answer]:
        return lambda: Answer(np.zeros(problem.n1, dtype=int), True)


def test_what_is_not_a_matching_is_an_error_that_names_peer_and_file(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"liar on .*x5\.dd|liar on .*4x6\.dd: assignment\[1\] is 0, which"):
        bench_peers(folder, [Liar])


def test_linear_assignment_is_optimal_without_edges() -> None:
    rng = np.random.default_rng(1)
    for n1, n2 in ((4, 6), (6, 4), (5, 5)):
        allowed = rng.random((n1, n2)) < 0.7
        none = np.zeros((0, 2), dtype=int)
        problem = gm.Problem(rng.normal(size=(n1, n2)), none, none, np.zeros((0, 0)), allowed=allowed)
        answer = LinearAssignment().prepare(problem)()
        assert answer.proved
        assert gm.evaluate(problem, answer.assignment) == pytest.approx(gm.solve(problem).objective)
