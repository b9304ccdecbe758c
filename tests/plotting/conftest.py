"""A pair of images to draw."""

from pathlib import Path

import numpy as np
import pytest

from bbgm.data.sampling.pairs import KeypointPair
from tests.support.images import grey_image


@pytest.fixture
def pair(tmp_path: Path) -> KeypointPair:
    """Two grey images with six common keypoints, and one more that only the source has."""
    generator = np.random.default_rng(0)
    images = [
        grey_image(tmp_path, name, generator.uniform(10, 246, (count, 2))) for name, count in (("a", 7), ("b", 6))
    ]
    return KeypointPair(images[0], images[1], generator.permutation(7), generator.permutation(6))
