"""Example matchings of a run: for each class a typical test pair (the paper's Fig. 1 and last figure)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bbgm.data.images.keypoints import Dataset
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.plotting.matching import plot_matchings
from bbgm.plotting.style import WIDTH
from bbgm.scoring.predictions import Prediction

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def typical_predictions(predictions: Sequence[Prediction]) -> list[Prediction]:
    """For each class the median of its test pairs, sorted by the share of right matches.

    Among equals the first is taken; pairs without a true match are left out. Classes come in the order of their first
    pairs.
    """
    found = []
    for cls in dict.fromkeys(one.cls for one in predictions):
        group = [one for one in predictions if one.cls == cls and (one.truth >= 0).any()]
        shares = np.array([np.mean((one.assignment == one.truth)[one.truth >= 0]) for one in group])
        if len(group):
            median = np.sort(shares)[(len(shares) - 1) // 2]
            found.append(group[int(np.flatnonzero(shares == median)[0])])
    return found


def plot_gallery(
    dataset: Dataset, predictions: Sequence[Prediction], *, columns: int = 3, width: float = WIDTH
) -> "Figure":
    """Draw predictions, one per cell, as :func:`bbgm.plotting.plot_matchings` does.

    Args:
        dataset: contains the images, in its test part.
        predictions: e.g. those of :func:`typical_predictions`.

    Raises:
        ValueError: no predictions, or an image is not in the data set.
    """
    pairs = [_pair_of(dataset, one) for one in predictions]
    return plot_matchings(pairs, [one.assignment for one in predictions], columns=columns, width=width)


def _pair_of(dataset: Dataset, prediction: Prediction) -> KeypointPair:
    images = {image.image_id: image for image in dataset.images(prediction.cls, "test")}
    names = prediction.source, prediction.target
    if absent := [name for name in names if name not in images]:
        raise ValueError(f"{absent[0]} is not a test image of this data set: open the one that the run was made with")
    return KeypointPair(images[names[0]], images[names[1]], prediction.kept1, prediction.kept2, prediction.difficulty)
