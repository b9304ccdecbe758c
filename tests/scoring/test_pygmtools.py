"""An independent check by pygmtools: its benchmark's scores of the same matchings, and its affinity of our instances.

Skipped where it is not installed (``pip install .[pygmtools]``).
"""

import contextlib
import io
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bbgm_solver as gm
import numpy as np
import pytest

from bbgm.config import FilterName, ProtocolConfig
from bbgm.data import Dataset, KeypointPair
from bbgm.data import test_pairs as draw_test_pairs
from bbgm.data.images.hidden import hide_keypoints
from bbgm.data.images.split import split_images
from bbgm.data.readers.willow import ERRATA, KEYPOINT_NAMES, read_willow
from bbgm.matching.instance import Instance
from bbgm.scoring.metrics import count_matchings, score
from tests.support.draws import draw_instance

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pygm = pytest.importorskip("pygmtools")

CLASSES = list(KEYPOINT_NAMES)


@pytest.fixture(scope="module")
def dataset(willow_folder: Path) -> Dataset:
    """As pygmtools reads Willow: without the image that lacks its ears. A quarter of the keypoints is hidden, so that
    precision and recall part."""
    images, _ = read_willow(willow_folder, errata=[one for one in ERRATA if one.action == "exclude"])
    train, test = split_images(hide_keypoints(images, 0.25, 0), ProtocolConfig())
    return Dataset("willow", train, test)


@pytest.fixture
def benchmark_of(
    dataset: Dataset, willow_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[FilterName], Any]:
    """Makes pygmtools' benchmark of the same data; all that it writes goes to a folder of this test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # Release 0.6.0 makes numbers of arrays of one element by float(), which numpy 2.4 refuses.
    monkeypatch.setattr("pygmtools.dataset.float", lambda array: array.item(), raising=False)

    def make(keypoint_filter: FilterName) -> Any:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            benchmark = pygm.Benchmark("WillowObject", "test", filter=keypoint_filter, ROOT_DIR=str(willow_folder))
        for image in (image for one in dataset.test.values() for image in one):
            entry = benchmark.data_dict[Path(image.image_id).name]
            labels = [KEYPOINT_NAMES[image.cls].index(name) for name in image.names]
            entry["kpts"] = [entry["kpts"][label] for label in labels]
            found = [[point["x"], point["y"]] for point in entry["kpts"]]
            np.testing.assert_allclose(found, image.xy, atol=1e-6)  # both readers agree about the real data
        return benchmark

    return make


def guess(pair: KeypointPair, generator: np.random.Generator) -> np.ndarray:
    """A matching with mistakes of all kinds: wrong ones, missing ones, matches of keypoints without a partner."""
    assignment = np.full(len(pair.kept1), -1)
    n = min(len(pair.kept1), len(pair.kept2))
    rows, columns = generator.permutation(len(pair.kept1))[:n], generator.permutation(len(pair.kept2))[:n]
    assignment[rows] = columns
    right = (pair.truth >= 0) & (generator.random(len(pair.truth)) < 0.6)
    assignment[np.isin(assignment, pair.truth[right])] = -1
    assignment[right] = pair.truth[right]
    assignment[generator.random(len(assignment)) < 0.2] = -1
    return assignment


def as_theirs(pair: KeypointPair, assignment: np.ndarray, points: list[list[dict[str, Any]]], swapped: bool) -> Any:
    """The 0/1 matrix of a matching in the order of their keypoints."""
    names = KEYPOINT_NAMES[pair.source.cls]
    rows, columns = ([names[point["labels"]] for point in one] for one in (points[::-1] if swapped else points))
    matrix = np.zeros((len(rows), len(columns)), dtype=np.float32)
    for i, j in enumerate(assignment):
        if j >= 0:
            source, target = pair.source.names[pair.kept1[i]], pair.target.names[pair.kept2[j]]
            matrix[rows.index(source), columns.index(target)] = 1
    return matrix.T if swapped else matrix


@pytest.mark.parametrize("keypoint_filter", ["intersection", "unfiltered"])
def test_scores_of_the_same_matchings_are_theirs(
    dataset: Dataset, benchmark_of: Any, keypoint_filter: FilterName
) -> None:
    """Mean of precision, recall and F1 of the pairs of each class; real Willow, its test images, the same split."""
    benchmark, generator = benchmark_of(keypoint_filter), np.random.default_rng(0)
    protocol = ProtocolConfig(filter=keypoint_filter, test_pairs_per_class=20)
    predictions, ours = [], {}
    for cls in CLASSES:
        scores: dict[tuple[str, str], dict[str, float | int]] = {}
        for pair in draw_test_pairs(dataset, protocol, cls):
            ids = [Path(image.image_id).name for image in (pair.source, pair.target)]
            first, second = sorted(ids)  # they fix the direction of a pair, and take it once
            if (first, second) in scores:
                continue
            data, truth, _ = benchmark.get_data([first, second])
            swapped, points = ids[0] != first, [one["kpts"] for one in data]
            np.testing.assert_array_equal(as_theirs(pair, pair.truth, points, swapped), truth[0, 1].toarray())
            assignment = guess(pair, generator)
            matrix = as_theirs(pair, assignment, points, swapped)
            predictions.append({"ids": (first, second), "cls": cls, "perm_mat": matrix})
            scores[first, second] = score(count_matchings([(assignment, pair.truth, len(pair.kept2))]))
        ours[cls] = {name: np.mean([one[name] for one in scores.values()]) for name in ("precision", "recall", "f1")}
    theirs = benchmark.eval(predictions, CLASSES)
    for cls in CLASSES:
        assert ours[cls] == pytest.approx({name: theirs[cls][name] for name in ours[cls]}, abs=1e-6)
        if keypoint_filter == "unfiltered":
            assert abs(ours[cls]["precision"] - ours[cls]["recall"]) > 0.01
    assert 0.3 < theirs["mean"]["f1"] < 0.8


def affinity(costs: Instance) -> np.ndarray:
    """pygmtools' K, (n1 n2, n1 n2): affinities are our costs with the other sign; X is read column by column."""
    matrix = np.diag(-costs.unary.T.ravel())
    starts, ends = (costs.edges2[None, :, k] * len(costs.unary) + costs.edges1[:, None, k] for k in (0, 1))
    matrix[starts, ends] -= costs.quadratic
    return matrix


@pytest.mark.parametrize("seed", range(8))
def test_its_affinity_is_minus_our_energy_and_its_solvers_find_nothing_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = draw_instance(rng, *rng.integers(3, 7, 2).tolist())
    problem, weights, (n1, n2) = costs.problem(), affinity(costs), costs.unary.shape
    best = gm.solve(problem, method="exact")
    assert best.optimal
    found = [best.assignment]
    for name in ("sm", "rrwm", "ipfp"):
        # They want affinities that are not negative. What is best changes by that; what a matching is worth does not.
        with np.errstate(invalid="ignore"):
            soft = getattr(pygm, name)(weights - weights.min(), n1, n2, backend="numpy")
        matrix = pygm.hungarian(soft, backend="numpy")
        found.append(np.where(matrix.sum(axis=1) > 0, matrix.argmax(axis=1), -1))
    for assignment in found:
        matrix = np.zeros((n1, n2))
        rows = np.flatnonzero(assignment >= 0)
        matrix[rows, assignment[rows]] = 1
        value = gm.evaluate(problem, assignment)
        assert pygm.utils.compute_affinity_score(matrix, weights, backend="numpy") == pytest.approx(-value)
        assert value >= best.objective - 1e-9
