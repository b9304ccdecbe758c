"""Two pictures whose keypoints are edited, and the matching of what they are now. Knows nothing of Jupyter.

The backbone looks at a picture once per box, and a moved keypoint reads its features from what was seen. The box is the
one of `bbgm.match`, around the keypoints; while a keypoint is dragged within the box that was seen, it stays. So a drag
takes milliseconds, and what stands at its end is what `bbgm.match` gives for the same points.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bbgm.data.images.keypoints import KeypointImage
from bbgm.photos import Match, Model, View
from bbgm.photos.picture import box_around
from bbgm.photos.points import LEAST, Points, make_points

DECIMALS = 2
"""Of positions, px: a points file has what is shown, no more and no less."""
MOST = 200
"""Keypoints of one picture: the costs of edges grow with the fourth power of their number."""


@dataclass(frozen=True)
class Keypoint:
    """A keypoint as the user sees it.

    Attributes:
        id: stays the same while it is moved or renamed; unique within its picture.
        x, y: px of the picture.
        name: "" = none.
        hidden: drawn, but not matched.
    """

    id: int
    x: float
    y: float
    name: str = ""
    hidden: bool = False

    @classmethod
    def read(cls, given: Any) -> "Keypoint":
        """A keypoint from the plain values that a browser sends.

        Raises:
            ValueError: they are not what they should be.
        """
        try:
            x, y = (round(float(given[axis]), DECIMALS) for axis in "xy")
            found = cls(int(given["id"]), x, y, str(given["name"]), bool(given["hidden"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"keypoint {given!r} does not have id, x, y, name and hidden: {error!r}") from error
        if not np.isfinite((found.x, found.y)).all():
            raise ValueError(f"keypoint {given!r} has no finite position")
        return found


def points_in_file(image: KeypointImage) -> dict[str, tuple[float, float]]:
    """The keypoints of an image of a data set, by name, in px of its file."""
    xy = image.xy_in_file.clip(0, image.size)
    return {name: (x, y) for name, (x, y) in zip(image.names, xy.tolist(), strict=True)}


def keypoints_of(points: Points) -> list[Keypoint]:
    """Points of a file, as keypoints that can be edited."""
    names = points.names or [""] * len(points)
    return [Keypoint(k, x, y, names[k]) for k, (x, y) in enumerate(points.xy.round(DECIMALS).tolist())]


def as_points(keypoints: Sequence[Keypoint], what: str) -> dict[str, tuple[float, float]] | list[tuple[float, float]]:
    """The keypoints that are not hidden, as `bbgm.match` takes them: by name if every one has a name.

    Raises:
        ValueError: two have the same name.
    """
    shown = [one for one in keypoints if not one.hidden]
    names = [one.name.strip() for one in shown]
    if not names or not all(names):
        return [(one.x, one.y) for one in shown]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{what} has two keypoints with the name {twice!r}: rename one of them")
    return {name: (one.x, one.y) for name, one in zip(names, shown, strict=True)}


def as_json(keypoints: Sequence[Keypoint], what: str) -> str:
    """The points file of a picture, as ``bbgm match --points`` reads it. Raises as `as_points`."""
    return json.dumps(as_points(keypoints, what))


@dataclass(eq=False)
class Side:
    """One of the two pictures, and what a model has seen of it last."""

    name: str
    pixels: np.ndarray
    view: View | None = field(default=None, repr=False)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, px."""
        return self.pixels.shape[1], self.pixels.shape[0]

    def look(self, model: Model, points: Points, moving: bool) -> View:
        """The picture as the model sees it, in the box around its points or, while one is moved, in the last box."""
        seen = self.view if self.view is not None and self.view.model is model else None
        box = box_around(points.xy, self.size)
        if seen is not None and moving:
            left, top, right, bottom = seen.picture.box
            if ((points.xy >= (left, top)) & (points.xy <= (right, bottom))).all():
                return seen
        if seen is None or seen.picture.box != box:
            self.view = seen = model.look(self.pixels, box=box, what=self.name)
        return seen


def match_sides(
    model: Model,
    sides: Sequence[Side],
    keypoints: Sequence[Sequence[Keypoint]],
    *,
    solver: str = "best",
    partial: bool = False,
    moving: bool = False,
) -> Match:
    """Match what is shown of two pictures.

    Args:
        keypoints: of each; hidden ones are left out.
        moving: one is being dragged; see the module.

    Raises:
        ValueError: too few or too many keypoints, all on one line, two in one place or with one name; the message is
            for the user.
    """
    points = []
    for side, given in zip(sides, keypoints, strict=True):
        shown = sum(not one.hidden for one in given)
        if shown < LEAST:
            missing = [max(0, LEAST - sum(not one.hidden for one in each)) for each in keypoints]
            raise ValueError(f"Click at least {LEAST} keypoints on each image: {_missing(missing)}.")
        if shown > MOST:
            raise ValueError(f"{side.name} has {shown} keypoints, the limit is {MOST}: hide or remove some")
        points.append(make_points(as_points(given, side.name), side.size, side.name))
    views = [side.look(model, one, moving) for side, one in zip(sides, points, strict=True)]
    return model.match(views[0], points[0], views[1], points[1], solver=solver, partial=partial)


def _missing(numbers: Sequence[int]) -> str:
    words = [f"{n} more on the {side}" for n, side in zip(numbers, ("left", "right"), strict=True) if n]
    return " and ".join(words)
