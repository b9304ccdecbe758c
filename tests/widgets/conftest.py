"""A rendered pair with its keypoints, in the editor."""

import pytest

from bbgm.config import load_run
from bbgm.data import KeypointPair, open_dataset, test_pairs
from bbgm.widgets import MatchingEditor, points_in_file


@pytest.fixture(scope="session")
def pair() -> KeypointPair:
    """A pair that the model matches completely, but not without its edges."""
    config = load_run("bbgm", "smoke", 0, dataset="willow")
    return test_pairs(open_dataset(config.data, config.protocol), config.protocol, "Duck")[3]


@pytest.fixture
def editor(pair: KeypointPair) -> MatchingEditor:
    source, target = pair.source, pair.target
    return MatchingEditor(source.path, points_in_file(source), target.path, points_in_file(target))
