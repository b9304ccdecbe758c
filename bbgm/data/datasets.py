"""Data sets: readers of the original formats, the rendered demo data, pairs of images.

``open_dataset`` is the way in; a further data set is one reader and one line in ``READERS``.
Decoded images are kept in the cache root, see `bbgm.data.images.crops`.
"""

from collections.abc import Callable
from pathlib import Path

from bbgm.base.paths import cache_root, data_root, folder_root
from bbgm.config import DataConfig, ProtocolConfig
from bbgm.data.demo import demo_root, make_demo
from bbgm.data.images.crops import CropCache
from bbgm.data.images.hidden import hide_keypoints
from bbgm.data.images.keypoints import Dataset
from bbgm.data.images.split import split_images
from bbgm.data.readers import folder, spair, voc, willow
from bbgm.data.readers.voc_split import read_split
from bbgm.data.sampling.pairs import check_pairs
from bbgm.data.sampling.sets import check_sets

Reader = Callable[[DataConfig, ProtocolConfig], Dataset]


def _crops(name: str) -> CropCache:
    return CropCache(cache_root() / "crops" / f"{name}.crops")


def _demo(data: DataConfig) -> tuple[Path, CropCache]:
    """The root of the demo data in the format of the data set, made now if they are not there."""
    make_demo([data.dataset], data.demo_seed, data.demo_images_per_class)
    root = demo_root(data.demo_seed, data.demo_images_per_class)
    return root, _crops(f"demo-{data.dataset}-{root.name}")


def _open_willow(data: DataConfig, protocol: ProtocolConfig) -> Dataset:
    errata: tuple[willow.Erratum, ...] = ()
    if data.source == "demo":
        root, crops = _demo(data)
    else:
        root, crops = data_root(), _crops("willow")
        if data.errata:
            errata = willow.ERRATA
    images, applied = willow.read_willow(root / willow.FOLDER, data.classes, errata=errata, crops=crops)
    images = hide_keypoints(images, data.hidden_keypoints, data.hidden_seed)
    train, test = split_images(images, protocol)
    return Dataset("willow", train, test, applied, hidden=data.hidden_keypoints)


def _open_voc(data: DataConfig, protocol: ProtocolConfig) -> Dataset:
    base, crops = _demo(data) if data.source == "demo" else (data_root(), _crops("voc"))
    root = base / voc.FOLDER
    if not root.is_dir():
        raise FileNotFoundError(f"no folder {root}. {voc.how_to_get(root)}")
    split = read_split(root, cache_root())
    return voc.read_voc(root, split, data.classes, data.exclude_willow, data.keep_outside, crops)


def _open_spair(data: DataConfig, protocol: ProtocolConfig) -> Dataset:
    root, crops = _demo(data) if data.source == "demo" else (data_root(), _crops("spair"))
    return spair.read_spair(root / spair.FOLDER, data.classes, crops)


def _open_folder(data: DataConfig, protocol: ProtocolConfig) -> Dataset:
    images, splits, dropped = folder.read_folder(folder_root(data.root), data.classes, data.boxes, _crops("folder"))
    train, test = folder.divide(images, splits) if splits else split_images(images, protocol)
    return Dataset("folder", train, test, dropped=dropped)


READERS: dict[str, Reader] = {
    "willow": _open_willow,
    "voc": _open_voc,
    "spair": _open_spair,
    "folder": _open_folder,
}


def open_dataset(data: DataConfig, protocol: ProtocolConfig) -> Dataset:
    """Read a data set and split it, and decode the images that were not decoded before.

    The demo data are made on first use, below the cache root. Whatever is wrong with the data is found here.

    Raises:
        FileNotFoundError: the data set, or a file of it, is missing; the error says where it belongs and how to get it.
        ImportError: the demo data are asked for, and their renderer is not installed.
        ValueError: an unknown data set or class, a broken file, or a class with too few images or pairs.
        bbgm.base.atomic.WriteError: the cache cannot be written to.
    """
    if data.dataset not in READERS:
        raise ValueError(f"data set {data.dataset!r} is not one of {sorted(READERS)} (data.dataset)")
    dataset = READERS[data.dataset](data, protocol)
    check_pairs(dataset, protocol)
    check_sets(dataset, protocol)
    dataset.decode()
    return dataset
