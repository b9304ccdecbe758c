"""Keypoints left out at random, as if something hid them: unmatched keypoints for data that annotate every one.

Willow ObjectClass, and the demo data that imitate it, annotate all ten keypoints of an object, seen or not. There the
paper's filters are all the same. With some keypoints left out they differ, as on Pascal VOC.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bbgm.data.images.keypoints import KeypointImage
from bbgm.data.images.split import Images, class_key


def hide_keypoints(images: Mapping[str, tuple[KeypointImage, ...]], share: float, seed: int) -> Images:
    """Leave out each keypoint with probability ``share``, independently of the others.

    What an image loses depends on its identifier and the seed only: it is the same in all pairs, runs and methods.
    """
    if not share:
        return dict(images)
    return {cls: tuple(_hide(image, share, seed) for image in members) for cls, members in images.items()}


def _hide(image: KeypointImage, share: float, seed: int) -> KeypointImage:
    seen = np.random.default_rng([seed, class_key(image.image_id)]).random(len(image.names)) >= share
    names = tuple(name for name, visible in zip(image.names, seen, strict=True) if visible)
    return replace(image, names=names, xy=image.xy[seen])
