"""A toy data set: coloured dots, nearly in the same places in each image."""

from typing import ClassVar

import numpy as np
from PIL import Image

from bbgm.base.paths import cache_root
from bbgm.config import DataConfig, ProtocolConfig
from bbgm.data.images.keypoints import FRAME, Dataset, KeypointImage
from bbgm.data.images.split import split_images


class DotsData(DataConfig):
    """Settings of the dots."""

    class_names: ClassVar[tuple[str, ...]] = ("dots", "spots")

    dataset: str = "toy"
    images_per_class: int = 26

    def open(self, protocol: ProtocolConfig) -> Dataset:
        """See `DataConfig.open`."""
        images = {cls: tuple(self._image(cls, k) for k in range(self.images_per_class)) for cls in self.used_classes()}
        return Dataset("toy", *split_images(images, protocol))

    def _image(self, cls: str, k: int) -> KeypointImage:
        number = self.class_names.index(cls)
        centres = np.random.default_rng(number).uniform(40, 210, (5, 2))
        xy = centres + np.random.default_rng([number, k]).normal(0, 2, (5, 2))
        pixels = np.zeros((FRAME, FRAME, 3), np.uint8)
        for colour, (x, y) in enumerate(xy.astype(int)):
            pixels[y - 6 : y + 6, x - 6 : x + 6] = [40 * colour + 60, 255 - 50 * colour, 100 * (colour % 2)]
        path = cache_root() / "toy" / f"{cls}_{k}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
        return KeypointImage(f"{cls}/{k}", cls, path, (FRAME, FRAME), tuple(f"dot{i}" for i in range(5)), xy)
