"""Efforts: the profile of a family falls to the gap with which its solves end, which is that of `solve`."""

import json
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pytest

from bbgm.bench.effort import COLUMNS, EFFORTS, Course, bench_effort, effort_report
from bbgm.bench.families import by_family, write_generated
from bbgm.bench.solver import bench_solver
from bbgm.cli import main
from bbgm.prose import effort_figures


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two planted and two random instances with their optima, one instance without, and one of several graphs."""
    folder = write_generated(tmp_path_factory.mktemp("instances"), count=2)
    problem = gm.read_dd(next(folder.glob("random/*.dd")))
    assert isinstance(problem, gm.Problem)
    gm.write_dd(folder / "unknown.dd", problem)
    gm.write_dd(folder / "several.dd", {(0, 1): problem})
    return folder


def test_each_effort_ends_with_what_solve_finds(folder: Path) -> None:
    rows = bench_effort(folder, repeats=2)
    assert list(rows.columns) == list(COLUMNS)
    ends = rows[rows["after_ms"].isna()].set_index(["effort", "family"])
    assert list(ends.index) == [(effort, family) for family in ("planted", "random") for effort in EFFORTS]
    for effort in EFFORTS:
        expected = by_family(folder, bench_solver(folder, effort=effort), "best").set_index("family")
        for family in ("planted", "random"):
            end = ends.loc[(effort, family)]
            assert end["gap_percent"] == pytest.approx(expected.loc[family, "gap_percent"], abs=1e-4)
            assert (end["proofs"], end["runs"]) == (expected.loc[family, "proofs"], 2)
            assert end["ms"] > 0
    assert ends.loc["default", "proofs"].tolist() == [2, 2]
    assert effort_report(rows).count("\n") == len(ends)


def test_a_profile_falls_to_its_end(folder: Path) -> None:
    rows = bench_effort(folder, efforts=["fast", "thorough"], repeats=1)
    for _, own in rows.groupby(["family", "effort"]):
        end, course = own.iloc[0], own.iloc[1:]
        assert np.isnan(end["after_ms"])
        assert np.array_equal(np.log2(course["after_ms"]) % 1, np.zeros(len(course)))
        assert (np.diff(course["after_ms"]) > 0).all()
        assert (np.diff(course["gap_percent"]) <= 0).all()
        assert (np.diff(course["proofs"]) >= 0).all()
        assert course.iloc[-1][["gap_percent", "proofs"]].tolist() == end[["gap_percent", "proofs"]].tolist()
        assert course["after_ms"].iloc[-1] >= end["ms"]


def test_a_course_says_what_was_found_by_then() -> None:
    course = Course(np.array([1.0, 2.0, 4.0]), np.array([30.0, 10.0, 0.0]), True)
    assert [course.gap_after(ms) for ms in (1.0, 1.9, 2.0, 3.9, 4.0, 100.0)] == [30, 30, 10, 10, 0, 0]


def test_instances_without_a_best_known_value_are_refused(folder: Path, tmp_path: Path) -> None:
    gm.write_dd(tmp_path / "a.dd", gm.Problem(-np.ones((2, 2)), [], [], np.zeros((0, 0))))
    with pytest.raises(ValueError, match=r"no file of two graphs below .* has a best known value"):
        bench_effort(tmp_path)


def test_the_command_prints_writes_and_keeps(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bbgm.prose.curves.measured_root", lambda: tmp_path)
    json_file = tmp_path / "rows.json"
    assert main(["bench", "effort", str(folder), "--repeats", "1", "--json", str(json_file), "--record"]) == 0
    out = capsys.readouterr().out
    assert "thorough" in out
    assert f"kept in {tmp_path / 'instances' / 'effort.csv'}" in out
    kept, written = effort_figures(tmp_path), json.loads(json_file.read_text())
    assert [(row["family"], row["effort"], row["after_ms"]) for row in written] == [
        (family, effort, None if np.isnan(after) else after)
        for family, effort, after in kept[["family", "effort", "after_ms"]].itertuples(index=False)
    ]
    assert main(["bench", "effort", str(folder), "--repeats", "0"]) == 2
    assert "--repeats is 0" in capsys.readouterr().err


def test_committed_efforts_get_better() -> None:
    """More work never ends with a worse mean gap, and default proves at least what fast does."""
    figures = effort_figures()
    ends = figures[figures["after_ms"].isna()].set_index(["family", "effort"])
    gaps, proofs = ends["gap_percent"].unstack()[list(EFFORTS)], ends["proofs"].unstack()[list(EFFORTS)]
    assert len(gaps) >= 13
    assert (gaps.diff(axis=1).iloc[:, 1:] <= 1e-3).all(axis=None)
    assert (proofs.diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)
