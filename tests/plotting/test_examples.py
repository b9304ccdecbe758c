"""Figures of examples: what the filters keep, the typical matchings of a run, the curves of many methods."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.lines import Line2D

from bbgm import plotting
from bbgm.data import Dataset
from bbgm.data.images.keypoints import KeypointImage
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.plotting.filtering import MARKS
from bbgm.scoring.predictions import Prediction
from tests.support.images import grey_image

NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture
def images(tmp_path: Path) -> tuple[KeypointImage, KeypointImage]:
    """The source has a, b, c, d and the target b, c, d, e."""
    xy = np.random.default_rng(0).uniform(20, 236, (2, 4, 2))
    return grey_image(tmp_path, "1", xy[0], NAMES[:4]), grey_image(tmp_path, "2", xy[1], NAMES[1:])


def prediction(assignment: list[int], cls: str = "Cup") -> Prediction:
    """Three true matches: b, c and d."""
    four, truth = np.arange(4), np.array([-1, 0, 1, 2])
    return Prediction(cls, "Cup/1", "Cup/2", "", four, four, np.array(assignment), truth)


def shown(lines: list[Line2D], marker: str) -> int:
    """Keypoints that are drawn with a marker, without the legend's."""
    return sum(len(np.asarray(line.get_xdata())) for line in lines if line.get_marker() == marker)


def test_each_keypoint_is_kept_with_or_without_partner_or_left_out(
    images: tuple[KeypointImage, KeypointImage], tmp_path: Path
) -> None:
    everything = KeypointPair(*images, np.arange(4), np.arange(4))
    common = KeypointPair(*images, np.array([2, 1, 3]), np.array([0, 1, 2]))
    figure = plotting.plot_filters({"intersection": common, "unfiltered": everything})
    with_partner, without, left_out = (look["marker"] for look in MARKS.values())
    first, second = (list(ax.lines) for ax in figure.axes)
    ends = 2 * 3  # each match line has dots of its own at its ends
    assert shown(first, with_partner) == shown(second, with_partner) == 6 + ends
    assert (shown(first, without), shown(second, without)) == (0, 2)
    assert (shown(first, left_out), shown(second, left_out)) == (2, 0)
    assert figure.axes[0].get_title() == "intersection: 3 and 3 keypoints"
    assert len({look["marker"] for look in MARKS.values()}) == len(MARKS), "told apart without colours"
    again = plotting.plot_filters({"intersection": common, "unfiltered": everything})
    files = [plotting.save_figure(one, tmp_path / name) for one, name in ((figure, "one"), (again, "two"))]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
    with pytest.raises(ValueError, match="no pair"):
        plotting.plot_filters({})


def test_the_typical_pair_is_the_median_and_the_first_of_equals() -> None:
    none, one, two, all_three = [0, -1, -1, -1], [-1, 0, 2, 1], [3, 0, 1, -1], [-1, 0, 1, 2]
    predictions = [prediction(x) for x in (all_three, none, two, one, two)] + [prediction(none, "Mug")]
    assert plotting.typical_predictions(predictions) == [predictions[2], predictions[5]]
    empty = replace(predictions[0], truth=np.full(4, -1))
    assert plotting.typical_predictions([empty, predictions[1]]) == [predictions[1]]
    assert plotting.typical_predictions([]) == []


def test_the_gallery_draws_the_predictions_of_a_run(images: tuple[KeypointImage, KeypointImage]) -> None:
    dataset = Dataset("cups", {"Cup": ()}, {"Cup": images})
    figure = plotting.plot_gallery(dataset, [prediction([-1, 0, 2, 1])])
    assert figure.axes[0].get_title() == "Cup: 1 of 3"
    with pytest.raises(ValueError, match="Cup/2 is not a test image"):
        plotting.plot_gallery(Dataset("cups", {"Cup": ()}, {"Cup": images[:1]}), [prediction([-1, 0, 2, 1])])


def test_eight_methods_have_eight_looks_and_a_legend_that_hides_none() -> None:
    run = pd.DataFrame({"epoch": 1, "iteration": np.arange(1, 9), "loss": 1.0, "accuracy": 0.5})
    figure = plotting.plot_learning_curves({f"method {k}": [run] for k in range(8)})
    looks = {(line.get_color(), str(line._dash_pattern)) for line in figure.axes[0].lines}
    assert len(looks) == 8
    assert len({dashes for _, dashes in looks}) == 8, "told apart without colours"
    assert figure.axes[1].get_legend() is None
    assert len(figure.legends[0].get_texts()) == 8
