"""Time and memory by size: what is measured is a solve of the stated problem, in a process of its own."""

import os
from pathlib import Path
from typing import Any

import bbgm_solver as gm
import pytest

from bbgm.bench import scaling
from bbgm.bench.scaling import COLUMNS, KINDS, bench_scaling, scaling_report, solve_once
from bbgm.cli import main
from bbgm.prose import scaling_figures


@pytest.mark.parametrize(("kind", "n", "matches"), [("sparse", 60, 600), ("dense", 12, 144)])
def test_a_row_is_about_the_problem_of_its_kind_and_size(kind: str, n: int, matches: int) -> None:
    row = solve_once(kind, n, "fast")
    problem = KINDS[kind].make(n)
    result = gm.solve(problem, effort="fast")
    assert (problem.n1, problem.n2, problem.n_assignments) == (n, n, matches)
    assert tuple(row) == COLUMNS
    assert (row["terms"], row["cost"]) == (problem.n_terms, result.objective)
    assert row["gap_percent"] == pytest.approx(100 * (result.objective - result.lower_bound) / -result.objective)
    assert row["seconds"] > 0
    assert row["mib"] >= row["problem_mib"]


def test_the_command_measures_prints_and_keeps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bbgm.prose.curves.measured_root", lambda: tmp_path)
    assert main(["bench", "scaling", "--largest", "25", "--effort", "default", "--record"]) == 0
    out = capsys.readouterr().out
    (row,) = scaling_figures(tmp_path).to_dict("records")
    result = gm.solve(KINDS["dense"].make(25))
    assert (row["kind"], row["n"], row["effort"]) == ("dense", 25, "default")
    assert row["cost"] == pytest.approx(result.objective, rel=1e-6)
    assert 0 < row["mib"] < 100
    assert f"{result.objective:.3f}" in out
    assert f"kept in {tmp_path / 'instances' / 'scaling.csv'}" in out


def die(*_: Any) -> None:
    """What the kernel does to a process where the memory runs out."""
    os._exit(137)


def test_a_killed_solve_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "solve_once", die)
    with pytest.raises(MemoryError, match=r"the dense problem with n = 25 was killed, .*--largest 24"):
        bench_scaling(["dense"], largest=25)


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ValueError, match=r"kind 'thick' is not one of \['sparse', 'dense'\]"):
        bench_scaling(["thick"])
    with pytest.raises(ValueError, match=r"effort 'huge' is not one of \['fast'"):
        bench_scaling(effort="huge")
    with pytest.raises(ValueError, match="no problem has 3 nodes or fewer: give 25 or more"):
        bench_scaling(largest=3)


def test_committed_sizes_reach_the_solvers_limit() -> None:
    figures = scaling_figures().query("effort == 'fast'")
    for kind, rows in figures.groupby("kind"):
        assert tuple(rows["n"]) == KINDS[kind].sizes
        assert (rows["mib"] >= rows["problem_mib"]).all()
        assert rows["gap_percent"].between(0, 5).all()
    assert f"{figures['cost'].iloc[0]:.3f}" in scaling_report(figures)
