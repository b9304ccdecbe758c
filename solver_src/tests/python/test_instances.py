"""The solver on the collected instances, against their best known values."""

import json
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pytest


def known(folder: Path) -> dict[str, float]:
    return {name: entry["best"] for name, entry in json.loads((folder / "best_known.json").read_text()).items()}


def single(path: Path) -> gm.Problem:
    problem = gm.read_dd(path)
    assert isinstance(problem, gm.Problem)
    return problem


def test_planted_instances_are_solved_with_proof(instances_folder: Path) -> None:
    best = known(instances_folder)
    paths = sorted((instances_folder / "keypoint_size").glob("planted_*.dd"))
    assert paths
    for path in paths:
        problem = single(path)
        result = gm.solve(problem)
        assert result.optimal, path.name
        assert result.objective == pytest.approx(best[f"keypoint_size/{path.name}"], rel=1e-9), path.name
        assert gm.evaluate(problem, result.assignment) == result.objective


def test_dense_arrays_give_the_same_problem(instances_folder: Path) -> None:
    for path in sorted((instances_folder / "keypoint_size").glob("*.npz")):
        arrays = np.load(path)
        dense = gm.Problem(arrays["U"], arrays["el"], arrays["er"], arrays["W"])
        sparse = single(path.with_suffix(".dd"))
        rng = np.random.default_rng(0)
        for _ in range(3):
            labels = np.full(dense.n1, -1)
            count = int(rng.integers(0, min(dense.n1, dense.n2) + 1))
            labels[rng.permutation(dense.n1)[:count]] = rng.permutation(dense.n2)[:count]
            assert gm.evaluate(dense, labels) == pytest.approx(gm.evaluate(sparse, labels), abs=1e-6)
        if path.name.startswith("planted"):
            assert gm.solve(dense).optimal


@pytest.mark.parametrize(
    "family",
    [
        "keypoint_size",
        "willow_outliers",
        "house",
        "house_partial",
        "house_shape_context",
        "keypoints46",
        "opengm",
        "qaplib",
    ],
)
def test_best_known_values_are_reached(instances_folder: Path, family: str) -> None:
    best = known(instances_folder)
    for path in sorted((instances_folder / family).glob("*.dd")):
        value = best[f"{family}/{path.name}"]
        result = gm.solve(single(path))
        assert result.lower_bound <= value + 1e-6 * abs(value), path.name
        assert result.objective <= value + 1e-6 * abs(value), path.name


def test_dual_is_a_bound_and_a_matching(instances_folder: Path) -> None:
    best = known(instances_folder)
    for path in sorted((instances_folder / "keypoint_size").glob("*.dd")):
        value = best[f"keypoint_size/{path.name}"]
        problem = single(path)
        result = gm.solve(problem, "dual")
        assert result.lower_bound <= value + 1e-9 * abs(value), path.name
        assert result.objective >= value - 1e-6 * abs(value), path.name
        assert gm.evaluate(problem, result.assignment) == result.objective


@pytest.mark.slow
def test_worms_below_the_best_known_value(instances_folder: Path) -> None:
    problem = single(instances_folder / "worms" / "worms_01.dd.xz")
    value = known(instances_folder)["worms/worms_01.dd"]  # of the peers
    result = gm.solve(problem)
    assert result.objective < value
    assert gm.evaluate(problem, result.assignment) == result.objective
