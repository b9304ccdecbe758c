"""The renderer of the demo data: random models of Willow's classes as pictures with keypoints."""

from collections.abc import Callable, Sequence

import numpy as np

from bbgm.data.rendering.bottle import bottle
from bbgm.data.rendering.car import car
from bbgm.data.rendering.duck import duck
from bbgm.data.rendering.face import face
from bbgm.data.rendering.motorbike import motorbike
from bbgm.data.rendering.paint import Noise
from bbgm.data.rendering.photo import SeenObject as SeenObject
from bbgm.data.rendering.photo import photograph
from bbgm.data.rendering.scene import Model, render

MODELS: dict[str, Callable[[np.random.Generator, Noise], Model]] = {
    "Car": car,
    "Duck": duck,
    "Face": face,
    "Motorbike": motorbike,
    "Winebottle": bottle,
}
CLASSES = tuple(MODELS)


def render_image(cls: str, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A picture of a random object of a class.

    Returns:
        (h, w, 3) uint8 RGB; and (10, 2) float64, px, its keypoints in the order of ``KEYPOINT_NAMES``.
    """
    noise = Noise(generator)
    return render(MODELS[cls](generator, noise), generator, noise)


def render_photo(
    classes: Sequence[str], generator: np.random.Generator, azimuth: float | None = None
) -> tuple[np.ndarray, list[SeenObject]]:
    """A photograph of random objects of these classes, see `bbgm.data.rendering.photo.photograph`."""
    return photograph(MODELS, classes, generator, azimuth)
