"""The five classes of objects: a random model of each, with its keypoints."""

from collections.abc import Callable

import numpy as np

from bbgm_demo.objects.bottle import bottle
from bbgm_demo.objects.car import car
from bbgm_demo.objects.duck import duck
from bbgm_demo.objects.face import face
from bbgm_demo.objects.motorbike import motorbike
from bbgm_demo.rendering.paint import Noise
from bbgm_demo.rendering.scene import Model

MODELS: dict[str, Callable[[np.random.Generator, Noise], Model]] = {
    "Car": car,
    "Duck": duck,
    "Face": face,
    "Motorbike": motorbike,
    "Winebottle": bottle,
}
