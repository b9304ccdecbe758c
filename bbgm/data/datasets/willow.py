"""Willow ObjectClass: ten keypoints per image, all annotated (Cho, Alahari, Ponce, ICCV 2013)."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from bbgm.config import DataConfig, ProtocolConfig
from bbgm.config.models import Seed
from bbgm.data.datasets.place import find_place
from bbgm.data.images.hidden import hide_keypoints
from bbgm.data.images.keypoints import Dataset
from bbgm.data.images.split import split_images
from bbgm.data.readers.willow import ERRATA, FOLDER, KEYPOINT_NAMES, N_KEYPOINTS, read_willow


class WillowData(DataConfig):
    """Settings of Willow."""

    class_names: ClassVar[tuple[str, ...]] = tuple(KEYPOINT_NAMES)
    columns: ClassVar[Mapping[str, str]] = {
        "Face": "face",
        "Motorbike": "motorbike",
        "Car": "car",
        "Duck": "duck",
        "Winebottle": "bottle",
    }
    demo: ClassVar[bool] = True
    setting: ClassVar[str] = "Pt=no;Wt=yes"
    downloads: ClassVar[tuple[str, ...]] = ("willow",)
    images: ClassVar[tuple[str, str]] = ("willow", "*/*.png")
    most_keypoints: ClassVar[int] = N_KEYPOINTS

    errata: bool = Field(True, description="apply the named corrections of the data set's annotation errors")
    hidden_keypoints: float = Field(
        0.0, ge=0, lt=1, description="share of the keypoints that is left out of each image at random, as if hidden"
    )
    hidden_seed: Seed = 0

    def open(self, protocol: ProtocolConfig) -> Dataset:
        """See `DataConfig.open`."""
        root, crops = find_place(self)
        errata = ERRATA if self.errata and self.source == "original" else ()
        images, applied = read_willow(root / FOLDER, self.classes, errata=errata, crops=crops)
        images = hide_keypoints(images, self.hidden_keypoints, self.hidden_seed)
        train, test = split_images(images, protocol)
        return Dataset("willow", train, test, applied, hidden=self.hidden_keypoints)
