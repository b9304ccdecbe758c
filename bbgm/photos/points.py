"""Keypoints that a user gives, in px of the picture: an array, a dict, or a JSON file of either; and what can be wrong.

::

    [[412.5, 80], [390, 31], [120, 205]]                               unnamed: called 0, 1, 2
    {"nose": [412.5, 80], "left ear": [390, 31], "tail": [120, 205]}   named
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bbgm.base.reading.foreign import describe, joined
from bbgm.base.reading.untrusted import parse_json

LEAST = 3
"""A Delaunay triangulation needs as many points."""
APART = 0.01
"""Points that are closer to each other are the same, px."""
FLAT = 1e-6
"""Points are on one line if they are this much wider than high, along the line."""
SHAPES = 'an array (n, 2), [[x, y], ...], or {"name": [x, y], ...}'

PointsLike = ArrayLike | Mapping[str, Sequence[float]] | str | Path
"""What a user may give."""


@dataclass(frozen=True, eq=False)
class Points:
    """Keypoints of one picture.

    Attributes:
        xy: (n, 2) float64, px of the picture.
        names: (n,) given by the user; None: unnamed.
    """

    xy: np.ndarray
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.xy)

    def name(self, k: int) -> str:
        """The name of a point, or else its number, counted from 0."""
        return self.names[k] if self.names else str(k)


def make_points(given: "PointsLike | Points", size: tuple[int, int], what: str = "points") -> Points:
    """Read and check the keypoints of a picture.

    Args:
        given: as described above, or the path of a JSON file.
        size: width and height of the picture, px; points may be on its border.
        what: how messages call them.

    Raises:
        FileNotFoundError: no such file.
        ValueError: another shape; numbers that are not finite; points outside of the picture; fewer than `LEAST`; the
            same point twice; all on one line. The message names the points and the remedy.
    """
    if isinstance(given, Points):
        points = given
    else:
        if isinstance(given, str | Path):
            what = f"points file {given}"
            given = _read(Path(given))
        points = _parse(given, what)
    _check(points, size, what)
    return points


def _read(path: Path) -> Any:
    if not path.exists():
        raise FileNotFoundError(f"no points file {path}: give a JSON file that holds {SHAPES}")
    try:
        return parse_json(path.read_text(encoding="utf-8-sig"), unique_keys=True)
    except OSError as error:
        raise ValueError(f"points file {path} cannot be read ({error.strerror}): give a JSON file") from error
    except ValueError as error:
        raise ValueError(f"points file {describe(path, f'is not valid JSON ({error}): correct it')}") from error


def _parse(given: Any, what: str) -> Points:
    names = None
    if isinstance(given, Mapping):
        if wrong := [name for name in given if not isinstance(name, str) or not name.strip()]:
            raise ValueError(f"{what}: the name {wrong[0]!r} is not a text: give each point a name, or give an array")
        names, given = tuple(given), list(given.values())
    if isinstance(given, np.ndarray):
        if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iuf":
            raise ValueError(f"{what} has shape {given.shape} and type {given.dtype}: give {SHAPES}")
        return Points(given.astype(np.float64), names)
    if not isinstance(given, list | tuple):
        raise ValueError(f"{what}: {_shown(given)} is not a list of points: give {SHAPES}")
    for k, pair in enumerate(given):
        if not _is_pair(pair):
            label = repr(names[k]) if names else str(k)
            raise ValueError(f"{what}: point {label} is {_shown(pair)}, not two numbers: give {SHAPES}")
    try:
        xy = np.array(given, dtype=np.float64).reshape(-1, 2)
    except OverflowError as error:
        raise ValueError(f"{what} has a number that is too large: give positions in px") from error
    return Points(xy, names)


def _is_pair(pair: Any) -> bool:
    if isinstance(pair, np.ndarray):
        pair = pair.tolist()
    return isinstance(pair, list | tuple) and len(pair) == 2 and all(map(_is_number, pair))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _check(points: Points, size: tuple[int, int], what: str) -> None:
    xy = points.xy

    def named(which: np.ndarray) -> str:
        return joined([f"{points.name(k)!r} at {xy[k].tolist()}" for k in np.flatnonzero(which).tolist()])

    if (broken := ~np.isfinite(xy).all(axis=1)).any():
        raise ValueError(f"{what}: {named(broken)} is not finite: leave out points that are not visible")
    outside = np.asarray(((xy < 0) | (xy > np.array(size))).any(axis=1))
    if outside.any():
        raise ValueError(
            f"{what}: {named(outside)} is outside of the picture of {size[0]} x {size[1]} px: give positions in px of "
            "the original file, x to the right and y down from its upper left corner"
        )
    if len(xy) < LEAST:
        raise ValueError(
            f"{what} has {len(xy)} points: give {LEAST} or more, because the graph of the points is made of triangles"
        )
    apart = np.linalg.norm(xy[:, None] - xy, axis=2)
    if (twice := np.triu(apart < APART, k=1)).any():
        one, other = np.argwhere(twice)[0].tolist()
        raise ValueError(
            f"{what}: {points.name(one)!r} and {points.name(other)!r} are both at {xy[one].tolist()}: remove or move "
            "one of the two"
        )
    spread = np.linalg.svd(xy - xy.mean(axis=0), compute_uv=False)
    if spread[1] < FLAT * spread[0]:
        raise ValueError(
            f"{what}: all {len(xy)} points are on one line, so they make no triangles: add a point beside the line"
        )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
