"""Your own pictures: the keypoints of two of them matched by a trained model, in one call or pair after pair.

`match` is the one call, `Model` keeps a model and what it has seen, `Match` is the result. May import `bbgm.models`,
`bbgm.plotting` and everything below them.
"""

from pathlib import Path

from bbgm.data.images.pictures import Box
from bbgm.photos.picture import Picture, PictureLike
from bbgm.photos.points import Points, PointsLike
from bbgm.photos.result import Match
from bbgm.photos.session import Model, View

__all__ = ["Match", "Model", "Picture", "Points", "View", "match"]


def match(
    picture1: PictureLike | View,
    points1: PointsLike | Points,
    picture2: PictureLike | View,
    points2: PointsLike | Points,
    *,
    model: Model | str | Path | None = None,
    box1: Box | None = None,
    box2: Box | None = None,
    partial: bool = False,
    solver: str = "best",
) -> Match:
    """Match the keypoints of two pictures of the same kind of object.

    Args:
        picture1, picture2: path of a file, array (H, W, 3) uint8 RGB, or Pillow image.
        points1, points2: an array (n, 2) or a list of ``[x, y]``, a dict ``{"name": (x, y)}``, or the path of a JSON
            file with one of these; px of the picture from its upper left corner. At least three, and not all on one
            line. Names only say which matches are right: the matching does not depend on them, nor on the order.
        model: a `Model`, a file of ``bbgm model export``, or the folder of a run; None: the model that comes with the
            package, which has seen rendered toys only.
        box1, box2: left, upper, right and lower border of the object, px; None: around the keypoints, with a margin.
        partial: keypoints stay unmatched where that is cheaper, which suits models that were trained without a keypoint
            filter. False: all of the smaller set are matched.
        solver: "best", "dual" (the paper's) or "exact"; "unary" and "sinkhorn" ignore the edges.

    Raises:
        FileNotFoundError: no such picture, points file or model.
        ValueError: something is not what it should be. The message names it and the remedy.
    """
    used = model if isinstance(model, Model) else Model(model)
    return used.match(picture1, points1, picture2, points2, box1=box1, box2=box2, partial=partial, solver=solver)
