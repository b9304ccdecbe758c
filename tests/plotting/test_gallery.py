"""Several methods on one pair."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from bbgm import plotting
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.methods.base import Evidence
from tests.support.images import grey_image


@pytest.fixture
def pair(tmp_path: Path) -> KeypointPair:
    """Six common keypoints, and one more that only the source has."""
    rng = np.random.default_rng(0)
    images = [grey_image(tmp_path, name, rng.uniform(10, 246, (count, 2))) for name, count in (("a", 7), ("b", 6))]
    return KeypointPair(images[0], images[1], rng.permutation(7), rng.permutation(6))


def test_true_matches_are_on_the_diagonal_and_matches_are_squares_in_their_colour(pair: KeypointPair) -> None:
    soft = pair.truth_matrix * 0.8 + 0.02
    wrong = pair.truth.copy()
    first, second = np.flatnonzero(wrong >= 0)[:2]
    wrong[[first, second]] = wrong[[second, first]]
    seen = {"good": Evidence(10 * soft, soft), "bad": Evidence(soft)}
    figure = plotting.plot_methods(pair, seen, {"good": pair.truth, "bad": wrong})
    good, bad = np.array(figure.axes).reshape(2, 3)
    drawn = good[1].images[0].get_array()
    assert np.allclose(np.diag(drawn[:6]), 0.82)
    assert np.allclose(good[0].images[0].get_array(), 10 * drawn)
    for axes, right in ((good, 6), (bad, 4)):
        squares = [one for one in axes[1].patches if isinstance(one, Rectangle)]
        colours = [to_hex(one.get_edgecolor()).upper() for one in squares]
        assert len(squares) == 6
        assert colours.count(plotting.RIGHT.upper()) == right
        on_diagonal = sum(one.get_xy()[0] == one.get_xy()[1] for one in squares)
        assert on_diagonal == right
    assert [axes[0].get_ylabel() for axes in (good, bad)] == ["good", "bad"]


def test_methods_must_agree(pair: KeypointPair) -> None:
    with pytest.raises(ValueError, match="give the same methods"):
        plotting.plot_methods(pair, {"a": Evidence(np.zeros((7, 6)))}, {"b": pair.truth})


def test_images_show_each_keypoint_in_one_colour(tmp_path: Path) -> None:
    spots = np.array([(20.0, 30.0), (200.0, 100.0), (90.0, 220.0)])
    one = grey_image(tmp_path, "a", spots)
    other = replace(one, names=one.names[::-1], xy=spots[::-1] + 5)
    figure = plotting.plot_images([one, other], columns=3)
    first, second = (ax.collections[0] for ax in figure.axes[:2])
    np.testing.assert_array_equal(first.get_offsets(), spots)
    np.testing.assert_array_equal(second.get_offsets(), spots[::-1] + 5)
    np.testing.assert_array_equal(first.get_facecolors(), second.get_facecolors()[::-1])
    assert len({tuple(colour) for colour in first.get_facecolors()}) == 3
    with pytest.raises(ValueError, match="no images to draw"):
        plotting.plot_images([])
