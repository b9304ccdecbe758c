"""The test pairs of a finished run, restored from its record: no random number is drawn."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from bbgm.data.images.keypoints import Dataset, KeypointImage
from bbgm.data.sampling.pairs import KeypointPair


class RecordedPair(Protocol):
    """What a `bbgm.scoring.predictions.Prediction` records of a pair: image ids, label, keypoints in their order."""

    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def difficulty(self) -> str: ...
    @property
    def kept1(self) -> np.ndarray: ...
    @property
    def kept2(self) -> np.ndarray: ...


def rebuild_pairs(dataset: Dataset, cls: str, recorded: Sequence[RecordedPair]) -> list[KeypointPair]:
    """The pairs of a class that were recorded, in the same order, with the same keypoints in the same orders.

    Raises:
        ValueError: no such class, or its test images lack a recorded image or keypoint: the data have changed.
    """
    images = {image.image_id: image for image in dataset.images(cls, "test")}

    def find(image_id: str, kept: np.ndarray) -> KeypointImage:
        image = images.get(image_id)
        if image is None or (len(kept) and not 0 <= kept.min() <= kept.max() < len(image.names)):
            found = "is not among its test images" if image is None else f"has {len(image.names)} keypoints"
            raise ValueError(
                f"the recorded test pairs of class {cls} do not fit the data: {image_id} {found}; restore the data "
                "set that the run was made with, or delete the run and repeat it"
            )
        return image

    return [
        KeypointPair(
            find(item.source, item.kept1),
            find(item.target, item.kept2),
            item.kept1.astype(np.int64),
            item.kept2.astype(np.int64),
            item.difficulty,
        )
        for item in recorded
    ]
