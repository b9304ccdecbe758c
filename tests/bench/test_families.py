"""Families of instances: names, gaps without the shift of a full matching, files."""

import json
from dataclasses import replace
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pytest

from bbgm.bench.families import by_family, family_of, write_families, write_generated
from bbgm.bench.solver import bench_solver
from bbgm.matching.synthetic import random_instance
from bbgm.prose import solver_figures
from bbgm.published import SOLVER_COLUMNS, load_solvers, read_solvers

SHIFT = 50.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A partial instance and the same one shifted, with a best known value 1 below what can be reached."""
    instance = random_instance(8, 8, 0)
    best = {}
    (tmp_path / "keypoint_size").mkdir()
    for name, shift in (("random_8x8_0", 0.0), ("random_8x8_0_full", SHIFT)):
        problem = replace(instance, unary=instance.unary - shift).problem()
        gm.write_dd(tmp_path / "keypoint_size" / f"{name}.dd", problem)
        best[f"keypoint_size/{name}.dd"] = {"best": gm.solve(problem, effort="thorough").objective - 1}
    (tmp_path / "best_known.json").write_text(json.dumps(best))
    return tmp_path


@pytest.mark.parametrize(
    ("file", "family"),
    [
        ("keypoint_size/planted_10x14_0.dd", "planted"),
        ("keypoint_size/planted_8x8_0_full.dd.xz", "planted"),
        ("keypoint_size/random_12x12_1.dd", "random, n <= 12"),
        ("keypoint_size/random_20x23_1.dd", "random, n = 15 to 23"),
        ("keypoint_size/random_23x23_1_full.dd", "random full, n = 15 to 23"),
        ("qaplib/chr12a.dd", "QAPLIB, n <= 20"),
        ("worms/worms_01.dd.xz", "worms"),
        ("mine/deeper/a.dd", "mine/deeper"),
    ],
)
def test_a_path_names_its_family(file: str, family: str) -> None:
    assert family_of(file) == family


def test_gap_is_relative_to_the_value_without_the_shift(folder: Path) -> None:
    rows = by_family(folder, bench_solver(folder), "best", "here").set_index("family")
    best = json.loads((folder / "best_known.json").read_text())
    for family, file, shift in (
        ("random, n <= 12", "random_8x8_0.dd", 0.0),
        ("random full, n <= 12", "random_8x8_0_full.dd", SHIFT),
    ):
        plain = best[f"keypoint_size/{file}"]["best"] + 8 * shift
        assert rows.loc[family, "gap_percent"] == pytest.approx(100 / -plain, rel=1e-3)
        assert rows.loc[family, ["hits", "runs", "source"]].tolist() == [0, 1, "here"]


def test_qaplib_carries_its_shift_in_its_vertex_costs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    edges = np.array([[0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1]])
    problem = gm.Problem(np.full((3, 3), -SHIFT), edges, edges, rng.integers(1, 9, (6, 6)).astype(float))
    (tmp_path / "qaplib").mkdir()
    gm.write_dd(tmp_path / "qaplib" / "x3.dd", problem)
    value = gm.solve(problem).objective
    (tmp_path / "best_known.json").write_text(json.dumps({"qaplib/x3.dd": {"best": value - 1}}))
    (gap,) = by_family(tmp_path, bench_solver(tmp_path), "best")["gap_percent"]
    assert gap == pytest.approx(100 / (value - 1 + 3 * SHIFT), abs=1e-3)


def test_files_of_several_graphs_are_left_out(folder: Path) -> None:
    problem = gm.read_dd(folder / "keypoint_size" / "random_8x8_0.dd")
    assert isinstance(problem, gm.Problem)
    gm.write_dd(folder / "several.dd", {(0, 1): problem, (1, 2): problem})
    records = bench_solver(folder)
    assert len(records) == 3
    assert by_family(folder, records, "best")["runs"].sum() == 2
    with pytest.raises(ValueError, match="no family"):
        by_family(folder, [record for record in records if "graphs" in record], "best")


def test_unknown_optima_leave_the_gap_empty(tmp_path: Path) -> None:
    gm.write_dd(tmp_path / "a.dd", random_instance(4, 4, 0).problem())
    (row,) = by_family(tmp_path, bench_solver(tmp_path), "best").to_dict("records")
    assert np.isnan(row["gap_percent"])
    assert (row["hits"], row["runs"], row["proofs"]) == (0, 1, 1)


def test_rows_of_a_solver_are_replaced_and_the_comment_stays(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "measured.csv"
    header = ",".join(SOLVER_COLUMNS)
    path.write_text(f"# how\n# and where\n{header}\nold,best,1,,0,1,,5,,,\nold,dual,2,,0,1,,5,,,\n")
    rows = by_family(folder, bench_solver(folder), "best")
    for _ in range(2):
        write_families(path, rows)
        found = read_solvers(path)
        assert found["solver"].tolist() == ["dual", "best", "best"]
        assert path.read_text().startswith(f"# how\n# and where\n{header}\n")
    write_families(tmp_path / "new.csv", rows)
    assert list(read_solvers(tmp_path / "new.csv")["family"]) == list(rows["family"])


def test_generated_instances_are_solved_and_proved(tmp_path: Path) -> None:
    folder = write_generated(tmp_path / "made", count=3)
    assert len(list(folder.rglob("*.dd"))) == 6
    best, dual = (
        by_family(folder, bench_solver(folder, method), method).set_index("family") for method in ("best", "dual")
    )
    assert best["hits"].tolist() == best["proofs"].tolist() == [3, 3]
    assert dual.loc["random", "gap_percent"] > 1


def test_committed_figures_are_complete() -> None:
    figures = solver_figures()
    assert not figures.duplicated(["family", "solver"]).any()
    counted = figures.dropna(subset=["hits", "runs"])
    assert (counted["hits"] <= counted["runs"]).all()
    peers = figures.loc[figures["solver"] == "paper's solver", "family"]
    assert len(peers) == 9
    for solver in ("best", "dual", "pylibmgm", "scipy HiGHS"):
        own = figures[figures["solver"] == solver].set_index("family")
        assert (own["proofs"] <= own["hits"]).all()
        # On worms `best` finds a better matching than the best one known.
        assert (own["gap_percent"] >= -1e-4).all() or list(own.index[own["gap_percent"] < -1e-4]) == ["worms"]
        assert solver == "scipy HiGHS" or set(peers) <= set(own.index)
    value = load_solvers().set_index(["family", "solver"])
    assert value.loc[("random, n <= 12", "paper's solver"), "gap_percent"] == 9.0
    assert value.loc[("house, 25 of 30", "fusion moves 200"), "ms"] == 147
    assert value.loc[("worms", "paper's solver"), "ms"] == 30000
