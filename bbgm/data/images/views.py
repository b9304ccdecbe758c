"""Views of an image: the same object turned, scaled, shifted or mirrored, with its keypoints; more images from few.

A frozen backbone sees an image once, and what it makes of a turned head it never learns to tell from a beak. Views are
few and fixed, so that their features are computed once like those of the images themselves: view k of an image depends
on the image's identifier, k and the settings only.
"""

import re
from dataclasses import replace

import numpy as np

from bbgm.config.models import ViewsConfig
from bbgm.data.images.keypoints import KeypointImage
from bbgm.data.images.pictures import FRAME
from bbgm.data.images.split import class_key

_OTHER = {"L": "R", "R": "L", "Left": "Right", "Right": "Left", "left": "right", "right": "left"}
_SIDE = re.compile(r"Left|Right|left|right|(?<![A-Za-z])[LR](?=_)")

BORDER = 4
"""Keypoints stay this far from the edge of the frame, px."""
_MIRROR = ViewsConfig(count=1, rotation=0, scale=0, stretch=0, translation=0, mirror=True)


def view_of(image: KeypointImage, number: int, settings: ViewsConfig) -> KeypointImage:
    """View ``number`` of an image, counted from 1; 0 is the image itself."""
    if number == 0:
        return image
    matrix, shift = _fitted(image.xy, *_drawn(image.image_id, number, settings))
    xy, names = image.xy @ matrix.T + shift, image.names
    if is_mirrored(number, settings):
        turn = np.diag([-1.0, 1.0])
        matrix, shift, xy = turn @ matrix, turn @ shift + [FRAME, 0], xy @ turn + [FRAME, 0]
        names = tuple(map(mirrored_name, names))
    return replace(
        image,
        image_id=f"{image.image_id}#{number}",
        names=names,
        xy=xy,
        view=(*matrix[0].tolist(), float(shift[0]), *matrix[1].tolist(), float(shift[1])),
    )


def mirror_image(image: KeypointImage) -> KeypointImage:
    """The view of an image in a mirror, with its keypoints in the same order; left and right change names."""
    return view_of(image, 1, _MIRROR)


def is_mirrored(number: int, settings: ViewsConfig) -> bool:
    """Whether a view is a mirror image: with ``mirror`` the first is, the second is not, and so on."""
    return settings.mirror and number % 2 == 1


def mirrored_name(name: str) -> str:
    """What a keypoint is called in a mirror image: ``L_Eye`` is ``R_Eye`` there; a name without a side stays."""
    return _SIDE.sub(lambda found: _OTHER[found[0]], name)


def affine_matrix(angle: float, scale: float, stretch: float, shear: float = 0.0) -> np.ndarray:
    """The matrix (2, 2) that turns, after a shear, after a change of size.

    Args:
        angle: in radians. scale: logarithm of the size. stretch: of the width; the height gets its inverse.
    """
    cos, sin = np.cos(angle), np.sin(angle)
    grow, widen = np.exp(scale), np.exp(stretch)
    turned = np.array([[cos, -sin], [sin, cos]]) @ np.array([[1, shear], [0, 1]])
    return np.asarray(turned @ np.diag([grow * widen, grow / widen]))


def _drawn(image_id: str, number: int, settings: ViewsConfig) -> tuple[np.ndarray, np.ndarray]:
    """A random map about the centre of the frame: matrix (2, 2) and shift (2,)."""
    numbers = np.random.default_rng([number, class_key(image_id)])
    turn, scale, stretch, right, down = numbers.uniform(-1, 1, 5)
    matrix = affine_matrix(np.radians(settings.rotation) * turn, settings.scale * scale, settings.stretch * stretch)
    centre = np.full(2, FRAME / 2)
    return matrix, centre - matrix @ centre + settings.translation * np.array([right, down])


def _fitted(xy: np.ndarray, matrix: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The map, with its scale reduced and its shift changed just as far as all keypoints (K, 2) need to be seen."""
    if not len(xy):
        return matrix, shift
    room = FRAME - 2 * BORDER
    moved = xy @ matrix.T + shift
    extent = np.ptp(moved, axis=0).max()
    if extent > room:
        centre = moved.mean(axis=0)
        factor = room / extent
        matrix, shift = factor * matrix, centre + factor * (shift - centre)
        moved = xy @ matrix.T + shift
    inside = np.maximum(BORDER - moved.min(axis=0), 0) + np.minimum(FRAME - BORDER - moved.max(axis=0), 0)
    return matrix, shift + inside
