"""Rendered pictures with named keypoints, and the model that comes with the package."""

from pathlib import Path

import numpy as np
import pytest

from bbgm.config import load_run
from bbgm.data import KeypointImage, open_dataset
from bbgm.data.images.keypoints import FRAME
from bbgm.photos import Model

Drawn = tuple[Path, dict[str, tuple[float, float]]]


@pytest.fixture(scope="session")
def images() -> list[KeypointImage]:
    """Three test images of a class of the demo data, each the whole picture."""
    config = load_run("bbgm", "smoke", 0, dataset="willow", data={"classes": ["Car"]})
    return list(open_dataset(config.data, config.protocol).test["Car"][:3])


@pytest.fixture(scope="session")
def drawn(images: list[KeypointImage]) -> list[Drawn]:
    """Their files, and their keypoints in px of the file."""
    return [
        (
            image.path,
            dict(zip(image.names, map(tuple, (image.xy * np.array(image.size) / FRAME).tolist()), strict=True)),
        )
        for image in images
    ]


@pytest.fixture(scope="session")
def model() -> Model:
    return Model()
