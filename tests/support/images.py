"""Images for tests that look at keypoints alone."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from bbgm.data import Dataset
from bbgm.data.images.keypoints import KeypointImage

NAMES = tuple("abcdefghij")


def grey_image(folder: Path, name: str, xy: np.ndarray, names: Sequence[str] = ()) -> KeypointImage:
    """A grey picture of the class Cup with keypoints xy (n, 2); without names they are k0, k1, ..."""
    path = folder / f"{name}.png"
    Image.new("RGB", (60, 40), "grey").save(path)
    names = tuple(names) or tuple(f"k{k}" for k in range(len(xy)))
    return KeypointImage(f"Cup/{name}", "Cup", path, (60, 40), names, xy)


def bare_image(cls: str, number: int, names: Sequence[str] = NAMES) -> KeypointImage:
    """An image whose file nobody reads, with random keypoints; its number is the seed."""
    xy = np.random.default_rng(number).uniform(0, 256, (len(names), 2))
    return KeypointImage(f"{cls}/{number}", cls, Path(f"{cls}{number}.png"), (256, 256), tuple(names), xy)


def bare_dataset(classes: str = "XYZ") -> Dataset:
    """Five training images, 0 to 4, and seven test images, 5 to 11, of each class."""
    train = {cls: tuple(bare_image(cls, k) for k in range(5)) for cls in classes}
    return Dataset("d", train, {cls: tuple(bare_image(cls, k) for k in range(5, 12)) for cls in classes})
