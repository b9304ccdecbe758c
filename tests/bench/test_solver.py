"""bbgm.bench.solver: the logic of `bbgm solve` and `bbgm bench solver`."""

import json
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pytest
from bbgm_solver.selftest import enumerate_best, random_problem

from bbgm.bench.solver import bench_solver, instance_files, report, solve_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    best = {}
    (tmp_path / "several").mkdir()
    for name in ("one/a.dd", "one/b.dd.xz", "two/c.dd"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        problem = random_problem(rng, 4, 4)
        gm.write_dd(tmp_path / name, problem)
        best[name.removesuffix(".xz")] = {"best": enumerate_best(problem)}
    del best["two/c.dd"]
    several = {key: random_problem(rng, *n) for key, n in {(0, 1): (2, 3), (0, 4): (2, 2), (1, 4): (3, 2)}.items()}
    gm.write_dd(tmp_path / "several" / "d.dd", several)
    best["several/d.dd"] = {"best": gm.solve_multi(several, effort="thorough").objective}
    (tmp_path / "best_known.json").write_text(json.dumps(best))
    return tmp_path


def test_records_have_gaps_to_the_best_known_values(folder: Path) -> None:
    records = bench_solver(folder)
    assert [record["file"] for record in records] == ["one/a.dd", "one/b.dd.xz", "several/d.dd", "two/c.dd"]
    assert records[2].pop("graphs") == 3
    assert all(set(r) == {"file", "objective", "lower_bound", "optimal", "ms", "gap_percent"} for r in records)
    assert all(record["optimal"] and record["ms"] > 0 for record in records)
    assert records[0]["gap_percent"] == pytest.approx(0, abs=1e-9)
    assert records[2]["gap_percent"] == pytest.approx(0, abs=1e-9)
    assert records[3]["gap_percent"] is None
    json.dumps(records, allow_nan=False)
    one, several, two = report(records).splitlines()[1:]
    assert one.split()[:5] == ["one", "2", "0.0000", "2", "2"]
    assert several.split()[:5] == ["several", "1", "0.0000", "1", "1"]
    assert two.split()[:5] == ["two", "1", "-", "-", "1"]


def test_best_known_values_of_a_family_lie_above_it(folder: Path) -> None:
    records = bench_solver(folder / "one")
    assert [(record["file"], record["gap_percent"]) for record in records] == [
        ("a.dd", pytest.approx(0, abs=1e-9)),
        ("b.dd.xz", pytest.approx(0, abs=1e-9)),
    ]


def test_a_file_of_two_graphs_is_solved_as_its_problem(folder: Path) -> None:
    record = json.loads(json.dumps(solve_file(folder / "one" / "a.dd", "dual")))
    problem = gm.read_dd(folder / "one" / "a.dd")
    assert isinstance(problem, gm.Problem)
    assert gm.evaluate(problem, record["assignment"]) == record["objective"]
    assert record["method"] == "dual"


def test_a_file_of_several_graphs_is_solved_jointly(folder: Path) -> None:
    path = folder / "several" / "d.dd"
    problems = gm.read_dd(path)
    assert isinstance(problems, dict)
    for method in gm.MULTI_METHODS:
        record = json.loads(json.dumps(solve_file(path, method)))
        result = gm.solve_multi(problems, method)
        assert record["method"] == method
        assert (record["graphs"], record["nodes"]) == ([0, 1, 4], [2, 3, 2])
        assert record["cliques"] == result.cliques.tolist()
        assert record["objective"] == result.objective
        assert record["ms"] > 0
    with pytest.raises(ValueError, match=r"method 'exact' is not one of \['best', 'sync', 'dual'\]"):
        solve_file(path, "exact")
    with pytest.raises(ValueError, match=r"d\.dd holds several graphs, which are always matched partially"):
        solve_file(path, full=True)


def test_a_method_solves_the_files_that_know_it(folder: Path) -> None:
    assert [record["file"] for record in bench_solver(folder, "sync")] == ["several/d.dd"]
    two_graphs = ["one/a.dd", "one/b.dd.xz", "two/c.dd"]
    assert [record["file"] for record in bench_solver(folder, "exact")] == two_graphs
    assert [record["file"] for record in bench_solver(folder, "dual")] == sorted([*two_graphs, "several/d.dd"])
    with pytest.raises(ValueError, match="method 'sync' solves no file below"):
        bench_solver(folder / "one", "sync")
    with pytest.raises(
        ValueError, match=r"method 'none' .* \['best', 'dual', 'exact'\], several by \['best', 'sync', 'dual'\]"
    ):
        bench_solver(folder, "none")


def test_errors_name_the_folder_and_the_file(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent is not a folder"):
        instance_files(folder / "absent")
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"empty holds no \.dd"):
        instance_files(folder / "empty")
    for content in ("[1]", "{", '{"a.dd": 1}', '{"a.dd": {"best": NaN}}', '{"a.dd": {"best": -Infinity}}'):
        (folder / "best_known.json").write_text(content)
        with pytest.raises(ValueError, match=r"best_known\.json does not map"):
            bench_solver(folder)
