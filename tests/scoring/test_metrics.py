"""Metrics on examples that are counted by hand."""

import numpy as np
import pytest
import torch

from bbgm.scoring.metrics import (
    CORRECT,
    MATCHED,
    TRUE,
    batch_accuracy,
    check_matching,
    count_matchings,
    mean_over_classes,
    score_class,
)

SMALL = (np.array([0, 1]), np.array([0, 1]), 2)  # both right
LARGE = (np.array([1, 0, 2, -1, 5, 3]), np.array([0, 1, 2, 3, -1, -1]), 6)  # 1 of 4 right, 5 matched


def test_counts_are_pooled_within_the_class() -> None:
    scores = score_class([SMALL, LARGE])
    assert scores["accuracy"] == 3 / 6
    assert scores["precision"] == pytest.approx(3 / 7, abs=1e-6)
    assert scores["f1"] == pytest.approx(6 / 13, abs=1e-6)
    assert scores["n_pairs"] == 2
    # n1 + n2 = 16 keypoints of which 2 * 6 have a partner; of 8 source keypoints 6 have.
    assert scores["unmatched_percent"] == 25
    assert scores["unmatched_source_percent"] == 25


def test_pooling_is_not_the_mean_over_pairs() -> None:
    mean_of_pairs = np.mean([score_class([SMALL])["f1"], score_class([LARGE])["f1"]])
    assert mean_of_pairs == pytest.approx((1 + 2 / 9) / 2, abs=1e-6)
    assert score_class([SMALL, LARGE])["f1"] < mean_of_pairs - 0.1


def test_false_positives_lower_f1_but_not_accuracy() -> None:
    cautious, greedy = np.array([0, -1]), np.array([0, 1])
    truth = np.array([0, -1])
    assert score_class([(cautious, truth, 2)])["accuracy"] == score_class([(greedy, truth, 2)])["accuracy"] == 1
    assert score_class([(greedy, truth, 2)])["f1"] < 0.7 < score_class([(cautious, truth, 2)])["f1"]


def test_nothing_to_match_scores_zero() -> None:
    nothing = np.full(3, -1)
    scores = score_class([(nothing, nothing, 2)])
    assert (scores["accuracy"], scores["f1"], scores["unmatched_percent"]) == (0, 0, 100)


def test_mean_is_unweighted_over_classes() -> None:
    per_class = {"few": score_class([SMALL]), "many": score_class([LARGE] * 9)}
    assert mean_over_classes(per_class)["accuracy"] == (1 + 1 / 4) / 2
    with pytest.raises(ValueError, match="no class"):
        mean_over_classes({})


@pytest.mark.parametrize(
    ("assignment", "message"),
    [([0, 2], "assignment.* not a matching"), ([-2, 0], "not a matching"), ([0], "shape")],
)
def test_an_assignment_that_is_no_mapping_is_an_error(assignment: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        count_matchings([SMALL, (np.array(assignment), np.array([0, 1]), 2)])


def test_a_target_used_twice_is_counted_but_is_no_matching() -> None:
    twice, truth = np.array([0, 0, -1]), np.array([0, 1, -1])
    (counts,) = count_matchings([(twice, truth, 2)])  # as row-wise decisions give
    assert counts[[MATCHED, CORRECT, TRUE]].tolist() == [2, 1, 2]
    with pytest.raises(ValueError, match=r"assignment .* not a matching"):
        check_matching(twice, 2)
    check_matching(twice, 2, one_to_one=False)
    with pytest.raises(ValueError, match=r"truth .* not a matching"):
        count_matchings([(truth, twice, 2)])


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32])
def test_batch_accuracy_is_the_share_of_true_matches_found(dtype: torch.dtype) -> None:
    match = [torch.eye(3, dtype=dtype), torch.zeros(2, 2, dtype=dtype)]
    truth = [torch.eye(3).bool(), torch.tensor([[True, False], [False, False]])]
    assert batch_accuracy(match, truth) == 3 / 4
    assert batch_accuracy(match, [torch.zeros(3, 3), torch.zeros(2, 2)]) == 1
