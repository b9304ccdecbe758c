"""Trees in all formats, made once; the same random examples in every run."""

from pathlib import Path

import pytest
from bbgm_demo import make_trees
from bbgm_demo.formats.voc import Scene, read_scenes
from hypothesis import settings

SEED, IMAGES = 0, 8
"""Of the trees of the fixture ``trees``."""

# No limit on the time of one example: the machine may be busy.
settings.register_profile("bbgm", derandomize=True, deadline=None, database=None, max_examples=50)
settings.load_profile("bbgm")


@pytest.fixture(scope="session")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each format, for seed 0 and 8 images per class."""
    return make_trees(tmp_path_factory.mktemp("trees"), (), SEED, IMAGES)


@pytest.fixture(scope="session")
def scenes(trees: dict[str, Path]) -> list[Scene]:
    """What the renderer knows about the objects in the format of VOC."""
    return read_scenes(trees["voc"])
