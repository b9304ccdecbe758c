"""Sets of images for joint matching, and keypoints left out."""

import numpy as np
import pytest

from bbgm.config import ProtocolConfig, load_run
from bbgm.data import Dataset, KeypointSet, open_dataset
from bbgm.data import test_sets as fixed_sets
from bbgm.data.images.hidden import hide_keypoints
from tests.support.images import NAMES, bare_dataset, bare_image


def protocol(**settings: int) -> ProtocolConfig:
    return ProtocolConfig(filter="unfiltered", **{"test_sets_per_class": 200, **settings})


def key(one: KeypointSet) -> list[tuple[str, tuple[int, ...]]]:
    return [(image.image_id, tuple(kept)) for image, kept in zip(one.images, one.kept, strict=True)]


def test_distinct_test_images_with_all_keypoints_in_orders_of_their_own() -> None:
    sets = fixed_sets(bare_dataset(), protocol(), "X")
    assert len(sets) == 200
    tested = {image.image_id for image in bare_dataset().test["X"]}
    for one in sets:
        ids = [image.image_id for image in one.images]
        assert len(set(ids)) == 5
        assert set(ids) <= tested
        assert all(sorted(kept) == list(range(10)) for kept in one.kept)
    first = {one.images[0].image_id for one in sets}, {one.images[1].image_id for one in sets}
    assert first == (tested, tested)
    assert len({tuple(kept) for one in sets for kept in one.kept}) > 990


def test_pairs_of_a_set_share_its_orders() -> None:
    one = fixed_sets(bare_dataset(), protocol(set_size=4), "X")[0]
    pairs = one.pairs()
    assert list(pairs) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    for (p, q), pair in pairs.items():
        assert (pair.source, pair.target) == (one.images[p], one.images[q])
        assert pair.kept1 is one.kept[p]
        assert pair.kept2 is one.kept[q]
    # The true matchings are consistent: what a joint solution must be able to reach.
    i_to_j, j_to_k, i_to_k = (pairs[pair].truth for pair in ((0, 1), (1, 2), (0, 2)))
    np.testing.assert_array_equal(j_to_k[i_to_j], i_to_k)


def test_sets_are_fixed_by_the_test_seed() -> None:
    expected = [key(one) for one in fixed_sets(bare_dataset("XYZ"), protocol(), "Y")]
    assert [key(one) for one in fixed_sets(bare_dataset("YX"), protocol(), "Y")] == expected
    assert [key(one) for one in fixed_sets(bare_dataset(), protocol(test_sets_per_class=7), "Y")] == expected[:7]
    assert [key(one) for one in fixed_sets(bare_dataset(), protocol(test_seed=1), "Y")] != expected
    assert [one[0][1] for one in expected] != [key(one)[0][1] for one in fixed_sets(bare_dataset(), protocol(), "X")]


def test_images_without_keypoints_are_drawn_again_and_too_few_images_are_named() -> None:
    members = tuple(bare_image("X", k, NAMES[: min(k, 3)]) for k in range(5))
    data = Dataset("d", {"X": members}, {"X": members})
    sets = fixed_sets(data, protocol(set_size=4), "X")
    assert all(len(kept) for one in sets for kept in one.kept)
    with pytest.raises(ValueError, match=r"no 5 test images of class X with a keypoint each: leave the class out"):
        fixed_sets(data, protocol(), "X")
    with pytest.raises(ValueError, match=r"class X has 5 test images, protocol\.set_size is 6: lower it"):
        fixed_sets(data, protocol(set_size=6), "X")


def test_sets_with_a_filter_are_refused() -> None:
    with pytest.raises(ValueError, match="test_sets_per_class is for the filter 'unfiltered'"):
        load_run("bbgm", "smoke", 0, protocol={"test_sets_per_class": 3})


def test_hidden_keypoints_depend_on_image_and_seed_alone() -> None:
    images = {cls: tuple(bare_image(cls, k) for k in range(300)) for cls in "XY"}
    hidden = hide_keypoints(images, 0.25, 0)
    left = [len(one.names) for one in hidden["X"]]
    assert abs(np.mean(left) - 7.5) < 5 * np.sqrt(10 * 0.25 * 0.75 / 300)
    assert np.var(left) == pytest.approx(10 * 0.25 * 0.75, rel=0.4)  # each by itself
    for one, whole in zip(hidden["X"], images["X"], strict=True):
        assert one.image_id == whole.image_id
        assert set(one.names) <= set(NAMES)
        np.testing.assert_array_equal(one.xy, whole.xy[[NAMES.index(name) for name in one.names]])
    names = [one.names for one in hidden["X"]]
    assert names == [one.names for one in hide_keypoints({"X": images["X"]}, 0.25, 0)["X"]]
    assert names != [one.names for one in hide_keypoints(images, 0.25, 1)["X"]]
    assert names != [one.names for one in hidden["Y"]]
    more = hide_keypoints(images, 0.5, 0)["X"]
    assert all(set(one.names) <= set(other) for one, other in zip(more, names, strict=True))
    assert hide_keypoints(images, 0, 0) == images


def test_the_demo_data_have_unmatched_keypoints_in_the_unfiltered_setting_only() -> None:
    """About as many as Pascal VOC (22.7 %); the objects, and the filtered setting, are what they were."""
    shares = {}
    for name in ("unfiltered", "intersection"):
        config = load_run("bbgm", "smoke", 0, protocol={"filter": name})
        data = open_dataset(config.data, config.protocol)
        counts = [len(image.names) for part in (data.train, data.test) for one in part.values() for image in one]
        shares[name] = 1 - np.mean(counts) / 10
        assert len(counts) == 200
        assert min(counts) >= 1
    assert shares["intersection"] == 0
    assert 0.2 < shares["unfiltered"] < 0.3
