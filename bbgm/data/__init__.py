"""Data sets: readers of the original formats, the rendered demo data, pairs of images.

``open_dataset`` is the way in; a further data set is one reader and one line in ``READERS``.
"""

from collections.abc import Callable

from bbgm.config import DataConfig, ProtocolConfig
from bbgm.data.demo import demo_root, make_demo
from bbgm.data.hidden import hide_keypoints
from bbgm.data.keypoints import FRAME, Dataset, KeypointImage
from bbgm.data.pairs import FILTERS, KeypointPair, make_pair, sample_training_batch, test_pairs
from bbgm.data.sets import KeypointSet, test_sets
from bbgm.data.split import Images, split_images
from bbgm.data.willow import ERRATA, FOLDER, read_willow
from bbgm.paths import data_root

__all__ = [
    "FILTERS",
    "FRAME",
    "READERS",
    "Dataset",
    "KeypointImage",
    "KeypointPair",
    "KeypointSet",
    "make_demo",
    "make_pair",
    "open_dataset",
    "sample_training_batch",
    "test_pairs",
    "test_sets",
]

Reader = Callable[[DataConfig], tuple[Images, tuple[str, ...]]]


def _open_willow(data: DataConfig) -> tuple[Images, tuple[str, ...]]:
    if data.source == "demo":
        root = demo_root(data.demo_seed, data.demo_images_per_class)
        make_demo(root, data.demo_seed, data.demo_images_per_class)
        return read_willow(root / FOLDER, data.classes, errata=())
    return read_willow(data_root() / FOLDER, data.classes, errata=ERRATA if data.errata else ())


READERS: dict[str, Reader] = {"willow": _open_willow}


def open_dataset(data: DataConfig, protocol: ProtocolConfig) -> Dataset:
    """Read a data set, hide keypoints if asked to, and split it. The demo data are made on first use, in the cache.

    Raises:
        FileNotFoundError: the data set, or a file of it, is missing; the error says where it belongs and how to get it.
        ValueError: an unknown data set or class, a broken file, or too few images for the split.
    """
    if data.dataset not in READERS:
        raise ValueError(f"data set {data.dataset!r} is not one of {sorted(READERS)} (data.dataset)")
    images, errata = READERS[data.dataset](data)
    images = hide_keypoints(images, data.hidden_keypoints, data.hidden_seed)
    train, test = split_images(images, protocol)
    return Dataset(data.dataset, train, test, errata)
