"""The way in: `open_dataset` reads the data set that a configuration names, divides it and checks it."""

from bbgm.config import DataConfig, ProtocolConfig
from bbgm.data.images.keypoints import Dataset
from bbgm.data.sampling.pairs import check_pairs
from bbgm.data.sampling.sets import check_sets


def open_dataset(data: DataConfig, protocol: ProtocolConfig) -> Dataset:
    """Read a data set and split it, and decode the images that were not decoded before.

    The demo data are made on first use, below the cache root. All errors in the data are found here. Decoded
    images are kept in the cache root, see `bbgm.data.images.crops`.

    Raises:
        FileNotFoundError: the data set, or a file of it, is missing; the error says where it belongs and how to get it.
        ImportError: the demo data are asked for, and their renderer is not installed.
        ValueError: an unknown class, a broken file, or a class with too few images or pairs.
        bbgm.base.atomic.WriteError: the cache cannot be written to.
    """
    dataset = data.open(protocol)
    if not isinstance(dataset, Dataset):
        raise ValueError(f"open() of data set {data.dataset!r} returned {dataset!r}: it must return a Dataset")
    check_pairs(dataset, protocol)
    check_sets(dataset, protocol)
    dataset.decode()
    return dataset
