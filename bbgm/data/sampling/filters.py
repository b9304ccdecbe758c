"""The three keypoint filters (paper Sec. 4, 'Keypoint filtering'): which pairs are drawn, and what is kept of them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bbgm.data.images.keypoints import KeypointImage

Two = tuple[KeypointImage, KeypointImage]
Kept = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Filter:
    """One of ``FILTERS``.

    Attributes:
        draw: takes two or more images of a class and a generator, returns source and target.
        keep: takes source and target, returns the indices of the keypoints to match into the ``names`` of each.
    """

    draw: Callable[[tuple[KeypointImage, ...], np.random.Generator], Two]
    keep: Callable[[KeypointImage, KeypointImage], Kept]


def any_two(images: tuple[KeypointImage, ...], generator: np.random.Generator) -> Two:
    """Two distinct images, all ordered pairs with the same probability."""
    first, second = generator.choice(len(images), size=2, replace=False)
    return images[first], images[second]


def source_within_target(images: tuple[KeypointImage, ...], generator: np.random.Generator) -> Two:
    """Any image, and the first image in a random order that has all of its keypoints: keypoint inclusion.

    1. This follows the authors' code, the paper's figure, and DGMC's code. The end of the paper's text says the
       reverse: there the target's further keypoints "are disregarded" and "the source image may still contain
       outliers". Here the target keeps its further keypoints, and the source has none without a partner.
    2. The target may be the source itself, as in both codes: an image always has all of its own keypoints. If no
       other image has them, it always is; such a pair counts like any other.
    """
    source = images[generator.integers(len(images))]
    names = frozenset(source.names)
    order = generator.permutation(len(images)).tolist()
    return source, next(images[k] for k in order if names.issubset(images[k].names))


def common_keypoints(source: KeypointImage, target: KeypointImage) -> Kept:
    """Keep the keypoints that both images have."""
    common = set(source.names) & set(target.names)
    kept1, kept2 = ([k for k, name in enumerate(image.names) if name in common] for image in (source, target))
    return kept1, kept2


def all_keypoints(source: KeypointImage, target: KeypointImage) -> Kept:
    """Keep every keypoint of both images, with or without a partner."""
    return list(range(len(source.names))), list(range(len(target.names)))


FILTERS = {
    "intersection": Filter(any_two, common_keypoints),
    "inclusion": Filter(source_within_target, all_keypoints),
    "unfiltered": Filter(any_two, all_keypoints),
}


def find_filter(name: str) -> Filter:
    """The filter of this name.

    Raises:
        ValueError: there is none.
    """
    if name not in FILTERS:
        raise ValueError(
            f"keypoint filter {name!r} is not one of {sorted(FILTERS)} (paper Sec. 4, 'Keypoint filtering')"
        )
    return FILTERS[name]
