"""Pairs of a data set, matched as somebody's own pictures are: by their files and the positions of their keypoints."""

import numpy as np

from bbgm.config import load_run
from bbgm.data import KeypointImage, KeypointPair, open_dataset, test_pairs
from bbgm.photos.points import Points
from bbgm.photos.result import Match
from bbgm.photos.session import Model


def example_pairs(budget: str, each: int = 1) -> list[KeypointPair]:
    """The first test pairs of each class of a budget's Willow ObjectClass; none if its pictures are not there.

    Args:
        budget: "willow" has the real photographs, if ``BBGM_DATA`` names a folder with them.
        each: how many pairs of a class.

    Raises:
        ValueError: no such budget, or the data are damaged.
    """
    config = load_run("bbgm", budget, 0)
    try:
        dataset = open_dataset(config.data, config.protocol)
    except FileNotFoundError:
        return []
    return [pair for cls in dataset.classes for pair in test_pairs(dataset, config.protocol, cls)[:each]]


def match_pair(pair: KeypointPair, model: Model) -> Match:
    """The pair's keypoints matched by a model; the assignment has their order in the pair."""
    source, target = _points(pair.source, pair.kept1), _points(pair.target, pair.kept2)
    return model.match(pair.source.path, source, pair.target.path, target)


def _points(image: KeypointImage, kept: np.ndarray) -> Points:
    return Points(image.xy_in_file[kept], tuple(image.names[k] for k in kept))
