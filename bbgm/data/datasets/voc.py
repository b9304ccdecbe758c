"""Pascal VOC with the keypoints of Bourdev et al.: twenty classes, many keypoints without a partner."""

from typing import ClassVar

from pydantic import Field

from bbgm.base.paths import cache_root
from bbgm.config import DataConfig, ProtocolConfig
from bbgm.data.datasets.place import find_place
from bbgm.data.images.keypoints import Dataset
from bbgm.data.readers.voc import FOLDER, WILLOW_CLASSES, ExcludeWillow, how_to_get, read_voc
from bbgm.data.readers.voc_split import CLASSES, read_split


class VocData(DataConfig):
    """Settings of Pascal VOC."""

    class_names: ClassVar[tuple[str, ...]] = CLASSES
    demo: ClassVar[bool] = True
    downloads: ClassVar[tuple[str, ...]] = ("voc", "voc-keypoints", "voc-split")
    images: ClassVar[tuple[str, str]] = ("voc-keypoints", "*/*.xml")
    most_keypoints: ClassVar[int] = 23

    dataset: str = "voc"
    exclude_willow: ExcludeWillow = Field(
        "none",
        description="for training that continues on Willow: leave the 2007 images of car and motorbike out of the "
        "training part (authors' code), or leave out both classes (the paper's text)",
    )
    keep_outside: bool = Field(False, description="keep keypoints outside the object's box, as ThinkMatch does")

    def open(self, protocol: ProtocolConfig) -> Dataset:
        """See `DataConfig.open`; the data set brings its split."""
        base, crops = find_place(self)
        root = base / FOLDER
        if not root.is_dir():
            raise FileNotFoundError(f"no folder {root}. {how_to_get(root)}")
        split = read_split(root, cache_root())
        return read_voc(root, split, self.classes, self.exclude_willow, self.keep_outside, crops)

    def used_classes(self) -> tuple[str, ...]:
        """See `DataConfig.used_classes`."""
        excluded = WILLOW_CLASSES if self.exclude_willow == "classes" else ()
        return self.classes or tuple(cls for cls in self.class_names if cls not in excluded)
