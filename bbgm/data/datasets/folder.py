"""A folder of the user's own images, with a file of annotations."""

from typing import Literal, Self

from pydantic import Field, model_validator

from bbgm.base.paths import folder_root
from bbgm.config import DataConfig, ProtocolConfig
from bbgm.data.datasets.place import crops_of
from bbgm.data.images.keypoints import Dataset
from bbgm.data.images.split import split_images
from bbgm.data.readers.folder import FILE, divide, read_folder, read_objects


class FolderData(DataConfig):
    """Settings of a folder of the user's own images; it has no demo data."""

    dataset: str = "folder"
    source: Literal["demo", "original"] = "original"
    root: str = Field("", description="the folder with keypoints.json, relative to BBGM_DATA or absolute")
    boxes: bool = Field(True, description="the input is an object's box where it has one, not the complete image")

    @model_validator(mode="after")
    def _demo_data_exist(self) -> Self:
        if not self.root or self.source == "demo":
            raise ValueError(
                "a folder of your own images has no demo data: set source: original, and root: to its path"
            )
        return self

    def open(self, protocol: ProtocolConfig) -> Dataset:
        """See `DataConfig.open`; the split is that of the file, or else the protocol's."""
        images, splits, dropped = read_folder(folder_root(self.root), self.classes, self.boxes, crops_of("folder"))
        train, test = divide(images, splits) if splits else split_images(images, protocol)
        return Dataset("folder", train, test, dropped=dropped)

    def used_classes(self) -> tuple[str, ...]:
        """See `DataConfig.used_classes`; without the folder, none."""
        root = folder_root(self.root)
        if self.classes or not (root / FILE).is_file():
            return self.classes
        return tuple(sorted({item.cls for item in read_objects(root) if item.keypoints}))

    def missing(self) -> list[str]:
        """See `DataConfig.missing`."""
        file = folder_root(self.root) / FILE
        return [] if file.is_file() else [f"{file}: the annotations of your own images"]
