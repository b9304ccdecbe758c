"""Where the files of a data set are, and where its decoded images are kept."""

from pathlib import Path

from bbgm.base.paths import cache_root, data_root
from bbgm.config import DataConfig
from bbgm.data.demo import demo_root, make_demo
from bbgm.data.images.crops import CropCache


def find_place(data: DataConfig) -> tuple[Path, CropCache]:
    """The root that holds the data set's folder, and the cache of its decoded images.

    The demo data are rendered now if they are not there yet.

    Raises:
        ImportError: the demo data are asked for, and their renderer is not installed.
        bbgm.base.atomic.WriteError: the cache cannot be written to.
    """
    if data.source == "original":
        return data_root(), crops_of(data.dataset)
    make_demo([data.dataset], data.demo_seed, data.demo_images_per_class)
    root = demo_root(data.demo_seed, data.demo_images_per_class)
    return root, crops_of(f"demo-{data.dataset}-{root.name}")


def crops_of(name: str) -> CropCache:
    """The cache of decoded images with this name."""
    return CropCache(cache_root() / "crops" / f"{name}.crops")
