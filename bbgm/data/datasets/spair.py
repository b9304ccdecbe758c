"""SPair-71k: listed pairs with labels of their difficulty (Min et al., 2019)."""

from typing import ClassVar

from bbgm.config import DataConfig, ProtocolConfig
from bbgm.data.datasets.place import find_place
from bbgm.data.images.keypoints import Dataset
from bbgm.data.readers.spair import CLASSES, FOLDER, read_spair


class SpairData(DataConfig):
    """Settings of SPair-71k. It lists the common keypoints of each pair and no others."""

    class_names: ClassVar[tuple[str, ...]] = CLASSES
    demo: ClassVar[bool] = True
    filters: ClassVar[tuple[str, ...]] = ("intersection",)
    downloads: ClassVar[tuple[str, ...]] = ("spair",)
    images: ClassVar[tuple[str, str]] = ("spair", "JPEGImages/*/*.jpg")
    listed_pairs: ClassVar[tuple[str, str]] = ("spair", "PairAnnotation/test/*.json")
    most_keypoints: ClassVar[int] = 30

    dataset: str = "spair"

    def open(self, protocol: ProtocolConfig) -> Dataset:
        """See `DataConfig.open`; the data set brings its split and its pairs."""
        root, crops = find_place(self)
        return read_spair(root / FOLDER, self.classes, crops)
