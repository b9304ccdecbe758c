"""Pascal VOC with the keypoints of Bourdev et al.: twenty classes, many keypoints without a partner.

With ``source: animalpose`` five of the classes, as AnimalPose (Cao et al., ICCV 2019) distributes them: the same
photographs, keypoints and split, in the format of `bbgm.data.readers.folder`. There the objects that are difficult,
truncated or occluded are not left out, because the flags are missing.
"""

from typing import ClassVar, Self

from pydantic import Field, model_validator

from bbgm.base.paths import cache_root, data_root
from bbgm.config import DataConfig, ProtocolConfig
from bbgm.data.datasets.place import crops_of, find_place
from bbgm.data.images.keypoints import Dataset
from bbgm.data.readers.folder import FILE, divide, read_folder
from bbgm.data.readers.voc import FOLDER, WILLOW_CLASSES, ExcludeWillow, found_elsewhere, how_to_get, read_voc
from bbgm.data.readers.voc_split import CLASSES, read_split

ANIMALPOSE, ANIMALS = "voc_animals", ("cat", "cow", "dog", "horse", "sheep")
"""The folder of the data of ``source: animalpose`` below the data root, and their classes."""


class VocData(DataConfig):
    """Settings of Pascal VOC."""

    class_names: ClassVar[tuple[str, ...]] = CLASSES
    demo: ClassVar[bool] = True
    other_sources: ClassVar[tuple[str, ...]] = ("animalpose",)
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

    @model_validator(mode="after")
    def _animalpose_has_fewer(self) -> Self:
        if self.source != "animalpose":
            return self
        if unknown := [cls for cls in self.classes if cls not in ANIMALS]:
            raise ValueError(f"source animalpose has no class {unknown[0]!r}: set data.classes to some of {ANIMALS}")
        if self.keep_outside or self.exclude_willow != "none":
            raise ValueError(
                "source animalpose has neither keypoints outside the box nor images to exclude for Willow: leave "
                "keep_outside and exclude_willow out, or set data.source: original"
            )
        return self

    def open(self, protocol: ProtocolConfig) -> Dataset:
        """See `DataConfig.open`; the data set brings its split."""
        if self.source == "animalpose":
            if missing := self.missing():
                raise FileNotFoundError(f"no {missing[0]}")
            images, splits, dropped = read_folder(
                data_root() / ANIMALPOSE, self.used_classes(), crops=crops_of("voc-animalpose")
            )
            if not splits:
                file = data_root() / ANIMALPOSE / FILE
                raise ValueError(f"{file} has no split: give each entry the 'split' of Pascal VOC, 'train' or 'test'")
            return Dataset("voc", *divide(images, splits), dropped=dropped)
        base, crops = find_place(self)
        root = base / FOLDER
        if not root.is_dir():
            raise FileNotFoundError(f"no folder {root}{found_elsewhere(root)}. {how_to_get(root)}")
        split = read_split(root, cache_root())
        return read_voc(root, split, self.classes, self.exclude_willow, self.keep_outside, crops)

    def used_classes(self) -> tuple[str, ...]:
        """See `DataConfig.used_classes`."""
        excluded = WILLOW_CLASSES if self.exclude_willow == "classes" else ()
        names = ANIMALS if self.source == "animalpose" else self.class_names
        return self.classes or tuple(cls for cls in names if cls not in excluded)

    def missing(self) -> list[str]:
        """See `DataConfig.missing`."""
        file = data_root() / ANIMALPOSE / FILE
        if self.source != "animalpose" or file.is_file():
            return []
        return [f"{file}: the VOC photographs of AnimalPose; see bbgm/data/README.md, or set data.source: original"]
