"""Training and test part of a class."""

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np

from bbgm.config import ProtocolConfig
from bbgm.data.images.keypoints import KeypointImage

Images = dict[str, tuple[KeypointImage, ...]]


def class_key(cls: str) -> int:
    """A number for a class name: seeds a class's own random stream, whatever other classes are in use."""
    return crc32(cls.encode())


def split_images(images: Mapping[str, Sequence[KeypointImage]], protocol: ProtocolConfig) -> tuple[Images, Images]:
    """Divide each class: the first ``train_per_class`` images of the chosen order train, the rest test.

    Differences from the authors' code, which takes the files in the order of the file system:

    1. ``split: sorted`` takes them by file name, so that the split is the same on every machine.
    2. ``split: seeded`` shuffles the sorted list of each class by ``split_seed`` and the class's name.

    Raises:
        ValueError: a part would have fewer than the two images that a pair needs.
    """
    train: Images = {}
    test: Images = {}
    for cls, members in images.items():
        ordered = sorted(members, key=lambda image: image.image_id)
        if protocol.split == "seeded":
            generator = np.random.default_rng([protocol.split_seed, class_key(cls)])
            ordered = [ordered[i] for i in generator.permutation(len(ordered))]
        n_train = protocol.train_per_class
        if n_train < 2 or len(ordered) - n_train < 2:
            raise ValueError(
                f"class {cls} has {len(ordered)} images, protocol.train_per_class is {n_train}: "
                "a pair needs two images, so leave at least 2 in the training and 2 in the test part"
            )
        train[cls], test[cls] = tuple(ordered[:n_train]), tuple(ordered[n_train:])
    return train, test
