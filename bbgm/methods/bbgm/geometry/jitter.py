"""Keypoints moved at random in training: a random affine map of each graph, and noise on each keypoint.

What a keypoint looks like stays; its graph is made again. The numbers come from torch's CPU generator, which training
seeds at each iteration.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from bbgm.data.images.views import affine_matrix
from bbgm.methods.batching import Side
from bbgm.methods.bbgm.geometry.settings import JitterConfig


def jittered(sides: Sequence[tuple[Side, Side]], settings: JitterConfig) -> list[tuple[Side, Side]]:
    """The same sides with their keypoints moved, each in another way."""
    return [(_moved(one, settings), _moved(two, settings)) for one, two in sides]


def _moved(side: Side, settings: JitterConfig) -> Side:
    return replace(side, xy=moved_at_random(side.place, settings))


def moved_at_random(xy: np.ndarray, settings: JitterConfig) -> np.ndarray:
    """Keypoints (n, 2) after a random affine map about their mean, with noise, px."""
    turn, scale, stretch, shear, right, down = (2 * torch.rand(6, dtype=torch.float64) - 1).tolist()
    noise = settings.noise * torch.randn(xy.shape, dtype=torch.float64).numpy()
    matrix = affine_matrix(
        np.radians(settings.rotation) * turn,
        settings.scale * scale,
        settings.stretch * stretch,
        settings.shear * shear,
    )
    centre = xy.mean(axis=0, keepdims=True)
    shift = settings.translation * np.array([right, down])
    moved: np.ndarray = centre + shift + (xy - centre) @ matrix.T + noise
    return moved
