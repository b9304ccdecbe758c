"""Pairs of images and their matchings: what is drawn. How it looks is judged by eye."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from bbgm import plotting
from bbgm.config import ProtocolConfig, make_data
from bbgm.data import open_dataset
from bbgm.data import test_pairs as draw_test_pairs
from bbgm.data.sampling.pairs import KeypointPair
from tests.support.figures import heights

N = 6


def match_lines(ax: Axes) -> list[Line2D]:
    """The lines between keypoints; the others are markers."""
    return [line for line in ax.lines if len(heights(line)) == 2 and line.get_linestyle() != "None"]


def test_right_is_green_and_solid_and_wrong_red_and_dashed(pair: KeypointPair) -> None:
    assignment = pair.truth.copy()
    first, second = np.flatnonzero(assignment >= 0)[:2]
    assignment[[first, second]] = assignment[[second, first]]
    figure = plotting.plot_matchings([pair], [assignment])
    styles = [(to_hex(line.get_color()).upper(), line.is_dashed()) for line in match_lines(figure.axes[0])]
    assert styles.count((plotting.RIGHT, False)) == N - 2
    assert styles.count((plotting.WRONG, True)) == 2
    assert figure.axes[0].get_title() == f"Cup: {N - 2} of {N}"


def test_lines_end_at_the_keypoints(pair: KeypointPair) -> None:
    ax = plotting.plot_matchings([pair], [pair.truth]).axes[0]
    ends = np.array([line.get_xydata() for line in match_lines(ax)])
    matched = pair.truth >= 0
    # The pictures are 60 x 40 px: squeezed to a square for the network, drawn as wide as they are.
    np.testing.assert_allclose(ends[:, 0], pair.source.xy[pair.kept1][matched] * [1.5, 1])
    target = pair.target.xy[pair.kept2][pair.truth[matched]] * [1.5, 1]
    np.testing.assert_allclose(ends[:, 1] - target, np.tile([1.5 * 256 + 16, 0], (N, 1)))


def test_a_part_of_a_picture_has_its_own_shape_and_a_view_is_square(pair: KeypointPair) -> None:
    upright = replace(pair.source, box=(10, 0, 30, 40))
    turned = replace(pair.target, view=(1, 0, 0, 0, 1, 0))
    ax = plotting.plot_matchings([replace(pair, source=upright, target=turned)], [pair.truth]).axes[0]
    extents = [tuple(image.get_extent()) for image in ax.images]
    assert extents == [(0, 128, 256, 0), (144, 400, 256, 0)]


def test_no_match_at_all_and_edges_can_be_drawn(pair: KeypointPair) -> None:
    figure = plotting.plot_matchings([pair], [np.full(N + 1, -1)], edges=True)
    assert not match_lines(figure.axes[0])
    assert figure.axes[0].get_title() == f"Cup: 0 of {N}"
    assert len(figure.axes[0].collections) == 4


@pytest.mark.parametrize("assignment", [[0], [99] * (N + 1), [-2] * (N + 1)])
def test_an_assignment_that_does_not_fit_is_refused(pair: KeypointPair, assignment: list[int]) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        plotting.plot_matchings([pair], [np.array(assignment)])


def test_a_gallery_needs_as_many_assignments_as_pairs(pair: KeypointPair) -> None:
    with pytest.raises(ValueError, match="2 pairs, 1 assignments"):
        plotting.plot_matchings([pair, pair], [pair.truth])
    with pytest.raises(ValueError, match="edges has 3 values for 2 pairs"):
        plotting.plot_matchings([pair, pair], [pair.truth] * 2, edges=[True, False, True])


def test_edges_are_drawn_in_the_cells_that_ask_for_them(pair: KeypointPair) -> None:
    figure = plotting.plot_matchings([pair, pair], [pair.truth] * 2, edges=[False, True])
    assert [any(isinstance(drawn, LineCollection) for drawn in ax.collections) for ax in figure.axes] == [False, True]


def test_pairs_of_real_images_are_drawn(willow_folder: Path, tmp_path: Path) -> None:
    protocol = ProtocolConfig(test_pairs_per_class=2)
    dataset = open_dataset(make_data(source="original", classes=("Duck",)), protocol)
    pairs = draw_test_pairs(dataset, protocol, "Duck")
    figure = plotting.plot_matchings(pairs, [pair.truth for pair in pairs], edges=True)
    assert [ax.get_title() for ax in figure.axes] == ["Duck: 10 of 10"] * 2
    for path in plotting.save_figure(figure, tmp_path / "duck"):
        assert path.stat().st_size > 10_000
