"""A data set that is small enough to enumerate."""

from dataclasses import replace

import pytest

from bbgm.data.images.keypoints import Dataset
from tests.support.harg import part_of


@pytest.fixture
def small_dataset(images):
    """Eight images with 4 or 5 of 6 keypoints: a model graph of 6 nodes."""
    six = [part_of(replace(x, names=x.names[:6], xy=x.xy[:6]), 4 + k % 2, k) for k, x in enumerate([*images, *images])]
    return Dataset("small", {"Car": tuple(six)}, {"Car": tuple(six)})
