"""Pairs of images: filter, order, randomness."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from bbgm.config import FilterName, ProtocolConfig
from bbgm.data import FILTERS, Dataset, make_pair, sample_training_batch
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.data.sampling.pairs import test_pairs as fixed_pairs
from bbgm.scoring.metrics import score_class
from tests.support.images import NAMES, bare_dataset, bare_image


def key(pair: KeypointPair) -> tuple[str, str, tuple[int, ...], tuple[int, ...]]:
    return pair.source.image_id, pair.target.image_id, tuple(pair.kept1), tuple(pair.kept2)


PROTOCOL = ProtocolConfig(test_pairs_per_class=200)


def test_truth_joins_the_same_names() -> None:
    source, target = bare_image("X", 0, tuple("abcdef")), bare_image("X", 1, tuple("fxdyb"))
    pair = make_pair(source, target, np.random.default_rng(0))
    assert {source.names[k] for k in pair.kept1} == {target.names[k] for k in pair.kept2} == set("bdf")
    assert pair.kept1.dtype == pair.kept2.dtype == pair.truth.dtype == np.int64
    for i, j in enumerate(pair.truth):
        assert source.names[pair.kept1[i]] == target.names[pair.kept2[j]]
    np.testing.assert_array_equal(pair.truth_matrix.argmax(axis=1), pair.truth)
    assert pair.truth_matrix.sum() == 3


def test_keypoints_without_partner_have_no_truth() -> None:
    pair = KeypointPair(bare_image("X", 0), bare_image("X", 1), np.array([3, 1, 2]), np.array([2, 7]))
    assert pair.truth.tolist() == [-1, -1, 0]
    assert pair.truth_matrix.tolist() == [[False, False], [False, False], [True, False]]


def test_unknown_filter_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'every' is not one of \['inclusion', 'intersection', 'unfiltered'\]"):
        make_pair(bare_image("X", 0), bare_image("X", 1), np.random.default_rng(0), "every")


def test_both_orders_are_shuffled_independently() -> None:
    """Every index is about equally often at every place, and no order tells the other."""
    pairs = fixed_pairs(bare_dataset(), ProtocolConfig(test_pairs_per_class=2000), "X")
    places = np.zeros((3, 10, 10))
    for pair in pairs:
        places[0, np.arange(10), pair.kept1] += 1
        places[1, np.arange(10), pair.kept2] += 1
        places[2, np.arange(10), pair.truth] += 1
    # Each of the 300 counts is binomial with mean 200 and deviation 13.4; five deviations.
    assert np.abs(places - 200).max() < 67


def test_training_batch_depends_on_its_arguments_only() -> None:
    data = bare_dataset()
    batch = [key(pair) for pair in sample_training_batch(data, PROTOCOL, 1, 2, 3, 8)]
    np.random.seed(0)  # noqa: NPY002  # must not matter
    sample_training_batch(data, PROTOCOL, 1, 2, 2, 8)
    assert [key(pair) for pair in sample_training_batch(data, PROTOCOL, 1, 2, 3, 8)] == batch
    for other in ((0, 2, 3), (1, 3, 3), (1, 2, 4), (2, 1, 3)):
        assert [key(pair) for pair in sample_training_batch(data, PROTOCOL, *other, 8)] != batch
    assert [key(pair) for pair in sample_training_batch(data, PROTOCOL, 1, 2, 3, 5)] == batch[:5]


def test_training_pairs_are_uniform_over_classes_and_images() -> None:
    data = bare_dataset()
    pairs = [pair for k in range(400) for pair in sample_training_batch(data, PROTOCOL, 0, 0, k, 8)]
    assert all(pair.source.image_id != pair.target.image_id for pair in pairs)
    assert all(pair.source in data.train[pair.target.cls] for pair in pairs)
    classes = Counter(pair.source.cls for pair in pairs)
    assert all(abs(classes[cls] - 3200 / 3) < 5 * 26.7 for cls in "XYZ")
    combinations = Counter((pair.source.image_id, pair.target.image_id) for pair in pairs)
    assert len(combinations) == 3 * 5 * 4  # both directions of each
    assert max(combinations.values()) < 53 + 5 * 7.3


def test_test_pairs_are_fixed_by_their_seed() -> None:
    """The seed of a run, the other classes and their order do not matter; the class does."""
    expected = [key(pair) for pair in fixed_pairs(bare_dataset("XYZ"), PROTOCOL, "Y")]
    assert len(expected) == 200
    assert [key(pair) for pair in fixed_pairs(bare_dataset("YX"), PROTOCOL, "Y")] == expected
    other = ProtocolConfig(test_pairs_per_class=200, test_seed=124)
    assert [key(pair) for pair in fixed_pairs(bare_dataset(), other, "Y")] != expected
    assert [pair[2] for pair in map(key, fixed_pairs(bare_dataset(), PROTOCOL, "X"))] != [pair[2] for pair in expected]
    fewer = ProtocolConfig(test_pairs_per_class=10)
    assert [key(pair) for pair in fixed_pairs(bare_dataset(), fewer, "Y")] == expected[:10]
    assert all(pair[0] != pair[1] for pair in expected)
    images = {image.image_id for image in bare_dataset().test["Y"]}
    assert {pair[0] for pair in expected} == {pair[1] for pair in expected} == images


def test_pairs_with_too_few_common_keypoints_are_drawn_again() -> None:
    members = (
        bare_image("X", 0, tuple("abc")),
        bare_image("X", 1, tuple("bcd")),
        bare_image("X", 2, tuple("cde")),
    )
    data = Dataset("d", {"X": members}, {"X": members})
    pairs = fixed_pairs(data, ProtocolConfig(test_pairs_per_class=50), "X")
    assert all(len(pair.kept1) == len(pair.kept2) >= 2 for pair in pairs)
    assert {frozenset((pair.source.image_id, pair.target.image_id)) for pair in pairs} == {
        frozenset(("X/0", "X/1")), frozenset(("X/1", "X/2")),
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"class X with 4 keypoints or more .*lower protocol\.min_keypoints"):
        fixed_pairs(data, ProtocolConfig(min_keypoints=4), "X")


def test_without_a_filter_everything_is_kept_and_pairs_without_common_keypoints_stay() -> None:
    members = (
        bare_image("X", 0, tuple("abc")),
        bare_image("X", 1, tuple("de")),
        bare_image("X", 2, ()),
        bare_image("X", 3, tuple("bcd")),
    )
    data = Dataset("d", {"X": members}, {"X": members})
    pairs = fixed_pairs(data, ProtocolConfig(filter="unfiltered", test_pairs_per_class=100), "X")
    for pair in pairs:
        assert sorted(pair.kept1) == list(range(len(pair.source.names)))
        assert sorted(pair.kept2) == list(range(len(pair.target.names)))
    # Only an image without any keypoint is drawn again.
    assert {frozenset((pair.source.image_id, pair.target.image_id)) for pair in pairs} == {
        frozenset(("X/0", "X/1")), frozenset(("X/0", "X/3")), frozenset(("X/1", "X/3")),
    }  # fmt: skip
    assert any((pair.truth == -1).all() for pair in pairs)


def subsets() -> Dataset:
    """Images whose names contain one another: X/0 within X/1 within X/2; X/3 within none other, X/4 without any."""
    names = [tuple("ab"), tuple("bac"), tuple("dcba"), tuple("xy"), ()]
    members = tuple(bare_image("X", k, one) for k, one in enumerate(names))
    return Dataset("d", {"X": members}, {"X": members})


def test_inclusion_takes_any_source_and_any_target_that_contains_it() -> None:
    """Counts of 4000 pairs against the authors' rule; training draws as testing does."""
    data = subsets()
    protocol = ProtocolConfig(filter="inclusion", test_pairs_per_class=4000)
    test = fixed_pairs(data, protocol, "X")
    train = [pair for k in range(500) for pair in sample_training_batch(data, protocol, 0, 0, k, 8)]
    containing = {0: (0, 1, 2), 1: (1, 2), 2: (2,), 3: (3,)}  # an image contains itself
    for pairs in (test, train):
        drawn = Counter((int(pair.source.image_id[2:]), int(pair.target.image_id[2:])) for pair in pairs)
        assert drawn.keys() == {(source, target) for source, targets in containing.items() for target in targets}
        for (source, _), n in drawn.items():
            share = 1 / 4 / len(containing[source])  # a source without a keypoint is drawn again
            assert abs(n - 4000 * share) < 5 * np.sqrt(4000 * share * (1 - share))


