"""Paints: the colour of each point of a part, and how it shines."""

from collections.abc import Callable
from colorsys import hsv_to_rgb
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

Paint = Callable[[np.ndarray], np.ndarray]
"""Local coordinates (P, 3) -> linear RGB (P, 3) in [0, 1]."""


@dataclass(frozen=True, eq=False)
class Material:
    """Paint, strength of highlights in [0, 1], and their sharpness (Blinn-Phong exponent)."""

    paint: Paint
    gloss: float = 0.15
    sharpness: float = 30.0


class Noise:
    """Smooth, periodic value noise in [0, 1] from a random lattice."""

    SIDE = 32  # a power of 2
    BLOCK = 8192

    def __init__(self, generator: np.random.Generator) -> None:
        self.lattice = generator.random(self.SIDE**3, dtype=np.float32)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Noise at points (P, 2) or (P, 3), with features of about one unit."""
        return self._blocks(self._at, points)

    def fractal(self, points: np.ndarray, octaves: int = 3) -> np.ndarray:
        """Sum of ``octaves`` noises, each twice as fine and half as strong, in [0, 1]."""

        def octave_sum(block: np.ndarray) -> np.ndarray:
            total = self._at(block)
            for k in range(1, octaves):
                total = total + 0.5**k * self._at(block * 2**k + 7.3 * k)
            return total / (2 - 0.5 ** (octaves - 1))

        return self._blocks(octave_sum, points)

    def _blocks(self, compute: Callable[[np.ndarray], np.ndarray], points: np.ndarray) -> np.ndarray:
        """What ``compute`` makes of the points, some thousand at a time, as fits the processor's cache."""
        found = np.empty(len(points), dtype=np.float32)
        for first in range(0, len(points), self.BLOCK):
            found[first : first + self.BLOCK] = compute(points[first : first + self.BLOCK])
        return found

    def _at(self, points: np.ndarray) -> np.ndarray:
        """The noise: for each corner of a point's cell the lattice's number, weighted."""
        index: list[np.ndarray | int] = [0]
        weights: list[np.ndarray | np.float32] = [np.float32(1)]
        for axis, column in enumerate(points.T):
            cell = np.floor(column)
            t = (column - cell).astype(np.float32)
            t *= t * (3 - 2 * t)
            low = cell.astype(np.int64) & (self.SIDE - 1)  # many times as fast as the remainder
            stride = self.SIDE**axis
            ends = low * stride, ((low + 1) & (self.SIDE - 1)) * stride
            index = [one + end for end in ends for one in index]
            weights = [one * weight for weight in (1 - t, t) for one in weights]
        total = np.zeros(len(points), dtype=np.float32)
        for place, weight in zip(index, weights, strict=True):
            total += weight * self.lattice[place]
        return total


def colour(hue: float, saturation: float, value: float) -> np.ndarray:
    """Linear RGB of a colour given as it looks on a screen (HSV, each in [0, 1])."""
    return np.array(hsv_to_rgb(hue % 1, saturation, value)) ** 2.2


def random_colour(
    generator: np.random.Generator,
    saturation: tuple[float, float] = (0.3, 0.95),
    value: tuple[float, float] = (0.35, 0.95),
) -> np.ndarray:
    """Any hue, the rest within the ranges."""
    return colour(generator.random(), generator.uniform(*saturation), generator.uniform(*value))


def plain(rgb: np.ndarray) -> Paint:
    """One colour."""
    return lambda local: np.broadcast_to(rgb, (len(local), 3))


def blend(weight: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """First colour where the weight is 0, second where it is 1; colours (3,) or (P, 3)."""
    return first + weight[:, None] * (second - first)


def step(value: np.ndarray, edge: float, softness: float) -> np.ndarray:
    """0 below the edge, 1 above it, smooth within the softness."""
    return np.clip((value - edge) / softness + 0.5, 0, 1)


def mottled(rgb: np.ndarray, noise: Noise, frequency: float, strength: float = 0.3) -> Paint:
    """One colour, lighter and darker in patches."""
    return lambda local: rgb * (1 - strength / 2 + strength * noise.fractal(local * frequency, 2))[:, None]


def striped(first: np.ndarray, second: np.ndarray, axis: ArrayLike, period: float, share: float = 0.5) -> Paint:
    """Stripes across an axis; the second colour takes a share of each period."""

    def paint(local: np.ndarray) -> np.ndarray:
        phase = np.abs((local @ np.asarray(axis, dtype=float)) / period % 1 - 0.5) * 2
        return blend(step(phase, 1 - share, 0.1), first, second)

    return paint


def dotted(first: np.ndarray, second: np.ndarray, period: float, share: float = 0.35) -> Paint:
    """Dots of the second colour on a lattice."""

    def paint(local: np.ndarray) -> np.ndarray:
        offset = np.abs(local / period % 1 - 0.5)
        return blend(step(share - np.linalg.norm(offset, axis=1), 0.0, 0.08), first, second)

    return paint


def checked(first: np.ndarray, second: np.ndarray, period: float) -> Paint:
    """Chequered in three dimensions."""

    def paint(local: np.ndarray) -> np.ndarray:
        odd = np.floor(local / period + 0.123).sum(axis=1) % 2
        return blend(odd, first, second)

    return paint


def random_paint(generator: np.random.Generator, noise: Noise, size: float) -> Paint:
    """Any pattern in any colours, for a thing of about the given size."""
    first, second = (random_colour(generator, (0.15, 0.8), (0.3, 0.95)) for _ in range(2))
    kind = generator.integers(5)
    if kind == 0:
        return striped(first, second, generator.normal(size=3), size * generator.uniform(0.25, 0.6))
    if kind == 1:
        return dotted(first, second, size * generator.uniform(0.25, 0.4))
    if kind == 2:
        return checked(first, second, size * generator.uniform(0.25, 0.5))
    return mottled(first, noise, 3.0 / size, 0.6)
