"""The figure of a broken cycle: which one is drawn, and from where to where its lines go."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from bbgm import plotting
from bbgm.data import Dataset
from bbgm.plotting.cycle import place_triple
from bbgm.plotting.style import AGREES, DEMANDS
from bbgm.scoring.cycles import most_repaired
from bbgm.scoring.predictions import SetPrediction
from tests.support.images import grey_image

Triple = tuple[Dataset, list[SetPrediction]]


@pytest.fixture
def triple(tmp_path: Path) -> Triple:
    """Three images of three keypoints. Alone, those of q and r are confused; jointly, two of each are right."""
    places = {name: np.random.default_rng(ord(name)).uniform(10, 246, (3, 2)) for name in "abc"}
    images = [grey_image(tmp_path, name, xy, ("x", "y", "z")) for name, xy in places.items()]
    three, found = np.arange(3), {(0, 1): [0, 1, 2], (0, 3): [0, 1, -1], (1, 3): [1, 0, -1]}
    predictions = [
        SetPrediction("Cup", f"Cup/{'ab?c'[p]}", f"Cup/{'ab?c'[q]}", "", three, three, np.array(match), three, 4, p, q,
                      np.array([0, 1, -1]))
        for (p, q), match in found.items()
    ]  # fmt: skip
    return Dataset("cups", {"Cup": ()}, {"Cup": tuple(images)}), predictions


def lines(ax: Axes, data: Dataset) -> set[tuple[str, bool, frozenset[tuple[int, int]]]]:
    """Colour, dashed or not, and both ends (image, keypoint) of each line."""
    places = {
        tuple(np.round(point, 6)): (image, node)
        for image, (one, place) in enumerate(zip(data.test["Cup"], place_triple(data.test["Cup"]), strict=True))
        for node, point in enumerate(place(one.xy))
    }
    drawn = [line for line in ax.lines if len(np.asarray(line.get_xdata())) == 2 and line.get_linestyle() != "None"]
    return {
        (
            to_hex(line.get_color()).upper(),
            line.is_dashed(),
            frozenset(places[tuple(np.round(end, 6))] for end in np.asarray(line.get_xydata())),
        )
        for line in drawn
    }


def test_two_matches_demand_a_third_and_jointly_they_have_it(triple: Triple) -> None:
    """The first broken cycle with three right joint matches is that of the keypoints x, and p is in its middle."""
    data, predictions = triple
    figure = plotting.plot_cycle(data, predictions)
    alone, joint = figure.axes
    assert lines(alone, data) == {
        (DEMANDS, False, frozenset({(1, 0), (0, 0)})),
        (DEMANDS, False, frozenset({(0, 0), (2, 0)})),
        (plotting.WRONG, True, frozenset({(1, 0), (2, 1)})),
        (plotting.WRONG, True, frozenset({(2, 0), (1, 1)})),
    }
    assert lines(joint, data) == {(AGREES, False, frozenset({(a, 0), (b, 0)})) for a, b in ((0, 1), (0, 2), (1, 2))}
    assert alone.get_title() == "each pair alone: 7 matches, 5 right,\n6 in a broken cycle"
    assert joint.get_title() == "jointly: 6 matches, 6 right,\nnone in a broken cycle"
    assert most_repaired(predictions) == tuple(predictions)


def test_a_cycle_needs_three_pairs_of_one_set_and_their_images(triple: Triple) -> None:
    data, predictions = triple
    with pytest.raises(ValueError, match=r"\('Cup', 4, 0, 1\).* are not the three pairs"):
        plotting.plot_cycle(data, predictions[:2])
    with pytest.raises(ValueError, match="are not the three pairs"):
        plotting.plot_cycle(data, [*predictions[:2], replace(predictions[2], number=5)])
    with pytest.raises(ValueError, match="Cup/a is not a test image"):
        plotting.plot_cycle(Dataset("cups", {"Cup": ()}, {"Cup": data.test["Cup"][1:]}), predictions)
    agreed = [replace(one, assignment=one.joint) for one in predictions]
    with pytest.raises(ValueError, match="do not contradict each other"):
        plotting.plot_cycle(data, agreed)


def test_three_pictures_do_not_overlap_and_keep_their_shapes(triple: Triple) -> None:
    one, two, three = triple[0].test["Cup"]
    for images in ([one, two, three], [replace(one, box=(0, 0, 10, 40)), replace(two, box=(0, 0, 10, 40)), three]):
        places = place_triple(images)
        assert [round(place.width / 256, 6) for place in places[2:]] == [1.5]
        assert places[0].extent[1] < places[1].extent[0]
        assert min(place.left for place in places) == 0
        assert max(place.extent[2] for place in places[:2]) < places[2].extent[3]
