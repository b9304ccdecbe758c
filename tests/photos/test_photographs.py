"""Real photographs of Willow ObjectClass, matched by the model that comes with the package."""

from pathlib import Path

import numpy as np
import pytest

from bbgm.data.images.keypoints import FRAME
from bbgm.data.readers.willow import read_willow
from bbgm.photos import Model


@pytest.mark.parametrize(("cls", "least"), [("Duck", 6), ("Car", 7)])
def test_most_keypoints_are_right(willow_folder: Path, model: Model, cls: str, least: float) -> None:
    """Of ten keypoints; by chance one would be right."""
    images = read_willow(willow_folder, [cls])[0][cls][20:32]
    views, points = [], []
    for image in images:
        xy = (image.xy * np.array(image.size) / FRAME).clip(0, image.size)
        points.append(dict(zip(image.names, xy.tolist(), strict=True)))
        views.append(model.look(image.path, points[-1]))
    right = []
    for k in range(0, len(images), 2):
        match = model.match(views[k], points[k], views[k + 1], points[k + 1])
        assert match.optimal
        assert match.right is not None
        right.append(match.right.sum())
    assert np.mean(right) >= least
