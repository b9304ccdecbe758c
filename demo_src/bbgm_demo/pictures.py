"""Pictures of random objects with their keypoints."""

from collections.abc import Sequence

import numpy as np

from bbgm_demo.objects import MODELS
from bbgm_demo.rendering.paint import Noise
from bbgm_demo.rendering.photo import SeenObject as SeenObject
from bbgm_demo.rendering.photo import photograph
from bbgm_demo.rendering.scene import render

CLASSES = tuple(MODELS)
"""The classes that can be rendered, by Willow's names."""


def render_image(cls: str, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A picture of one random object of a class, seen from about the side that Willow shows.

    Returns:
        (h, w, 3) uint8 RGB; and (10, 2) float64, px, its keypoints in the order of Willow's annotations, seen or not.
    """
    noise = Noise(generator)
    return render(MODELS[cls](generator, noise), generator, noise)


def render_photo(
    classes: Sequence[str], generator: np.random.Generator, azimuth: float | None = None
) -> tuple[np.ndarray, list[SeenObject]]:
    """A photograph of random objects of these classes, see `bbgm_demo.rendering.photo.photograph`."""
    return photograph(MODELS, classes, generator, azimuth)
