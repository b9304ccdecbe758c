"""Costs that are all positive, as QAPLIB's are: `bbgm solve` and `bbgm bench` with and without --full."""

import json
from pathlib import Path
from typing import Any

import bbgm_solver as gm
import pytest

from bbgm.bench.solver import bench_solver, instance_files, report, solve_file
from bbgm.cli import main

COSTS = "p 2 2 4 1\na 0 0 0 1\na 1 0 1 5\na 2 1 0 4\na 3 1 1 2\ne 0 3 0.5\n"
FULL = 3.5  # the cheaper of both full matchings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qap.dd").write_text(COSTS)
    (tmp_path / "best_known.json").write_text(json.dumps({"qap.dd": {"best": FULL}}))
    return tmp_path


def test_a_result_without_a_match_says_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = solve_file(folder / "qap.dd")
    assert record["assignment"] == [-1, -1]
    assert record["note"] == (
        "nothing is matched: no matching costs less than none; --full matches as many nodes as it can"
    )
    assert main(["solve", str(folder / "qap.dd")]) == 0
    assert "note          nothing is matched" in capsys.readouterr().out
    assert main(["solve", str(folder / "qap.dd"), "--full", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["objective"], record["assignment"], "note" in record) == (FULL, [0, 1], False)
    (folder / "empty.dd").write_text("p 2 2 0 0\n")
    assert "note" not in solve_file(folder / "empty.dd")  # nothing could be matched


def test_a_gap_below_a_full_matching_is_no_hit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = bench_solver(folder)
    assert (record["objective"], record["gap_percent"]) == (0, None)
    assert record["note"] == "the best known value is of a full matching, nothing matched costs 0: use --full"
    table, note = report([record]).splitlines()[1:]
    assert table.split()[2:4] == ["-", "-"]
    assert note == f"qap.dd: {record['note']}"
    (record,) = bench_solver(folder, full=True)
    assert (record["objective"], record["gap_percent"], "note" in record) == (FULL, 0, False)
    assert main(["bench", "solver", str(folder), "--full", "--families", str(folder / "rows.csv")]) == 0
    assert (folder / "rows.csv").read_text().splitlines()[1].startswith('.,"best, full",0.0,,1,1,1,')


def test_a_value_below_the_best_known_partial_matching_still_counts(folder: Path) -> None:
    (folder / "qap.dd").write_text(
        COSTS.replace(" 1\ne", " -2\ne").replace("0 0 1\n", "0 0 -1\n").replace(" 2\n", " -2\n")
    )
    (folder / "best_known.json").write_text(json.dumps({"qap.dd": {"best": -2.0}}))
    (record,) = bench_solver(folder)
    assert record["gap_percent"] < 0


def test_the_costs_of_staying_unmatched_are_taken_into_account(folder: Path) -> None:
    """Matching nothing costs 20 here, so the best known value may be of any matching."""
    node = 2**64 - 1
    (folder / "qap.dd").write_text(COSTS.replace("p 2 2 4", "p 2 2 6") + f"a 4 0 {node} 10\na 5 1 {node} 10\n")
    (record,) = bench_solver(folder)
    assert (record["objective"], record["gap_percent"]) == (FULL, 0)


def test_several_graphs_are_never_full(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def error_of(*arguments: str) -> str:
        assert main(arguments) == 2
        return capsys.readouterr().err

    problem = gm.read_dd(folder / "qap.dd")
    assert isinstance(problem, gm.Problem)
    gm.write_dd(folder / "set.dd", {(0, 1): problem, (0, 2): problem})
    assert "several graphs, which are always matched partially: leave out --full" in error_of(
        "solve", str(folder / "set.dd"), "--full"
    )
    note: Any = solve_file(folder / "set.dd")["note"]
    assert note.endswith("; to have matches, subtract a constant from the costs of all of them")
    assert [record["file"] for record in bench_solver(folder, full=True)] == ["qap.dd"]
    (folder / "qap.dd").unlink()
    assert "--full is for files of two graphs" in error_of("bench", "solver", str(folder), "--full")


def test_companions_of_a_mac_are_no_instances(folder: Path) -> None:
    for name in ("._qap.dd", "._qap.dd.xz", "sub/._b.dd", "__MACOSX/._qap.dd", "__MACOSX/qap.dd"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"\x00\x05\x16\x07")
    assert [path.name for path in instance_files(folder)] == ["qap.dd"]
    assert len(bench_solver(folder)) == 1
