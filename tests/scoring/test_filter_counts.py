"""What the filters do to a data set, counted by hand on three images."""

from pathlib import Path

import numpy as np
import pytest

from bbgm.config import ProtocolConfig
from bbgm.data.images.keypoints import Dataset, KeypointImage
from bbgm.scoring.filter_counts import differing_pair, filter_counts, percent_included

NAMES = {"small": "ab", "large": "abcd", "other": "cde"}


@pytest.fixture
def images() -> dict[str, KeypointImage]:
    return {
        name: KeypointImage(f"Cup/{name}", "Cup", Path(name), (9, 9), tuple(names), np.zeros((len(names), 2)))
        for name, names in NAMES.items()
    }


@pytest.fixture
def dataset(images: dict[str, KeypointImage]) -> Dataset:
    return Dataset("cups", {"Cup": ()}, {"Cup": (images["small"], images["large"])})


def test_counts_of_the_three_filters(dataset: Dataset) -> None:
    counts = filter_counts(dataset, ProtocolConfig(test_pairs_per_class=300)).loc["Cup"]
    intersection, inclusion, unfiltered = (counts.loc[name] for name in ("intersection", "inclusion", "unfiltered"))
    assert tuple(intersection) == (2, 2, 2, 0, 0, 0)
    # Either image is the source of half of the pairs; the larger one is within itself only.
    assert unfiltered["matches"] == 2
    assert unfiltered["unmatched"] == pytest.approx(100 * 2 / 6)
    assert unfiltered["source"] + unfiltered["target"] == pytest.approx(6)
    assert inclusion["unmatched source"] == 0
    assert inclusion["source"] == inclusion["matches"]
    large = (inclusion["source"] - 2) / 2
    assert 0.4 < large < 0.6
    assert 100 * large < inclusion["same image"] < 100


def test_share_of_pairs_that_inclusion_lets_through(images: dict[str, KeypointImage]) -> None:
    assert percent_included(list(images.values())) == pytest.approx(100 / 6)
    assert percent_included([images["small"], images["small"]]) == 100
    with pytest.raises(ValueError, match="1 images do not make a pair"):
        percent_included([images["small"]])


def test_the_chosen_pair_shows_what_a_filter_does(images: dict[str, KeypointImage]) -> None:
    three = list(images.values())
    assert differing_pair(three, included=True) == (images["small"], images["large"])
    source, target = differing_pair(three, included=False)
    assert {source.image_id, target.image_id} == {"Cup/small", "Cup/other"}
    with pytest.raises(ValueError, match="none of 2 images"):
        differing_pair([images["small"], images["large"]], included=False)
