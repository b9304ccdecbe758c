"""Counts of pairs, pooled scores, and the resampling of pairs: against `bbgm.scoring.metrics` and the textbook."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbgm.runs.counts import PairCounts, read_counts
from bbgm.runs.results import load
from bbgm.scoring.metrics import MEASURES, score
from bbgm.tables.bootstrap import resampled_scores
from bbgm.tables.columns import class_cells, column_scores, viewpoint_cells

AddRun = Callable[..., Path]
accuracy, f1 = MEASURES["accuracy"], MEASURES["f1"]


def simulate(generator: np.random.Generator, share: np.ndarray, classes: int = 2) -> PairCounts:
    """Runs on len(share) pairs of each class: every keypoint of pair u is matched right with probability share[u]."""
    n, size = classes * len(share), 10
    correct = generator.binomial(size, np.tile(share, classes))
    counts = np.column_stack(
        [np.full(n, size), generator.integers(correct, size, endpoint=True), correct, np.full((n, 2), size)]
    )
    cls = np.repeat([f"class{k}" for k in range(classes)], len(share))
    return PairCounts(cls, np.full(n, ""), counts, n, "same")


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(0)


@given(st.lists(st.integers(0, 20), min_size=3, max_size=3), st.integers(0, 9), st.integers(0, 9))
def test_measures_are_those_of_the_metrics(numbers: list[int], more1: int, more2: int) -> None:
    correct, true, matched = sorted(numbers)
    array = np.array([true, matched, correct, true + more1, true + more2])
    expected = score(array[None])
    for name in ("accuracy", "f1"):
        assert MEASURES[name](array) == pytest.approx(100 * expected[name])
    for name in ("unmatched", "unmatched_source"):
        assert MEASURES[name](array) == pytest.approx(expected[f"{name}_percent"])


def test_a_cell_pools_and_a_column_averages(generator: np.random.Generator) -> None:
    counts = np.array([[4, 4, 4, 4, 4], [16, 16, 0, 16, 16], [10, 10, 5, 10, 10]])
    pairs = PairCounts(np.array(["car", "car", "bird"]), np.full(3, ""), counts, 3, "")
    cells = class_cells(pairs, {"bird": "bird", "car": "car"}, "mean")
    assert list(cells) == ["bird", "car", "mean"]
    assert column_scores(pairs, cells, accuracy).tolist() == [50, 20, 35]  # 4 of 20, not the mean of 1 and 0


def test_pairs_without_difficulty_have_no_viewpoint(generator: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="only SPair-71k"):
        viewpoint_cells(simulate(generator, np.full(3, 0.5)), {"0": "easy"}, "all")


def test_counts_of_a_run_are_those_of_its_predictions(add_run: AddRun) -> None:
    sets = {"Car": (0.6, 0.7), "Duck": (0.5, 0.9)}
    protocol = {"filter": "unfiltered", "test_sets_per_class": 40}
    run = load(add_run({"Car": 0.9, "Duck": 0.3}, sets=sets, protocol=protocol))
    pairs = read_counts(run)
    by_hand = [[10, np.sum(x.assignment >= 0), np.sum(x.assignment == x.truth), 10, 10] for x in run.predictions]
    assert pairs.counts.tolist() == by_hand
    assert pairs.n_pairs == len(by_hand) == 200
    first, every = read_counts(run, "first", joint=True), read_counts(run, "all", joint=True)
    assert first.n_pairs == len(first.counts) == 80
    assert (every.n_pairs, len(every.counts)) == (240, 80)  # the pairs of a set are one unit
    assert every.counts.sum() == sum(
        30 + np.sum(x.joint >= 0) + np.sum(x.joint == x.truth) for x in run.set_predictions
    )
    assert every.cls.tolist() == 40 * ["Car"] + 40 * ["Duck"]
    joint_of_last = sum(int(np.sum(x.joint >= 0)) for x in run.set_predictions if x.cls == "Duck" and x.number == 39)
    assert every.counts[-1, 1] == joint_of_last
    assert read_counts(run, "all").identity == every.identity != first.identity


def test_a_run_without_sets_says_so(add_run: AddRun) -> None:
    with pytest.raises(ValueError, match=r"predictions\.npz has no test sets .*test_sets_per_class"):
        read_counts(load(add_run({"Car": 0.5})), "first")


def test_resampling_agrees_with_the_textbook(generator: np.random.Generator) -> None:
    """Mean and deviation of each column, beside drawing as many pairs as there are, with replacement."""
    pairs = simulate(generator, generator.beta(2, 1, 200))
    cells = class_cells(pairs, {}, "mean")
    for measure in (accuracy, f1):
        found = resampled_scores([[pairs]], cells, measure, 4000)[:, 0]
        drawn = []
        for _ in range(1000):
            units = np.concatenate([generator.choice(cell, len(cell)) for cell in cells["mean"]])
            again = PairCounts(pairs.cls[units], pairs.difficulty, pairs.counts[units], pairs.n_pairs, "")
            drawn.append(column_scores(again, class_cells(again, {}, "mean"), measure))
        np.testing.assert_allclose(found.mean(axis=0), column_scores(pairs, cells, measure), atol=0.1)
        np.testing.assert_allclose(found.std(axis=0), np.std(drawn, axis=0), rtol=0.1)


def test_a_row_is_the_mean_over_its_runs(generator: np.random.Generator) -> None:
    runs = [simulate(generator, np.full(30, share)) for share in (0.5, 0.7, 0.9)]
    cells = class_cells(runs[0], {}, "mean")
    together = resampled_scores([runs], cells, f1, 50)[:, 0]
    alone = [resampled_scores([[run]], cells, f1, 50)[:, 0] for run in runs]
    np.testing.assert_allclose(together, np.mean(alone, axis=0))  # the same resampled pairs for all


def test_identical_rows_never_differ(generator: np.random.Generator) -> None:
    runs = [simulate(generator, np.full(30, 0.6)) for _ in range(3)]
    resampled = resampled_scores([runs, runs[::-1]], class_cells(runs[0], {}, "mean"), f1, 100)
    np.testing.assert_allclose(resampled[:, 0], resampled[:, 1], atol=1e-10)


def test_pairing_reduces_the_variance_of_a_difference(generator: np.random.Generator) -> None:
    """Where hard pairs are hard for both methods."""
    share = generator.choice([0.2, 0.9], 200)
    rows = [[simulate(generator, share)], [simulate(generator, share)]]
    resampled = resampled_scores(rows, class_cells(rows[0][0], {}, "mean"), accuracy, 2000)
    paired = (resampled[:, 0] - resampled[:, 1]).std(axis=0)
    independent = np.hypot(*(resampled[:, k].std(axis=0) for k in (0, 1)))
    assert (paired < 0.6 * independent).all()


def test_the_interval_covers_the_true_difference(generator: np.random.Generator) -> None:
    """Of 100 pairs of methods that are 5 points apart in truth, about 95 have it in their 95 % interval."""
    covered = 0
    for _ in range(100):
        share = generator.uniform(0.3, 0.9, 100)
        rows = [[simulate(generator, share, 1)], [simulate(generator, share + 0.05, 1)]]
        resampled = resampled_scores(rows, class_cells(rows[0][0], {}, "mean"), accuracy, 500)
        low, high = np.percentile(resampled[:, 1, -1] - resampled[:, 0, -1], [2.5, 97.5])
        covered += low <= 5 <= high
    assert 88 <= covered <= 100


def test_the_same_for_any_chunk_and_other_classes_do_not_matter(
    generator: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = simulate(generator, np.full(40, 0.6), 3)
    cells = class_cells(pairs, {}, "mean")
    whole = resampled_scores([[pairs]], cells, accuracy, 700)
    np.testing.assert_array_equal(resampled_scores([[pairs]], cells, accuracy, 700), whole)
    two = PairCounts(pairs.cls[:80], pairs.difficulty[:80], pairs.counts[:80], 80, "")
    fewer = resampled_scores([[two]], class_cells(two, {}, "mean"), accuracy, 700)
    np.testing.assert_array_equal(fewer[..., :2], whole[..., :2])
    monkeypatch.setattr("bbgm.tables.bootstrap.CHUNK", 64)
    np.testing.assert_array_equal(resampled_scores([[pairs]], cells, accuracy, 700), whole)
    assert (resampled_scores([[pairs]], cells, accuracy, 700, seed=1) != whole).any()


def test_a_resample_without_a_pair_of_a_class_leaves_the_class_out() -> None:
    """One hard pair a class: a third of the resamples lacks it."""
    label = "viewpoint={} scale=0 truncation=0 occlusion=0 mirror=0".format
    counts = np.array([[5, 5, 5, 5, 5], [5, 5, 1, 5, 5], [5, 5, 5, 5, 5], [5, 5, 3, 5, 5]])
    pairs = PairCounts(np.array(list("aabb")), np.array([label(k) for k in (0, 2, 0, 2)]), counts, 4, "")
    cells = viewpoint_cells(pairs, {"0": "easy", "1": "medium", "2": "hard"}, "all")
    assert list(cells) == ["easy", "hard", "all"]
    hard = resampled_scores([[pairs]], cells, accuracy, 2000)[:, 0, 1]
    values, numbers = np.unique(hard[np.isfinite(hard)], return_counts=True)
    np.testing.assert_allclose(values, [20, 40, 60])  # class a only, both, class b only
    lacking = np.exp(-1)
    expected = [lacking * (1 - lacking), (1 - lacking) ** 2, lacking * (1 - lacking)]
    np.testing.assert_allclose(numbers / 2000, expected, atol=0.04)
    assert np.isnan(hard).mean() == pytest.approx(lacking**2, abs=0.03)
