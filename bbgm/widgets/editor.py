"""A widget for JupyterLab in which two pictures, their keypoints, the solver and the network are chosen.

The browser (``static/editor.js``) draws and reports what the user does; everything is computed here. Where no kernel
runs, such as in exported HTML, the last matching is shown as a picture.
"""

import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets as t

from bbgm.base.atomic import write_text
from bbgm.data.images.pictures import is_turned, read_rgb
from bbgm.photos import Match, Model
from bbgm.photos.picture import PictureLike, read_pixels
from bbgm.photos.points import PointsLike, make_points
from bbgm.photos.solving import METHODS
from bbgm.widgets.description import describe, points_files, summary
from bbgm.widgets.pair import Keypoint, Side, as_json, keypoints_of, match_sides
from bbgm.widgets.pictures import STATIC, as_png, program, shown, with_picture


class MatchingEditor(anywidget.AnyWidget):
    """Two pictures with keypoints that can be clicked, dragged, named, hidden and removed; the matching follows.

    Args:
        picture1, points1, picture2, points2: to start with, as for `bbgm.match`.
        models: what can be chosen besides the model that comes with the package: files of `bbgm model export`, or
            folders of runs.

    Raises:
        FileNotFoundError, ValueError: see `bbgm.match`.
    """

    _esm = program("elements.js", "editor.js")
    _css = STATIC / "editor.css"

    pictures = t.List(t.Dict(), help="name, width, height (px) and data (JPEG) of each").tag(sync=True)
    keypoints = t.List(t.List(), help="of each picture, as of `bbgm.widgets.pair.Keypoint`").tag(sync=True)
    moving = t.Bool(False, help="a keypoint is being dragged").tag(sync=True)
    solver = t.Enum(METHODS, "best").tag(sync=True)
    solvers = t.List(t.Unicode(), list(METHODS)).tag(sync=True)
    partial = t.Bool(False, help="keypoints may stay unmatched").tag(sync=True)
    graphs = t.Bool(True, help="draw the graphs").tag(sync=True)
    network = t.Unicode(help="one of networks").tag(sync=True)
    networks = t.List(t.Unicode()).tag(sync=True)
    revision = t.Int(0, help="counts the user's changes; the result tells which one it is of").tag(sync=True)
    result = t.Dict(help="what is drawn: `bbgm.widgets.description`").tag(sync=True)

    def __init__(
        self,
        picture1: PictureLike,
        points1: PointsLike,
        picture2: PictureLike,
        points2: PointsLike,
        *,
        models: Iterable[str | Path] = (),
    ) -> None:
        self._models: dict[str, Model] = {}
        self._sources: dict[str, str | Path | None] = {}
        for source in (None, *models):
            self._add(source)
        self._sides = [Side(*read_pixels(given, what)) for given, what in ((picture1, "left"), (picture2, "right"))]
        points = [
            make_points(given, side.size, f"points of {side.name}")
            for given, side in zip((points1, points2), self._sides, strict=True)
        ]
        self._match: Match | None = None
        self._done: Any = None
        self._parts: list[bytes] = []
        super().__init__(
            pictures=[shown(side.name, side.pixels) for side in self._sides],
            keypoints=[[vars(one) for one in keypoints_of(given)] for given in points],
            networks=list(self._models),
            network=next(iter(self._models)),
        )
        self.observe(self._update, ["keypoints", "moving", "solver", "partial", "network", "revision"])
        self.on_msg(self._receive)
        self._update()

    @property
    def match(self) -> Match:
        """The matching that is shown.

        Raises:
            ValueError: there is none; the message says why.
        """
        if self._match is None:
            raise ValueError(f"there is no matching to take: {self.result['summary']}")
        return self._match

    def compare(self) -> dict[str, Match]:
        """What each solver finds for the keypoints that are shown, by its name.

        Raises:
            ValueError: there are too few keypoints to match; the message says so.
        """
        return {
            solver: match_sides(
                self._models[self.network], self._sides, self._read(), solver=solver, partial=self.partial
            )
            for solver in METHODS
        }

    def save(self, folder: str | Path = ".") -> tuple[Path, Path]:
        """Write the points file of each picture, as ``bbgm match --points`` reads it, and return their paths.

        Raises:
            ValueError: two keypoints of a picture have the same name.
            bbgm.base.atomic.WriteError: the folder cannot be written to.
        """
        one, two = (Path(folder) / name for name in self._file_names())
        for path, side, keypoints in zip((one, two), self._sides, self._read(), strict=True):
            write_text(path, as_json(keypoints, side.name))
        return one, two

    def load_network(self, source: str | Path) -> None:
        """Add a model file or the folder of a run to the networks, and choose it.

        Raises:
            FileNotFoundError, ValueError: see `bbgm.Model`.
        """
        name = self._add(source)
        with self.hold_sync():
            self.networks = list(self._models)
            self.network = name

    def _add(self, source: str | Path | None) -> str:
        model = Model(source)
        self._models[model.name], self._sources[model.name] = model, source
        return model.name

    def set_picture(self, side: int, picture: PictureLike, name: str | None = None) -> None:
        """Show another picture, without keypoints.

        Args:
            side: 0 = left, 1 = right.
            name: how it is called; None: as its file.

        Raises:
            FileNotFoundError, ValueError: see `bbgm.match`.
        """
        found, pixels = read_pixels(picture, ("left", "right")[side])
        self._sides[side] = Side(name or found, pixels)
        with self.hold_sync(), self.hold_trait_notifications():
            self.keypoints = [[] if k == side else one for k, one in enumerate(self.keypoints)]
            self.pictures = [shown(one.name, one.pixels) for one in self._sides]

    # ---- From the browser

    def _receive(self, _widget: Any, content: Mapping[str, Any], buffers: list[Any]) -> None:
        """A message that is not a change of state: a network to load, or a part of a picture."""
        try:
            if content.get("kind") == "load":
                self.load_network(str(content["path"]).strip())
            elif content.get("kind") == "upload":
                self._upload(content, buffers)
        except (OSError, ValueError) as error:
            self._notify(str(error))

    def _upload(self, content: Mapping[str, Any], buffers: list[Any]) -> None:
        if content["part"] == 0:
            self._parts = []
        self._parts.append(bytes(buffers[0]))
        if len(self._parts) < content["parts"]:
            return
        name = Path(str(content["name"])).name
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(b"".join(self._parts))
            self._parts = []
            turned = is_turned(path)
            pixels = read_rgb(path, upright=True)
        self.set_picture(int(content["side"]), pixels, name)
        if turned:
            self._notify(
                f"{name} is shown upright, as its EXIF tag asks; 'bbgm match' needs it stored so: "
                f"mogrify -auto-orient {name}"
            )

    def _notify(self, text: str) -> None:
        self.result = {**self.result, "notice": text}

    # ---- The matching

    def _read(self) -> list[list[Keypoint]]:
        return [[Keypoint.read(one) for one in side] for side in self.keypoints]

    def _update(self, _change: Any = None) -> None:
        """Match again if anything has changed that matters."""
        state = [self.keypoints, self.moving, self.solver, self.partial, self.network, list(self._sides)]
        if state == self._done:
            if self.result.get("revision") != self.revision:
                self.result = {**self.result, "revision": self.revision}
            return
        self._done = state
        start, files = time.perf_counter(), []
        try:
            keypoints = self._read()
            files = points_files(self._file_names(), keypoints, [side.name for side in self._sides])
            self._match = match_sides(
                self._models[self.network], self._sides, keypoints, solver=self.solver, partial=self.partial,
                moving=self.moving,
            )  # fmt: skip
        except ValueError as error:
            self._match = None
            self.result = {"revision": self.revision, "summary": str(error), "files": files}
            return
        seconds = time.perf_counter() - start
        self.result = {
            **describe(self._match, keypoints, self._file_names(), self.solver, self._sources[self.network]),
            "files": files,
            "summary": summary(self._match, self.solver, seconds),
            "revision": self.revision,
        }

    def _file_names(self) -> tuple[str, str]:
        one, two = (Path(side.name).stem for side in self._sides)
        return f"{one}.json", f"{two}_2.json" if one == two else f"{two}.json"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        picture = None if self._match is None else as_png(self._match.draw(edges=self.graphs))
        return with_picture(super()._repr_mimebundle_(**options), picture, str(self._match or self.result["summary"]))