def test_inclusion_keeps_what_the_target_has_more_and_leaves_no_source_keypoint_alone() -> None:
    for pair in fixed_pairs(subsets(), ProtocolConfig(filter="inclusion", test_pairs_per_class=50), "X"):
        assert sorted(pair.kept1) == list(range(len(pair.source.names)))
        assert sorted(pair.kept2) == list(range(len(pair.target.names)))
        assert (pair.truth >= 0).all()
        assert [pair.target.names[pair.kept2[j]] for j in pair.truth] == [pair.source.names[k] for k in pair.kept1]


def test_both_readings_of_unmatched_agree_unless_inclusion_filters() -> None:
    """Alike where source and target are drawn alike; under inclusion no source keypoint is without a partner."""
    names = [tuple(name for name in NAMES if (k >> "abcdefghij".index(name)) & 1 or name in "ab") for k in range(1024)]
    members = tuple(bare_image("X", k, names[k]) for k in range(0, 1024, 7))
    data = Dataset("d", {"X": members}, {"X": members})
    shares = {}
    for keypoint_filter in FILTERS:
        protocol = ProtocolConfig.model_validate({"filter": keypoint_filter, "test_pairs_per_class": 2000})
        pairs = fixed_pairs(data, protocol, "X")
        scores = score_class((pair.truth, pair.truth, len(pair.kept2)) for pair in pairs)
        shares[keypoint_filter] = scores["unmatched_percent"], scores["unmatched_source_percent"]
    assert shares["intersection"] == (0, 0)
    assert shares["unfiltered"] == pytest.approx((400 / 12, 400 / 12), abs=1)
    assert shares["inclusion"][0] > 10
    assert shares["inclusion"][1] == 0


