"""Metrics against counting with sets, and what relabelling must not change."""

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbgm.scoring.metrics import Matching, count_matchings, score, score_class


@st.composite
def matchings(draw: st.DrawFn) -> Matching:
    """(assignment, truth, n2): two random partial matchings of up to 7 x 7 keypoints."""
    n1, n2 = draw(st.integers(0, 7)), draw(st.integers(0, 7))

    def partial() -> np.ndarray:
        targets = draw(st.permutations([*range(n2), *[-1] * n1]))
        return np.array(targets[:n1], dtype=np.int32)

    return partial(), partial(), n2


def _edges(assignment: np.ndarray) -> set[tuple[int, int]]:
    return {(i, int(j)) for i, j in enumerate(assignment) if j >= 0}


@given(st.lists(matchings(), max_size=6))
def test_counts_are_those_of_sets(all_pairs: list[Matching]) -> None:
    expected = []
    for assignment, truth, n2 in all_pairs:
        found, true = _edges(assignment), _edges(truth)
        expected.append([len(true), len(found), len(found & true), len(truth), n2])
    counts = count_matchings(all_pairs)
    assert counts.shape == (len(all_pairs), 5)
    assert counts.tolist() == expected


@given(matchings(), st.randoms(use_true_random=False))
def test_order_of_keypoints_does_not_matter(matching: Matching, random: Random) -> None:
    assignment, truth, n2 = matching
    source, target = list(range(len(truth))), list(range(n2))
    random.shuffle(source)
    random.shuffle(target)
    renamed = np.array([*target, -1], dtype=np.int32)  # the last entry is that of index -1
    one, other = count_matchings([(renamed[assignment][source], renamed[truth][source], n2), matching])
    assert one.tolist() == other.tolist()


@given(st.lists(matchings(), max_size=6))
def test_scores_are_ratios_of_pooled_counts(all_pairs: list[Matching]) -> None:
    scores = score_class(all_pairs)
    found, true, right = 0, 0, 0
    for assignment, truth, _ in all_pairs:
        found += len(_edges(assignment))
        true += len(_edges(truth))
        right += len(_edges(assignment) & _edges(truth))
    assert scores["n_pairs"] == len(all_pairs)
    assert scores["accuracy"] == (right / true if true else 0)
    assert scores["precision"] == pytest.approx(right / found if found else 0, abs=1e-6)
    assert scores["recall"] == pytest.approx(scores["accuracy"], abs=1e-6)
    assert scores["f1"] == pytest.approx(2 * right / (found + true) if right else 0, abs=1e-6)
    assert 0 <= scores["unmatched_percent"] <= 100
    assert 0 <= scores["unmatched_source_percent"] <= 100


@given(st.lists(matchings(), max_size=6))
def test_order_of_pairs_does_not_matter(all_pairs: list[Matching]) -> None:
    assert score_class(all_pairs) == score_class(all_pairs[::-1])


def test_swapping_found_and_true_swaps_precision_and_recall() -> None:
    for found, true in product(range(4), repeat=2):
        for right in range(min(found, true) + 1):
            one = score(np.array([[true, found, right, 5, 5]]))
            other = score(np.array([[found, true, right, 5, 5]]))
            assert (one["precision"], one["recall"]) == (other["recall"], other["precision"])
            assert one["f1"] == other["f1"]
