"""Images of noise with random keypoints, and pairs of them: all that a network needs to compute."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bbgm.data.images.keypoints import KeypointImage
from bbgm.data.sampling.pairs import KeypointPair

MakePair = Callable[..., KeypointPair]


@pytest.fixture(scope="session")
def random_images(tmp_path_factory: pytest.TempPathFactory) -> list[KeypointImage]:
    """Four images, ten named keypoints each."""
    folder = tmp_path_factory.mktemp("images")
    result = []
    for k in range(4):
        rng = np.random.default_rng(k)
        coarse = Image.fromarray(rng.integers(256, size=(9, 9, 3), dtype=np.uint8)).resize((90, 70))
        coarse.save(folder / f"{k}.png")
        names = tuple(f"k{i}" for i in range(10))
        xy = rng.uniform(10, 246, (10, 2))
        result.append(KeypointImage(f"Car/{k}", "Car", folder / f"{k}.png", (90, 70), names, xy))
    return result


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of features."""
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def images(random_images: list[KeypointImage], cache: Path) -> list[KeypointImage]:
    """Four images, whose features no cache has."""
    return random_images


@pytest.fixture
def make_pair(images: list[KeypointImage]) -> MakePair:
    """A pair of the i-th and the j-th image with n1 and n2 keypoints, drawn and put in order by the seed."""

    def make(i: int, j: int, n1: int = 10, n2: int = 10, seed: int = 0) -> KeypointPair:
        rng = np.random.default_rng([seed, i, j])
        return KeypointPair(images[i], images[j], rng.permutation(10)[:n1], rng.permutation(10)[:n2])

    return make


@pytest.fixture
def pairs(make_pair: MakePair) -> list[KeypointPair]:
    """Different sizes, repeated images and graphs, a pair of one keypoint, and one of two."""
    shapes = [(0, 1, 10, 10), (1, 0, 10, 10), (0, 2, 7, 5), (2, 3, 3, 9), (3, 3, 1, 4), (1, 2, 2, 2), (0, 1, 10, 10)]
    return [make_pair(*shape, seed=k) for k, shape in enumerate(shapes)]