@pytest.mark.parametrize("name", ["inclusion", "unfiltered"])
def test_images_without_a_keypoint_give_no_pair(name: FilterName) -> None:
    """The error names what can be changed: hidden keypoints only where some were hidden."""
    nothing = (bare_image("X", 0, ()), bare_image("X", 1, ()))
    data, protocol = Dataset("d", {"X": nothing}, {"X": nothing}), ProtocolConfig(filter=name)
    expected = rf"test part gave no pair of class X with 1 keypoints or more after the filter '{name}': "
    with pytest.raises(ValueError, match=expected + r"leave the class out with data\.classes$"):
        fixed_pairs(data, protocol, "X")
    with pytest.raises(ValueError, match=expected + r"lower data\.hidden_keypoints, or leave the class out"):
        fixed_pairs(replace(data, hidden=0.2), protocol, "X")


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_wrong_labels_are_a_share_of_the_true_matches_and_nothing_else(share: float) -> None:
    dataset = bare_dataset()
    clean, wrong, total = ProtocolConfig(), 0, 0
    noisy = clean.model_copy(update={"wrong_labels": share})
    for iteration in range(60):
        before = sample_training_batch(dataset, clean, 0, 0, iteration, 8)
        after = sample_training_batch(dataset, noisy, 0, 0, iteration, 8)
        again = sample_training_batch(dataset, noisy, 0, 0, iteration, 8)
        for one, other, same in zip(before, after, again, strict=True):
            assert key(one) == key(other)
            assert sorted(other.truth) == sorted(one.truth)  # still a matching of the same keypoints
            np.testing.assert_array_equal(other.truth, same.truth)
            wrong += (one.truth != other.truth).sum()
            total += len(one.truth)
    assert wrong / total == pytest.approx(share, abs=0.02)
    test = fixed_pairs(dataset, noisy, dataset.classes[0])[0]
    assert test.labels2 == ()
