"""Pairs of a data set, matched as somebody's own pictures are: by their files and the positions of their keypoints."""

import numpy as np

from bbgm.config import load_run
from bbgm.data import FRAME, KeypointImage, KeypointPair, open_dataset, test_pairs
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
    source, target = points_of(pair.source, pair.kept1), points_of(pair.target, pair.kept2)
    return model.match(pair.source.path, source, pair.target.path, target)


def points_of(image: KeypointImage, kept: np.ndarray) -> Points:
    """Some keypoints of an image, with their names, in px of its file."""
    left, upper, right, lower = image.box or (0, 0, *image.size)
    scale = np.array([right - left, lower - upper]) / FRAME
    return Points(image.xy[kept] * scale + [left, upper], tuple(image.names[k] for k in kept))
