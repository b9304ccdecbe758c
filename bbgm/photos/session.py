"""A trained model that matches pictures, one pair after another.

`Model.look` passes a picture through the backbone, which takes most of the time, and keeps its maps. `Model.match`
reads features from these maps, so that a keypoint can be moved without looking again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from bbgm.base.reproducible import reproducible
from bbgm.data.images.keypoints import FRAME, KeypointImage
from bbgm.data.images.pictures import Box
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.features.backbone import normalise
from bbgm.features.cache import Features, features_in_maps
from bbgm.matching.instance import Instance
from bbgm.methods.base import VisualMatcher
from bbgm.models.load import load_model
from bbgm.photos.picture import Picture, PictureLike, box_around, check_box, read_pixels
from bbgm.photos.points import Points, PointsLike, make_points
from bbgm.photos.result import Match
from bbgm.photos.solving import check_method, find_matching


@dataclass(frozen=True, eq=False)
class View:
    """A picture as a model has seen it.

    Attributes:
        picture: with the box that was seen.
        maps: of the backbone, (1, C_m, h, w) each.
        pooled: its global vector, (1, Cg).
        model: the model.
    """

    picture: Picture
    maps: list[Tensor]
    pooled: Tensor
    model: "Model" = field(repr=False)


class Model:
    """A trained model, ready to match pictures.

    Args:
        source: a file of `bbgm model export`, the folder of a run, or None: the model that comes with this package,
            which has seen rendered toys only.

    Attributes:
        name: of the model.
        config: of the run that trained it.

    Raises:
        FileNotFoundError, ValueError: see `bbgm.models.load.load_model`; or its method makes no costs for the solver.
    """

    def __init__(self, source: str | Path | None = None) -> None:
        found = load_model(source)
        self.name, self.config = found.description, found.config
        if not self.config.gives_costs or not isinstance(found.matcher, VisualMatcher):
            raise ValueError(
                f"model {found.description} is of the method {self.config.title}, which makes no costs for the solver: "
                "give a model of BB-GM or one of its variants"
            )
        self._matcher = found.matcher

    def look(
        self,
        picture: "PictureLike | View",
        points: "PointsLike | Points | None" = None,
        *,
        box: Box | None = None,
        what: str = "picture",
    ) -> View:
        """Look at a picture.

        Args:
            picture: path of a file, array (H, W, 3) uint8 RGB, or Pillow image; a view is returned as it is.
            points: the box is made around these, with a margin, unless it is given. Without points and box, the
                complete picture is looked at.
            box: left, upper, right and lower border of the object, px; points outside of it cannot be matched.
            what: how messages call a picture that is not a file.

        Raises:
            FileNotFoundError, ValueError: the picture, the points or the box cannot be used; the message says why.
        """
        if isinstance(picture, View):
            if picture.model is not self or box not in (None, picture.picture.box):
                by = "in another box" if picture.model is self else "by another model"
                raise ValueError(f"{picture.picture.name} was looked at {by}: give the picture itself")
            return picture
        name, pixels = read_pixels(picture, what)
        size = pixels.shape[1], pixels.shape[0]
        if box is not None:
            box = check_box(box, size, name)
        elif points is not None:
            box = box_around(make_points(points, size, f"points of {name}").xy, size)
        else:
            box = (0.0, 0.0, float(size[0]), float(size[1]))
        shown = Picture(name, pixels, box)
        backbone = self._matcher.backbone
        with torch.no_grad(), reproducible(self.config.threads):
            crop = torch.from_numpy(shown.crop()[None]).to(next(backbone.parameters()).device)
            maps, pooled = backbone(normalise(crop))
        return View(shown, maps, pooled, self)

    def features(self, view: View, points: "PointsLike | Points") -> Features:
        """Visual features of keypoints (n, C), in their order, and the picture's global vector (Cg,).

        Raises:
            FileNotFoundError, ValueError: the points cannot be used, or are outside of the view's box.
        """
        given = make_points(points, view.picture.size, f"points of {view.picture.name}")
        return self._features(view, _as_image("0", view.picture, given.xy))

    def match(
        self,
        picture1: "PictureLike | View",
        points1: "PointsLike | Points",
        picture2: "PictureLike | View",
        points2: "PointsLike | Points",
        *,
        box1: Box | None = None,
        box2: Box | None = None,
        partial: bool = False,
        solver: str = "best",
    ) -> Match:
        """Match the keypoints of two pictures; see `bbgm.match`. Views are not looked at again.

        Raises:
            FileNotFoundError, ValueError: see `bbgm.match`.
        """
        check_method(solver)
        views, points = [], []
        for picture, given, box, what in (
            (picture1, points1, box1, "first picture"),
            (picture2, points2, box2, "second picture"),
        ):
            view = self.look(picture, given, box=box, what=what)
            views.append(view)
            points.append(make_points(given, view.picture.size, f"points of {view.picture.name}"))
        # An order that depends on the positions only: neither names nor the order of clicks can show in the result.
        orders = [np.lexsort(one.xy.T) for one in points]
        instance = self._instance(views, [one.xy[order] for one, order in zip(points, orders, strict=True)])
        result = find_matching(instance, solver, full=not partial)
        instance, assignment = _given_order(instance, result.assignment, *orders)
        return Match(
            pictures=(views[0].picture, views[1].picture),
            points=(points[0], points[1]),
            assignment=assignment,
            instance=instance,
            objective=result.objective,
            lower_bound=result.lower_bound,
            optimal=result.optimal,
            partial=partial,
            model=self.name,
        )

    def _instance(self, views: Sequence[View], places: Sequence[np.ndarray]) -> Instance:
        images = [_as_image(str(k), view.picture, xy) for k, (view, xy) in enumerate(zip(views, places, strict=True))]
        pair = KeypointPair(images[0], images[1], np.arange(len(places[0])), np.arange(len(places[1])))
        with torch.no_grad(), reproducible(self.config.threads):
            seen = {image.image_id: self._features(view, image) for view, image in zip(views, images, strict=True)}
            self._matcher.source = lambda wanted: [seen[image.image_id] for image in wanted]
            return self._matcher.instances([pair])[0]

    @torch.no_grad()
    def _features(self, view: View, image: KeypointImage) -> Features:
        return features_in_maps(view.maps, [image], self._matcher.unit)[0], view.pooled[0]


def _as_image(image_id: str, picture: Picture, xy: np.ndarray) -> KeypointImage:
    """A picture with keypoints (n, 2) in px of it, as the methods take it; their names say nothing."""
    names = tuple(map(str, range(len(xy))))
    return KeypointImage(image_id, "", Path(picture.name), (FRAME, FRAME), names, picture.to_frame(xy), picture.box)


def _given_order(
    instance: Instance, assignment: np.ndarray, order1: np.ndarray, order2: np.ndarray
) -> tuple[Instance, np.ndarray]:
    """An instance and its assignment with keypoint i called ``order1[i]``, or ``order2[i]`` in the second picture."""
    unary, found = np.empty_like(instance.unary), np.full(len(order1), -1, dtype=np.int64)
    unary[np.ix_(order1, order2)] = instance.unary
    matched = assignment >= 0
    found[order1[matched]] = order2[assignment[matched]]
    renamed = Instance(
        unary=unary, edges1=order1[instance.edges1], edges2=order2[instance.edges2], quadratic=instance.quadratic
    )
    return renamed, found
