"""A widget for JupyterLab that shows how methods matched the test pairs, to be searched for their errors.

The browser (``static/gallery.js``) chooses, sorts and draws; the kernel sends everything once, and of many images those
that are shown. `Gallery.save` writes the same as a page that needs no kernel. Where neither is possible, such as on
GitHub, the pairs with the most errors are shown as a picture.
"""

import base64
import html
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets as t

from bbgm.base.atomic import write_text
from bbgm.data.images.keypoints import FRAME, KeypointImage
from bbgm.plotting.matching import own_width, plot_matchings
from bbgm.plotting.style import RIGHT, WRONG, literal
from bbgm.widgets.compared import Compared, compare_records, find_records
from bbgm.widgets.pictures import STATIC, as_png, jpeg, program, with_picture

ORDERS = ("most errors", "fewest errors", "worse than all others", "better than all others", "order of the test")
MANY = 400
"""With more images (about 10 kB each), only those that are shown are sent."""
COLUMNS, LINES = 3, 3
"""Methods that are shown at first, and pairs of the picture."""


def gallery(
    dataset: str = "willow",
    keypoint_filter: str = "intersection",
    *,
    budget: str = "demo",
    methods: Sequence[str] = (),
    seed: int = 0,
) -> "Gallery":
    """How the finished runs of a budget matched their test pairs.

    Args:
        dataset, keypoint_filter: of the runs.
        methods: names of experiments, in the order in which they are shown; those without a finished run are left out.
            Empty: all that there are, the most accurate first.
        seed: of the runs.

    Raises:
        ValueError: no such data set, filter, budget or method; no run of them is finished; or two runs were tested on
            different pairs.
    """
    return Gallery(compare_records(find_records(dataset, keypoint_filter, budget, methods, seed)))


class Gallery(anywidget.AnyWidget):
    """Test pairs with the matchings of several methods, filtered by class and errors, sorted, one page at a time.

    Errors are keypoints of the left image that are not matched as they should be.

    Args:
        compared: pairs, and how each method matched them.
        rows: pairs per page; three times as many while only one method is shown.

    Raises:
        ValueError: there is no pair.
    """

    _esm = program("elements.js", "gallery.js")
    _css = STATIC / "gallery.css"

    methods = t.List(t.Dict(), help="title and accuracy in [0, 1] of each").tag(sync=True)
    images = t.List(t.Dict(), help="name, width, xy (K, 2) and names (K,) of each image, frame px").tag(sync=True)
    pictures = t.List(t.Bytes(), help="JPEG of each image; empty: is sent when it is shown").tag(sync=True)
    pairs = t.List(t.Dict(), help="cls, difficulty, images, kept, truth; found: of each method").tag(sync=True)
    colours = t.List(t.Unicode(), [RIGHT, WRONG]).tag(sync=True)
    frame = t.Int(FRAME, help="height of an image").tag(sync=True)
    rows = t.Int(help="pairs per page; three times as many if one method is shown").tag(sync=True)
    limit = t.Int(help="the largest number of errors of a pair").tag(sync=True)
    category = t.Unicode("", help="the class whose pairs are shown; empty: all").tag(sync=True)
    methods_shown = t.List(t.Int(), help="their numbers").tag(sync=True)
    method = t.Int(0, help="number of the method whose errors choose and sort the pairs").tag(sync=True)
    least = t.Int(0, help="errors of that method, at least").tag(sync=True)
    most = t.Int(help="errors of that method, at most").tag(sync=True)
    order = t.Enum(ORDERS, ORDERS[0]).tag(sync=True)
    page = t.Int(0, help="counts from 0").tag(sync=True)

    def __init__(self, compared: Compared, *, rows: int = 5) -> None:
        if not compared.pairs:
            raise ValueError("there are no test pairs to show: give runs with protocol.test_pairs_per_class above 0")
        self.compared = compared
        images = {image.image_id: image for pair in compared.pairs for image in (pair.source, pair.target)}
        self._images = tuple(images.values())
        place = {name: k for k, name in enumerate(images)}
        all_sent = len(images) <= MANY
        limit = int(compared.errors.max())
        super().__init__(
            methods=[
                {"title": title, "accuracy": float(score)}
                for title, score in zip(compared.titles, compared.scores, strict=True)
            ],
            images=[_plain_image(image) for image in self._images],
            pictures=[jpeg(image.crop()) if all_sent else b"" for image in self._images],
            pairs=[
                {
                    "cls": pair.source.cls,
                    "difficulty": pair.difficulty,
                    "images": [place[pair.source.image_id], place[pair.target.image_id]],
                    "kept": [pair.kept1.tolist(), pair.kept2.tolist()],
                    "truth": pair.truth.tolist(),
                    "found": [found[k].tolist() for found in compared.found],
                }
                for k, pair in enumerate(compared.pairs)
            ],
            rows=rows,
            limit=limit,
            most=limit,
            methods_shown=list(range(min(COLUMNS, len(compared.titles)))),
        )
        self.on_msg(self._receive)

    def _receive(self, _widget: Any, content: Mapping[str, Any], _buffers: list[Any]) -> None:
        """The browser asks for images that were not sent."""
        if content.get("kind") == "images":
            wanted = [int(k) for k in content["wanted"] if 0 <= int(k) < len(self._images)]
            self.send({"kind": "images", "wanted": wanted}, [jpeg(self._images[k].crop()) for k in wanted])

    def save(self, path: str | Path) -> Path:
        """Write the gallery, as it is shown now, into an HTML file that needs neither a kernel nor the internet.

        Raises:
            bbgm.base.atomic.WriteError: the file cannot be written.
        """
        names = [name for name in self.trait_names(sync=True) if not name.startswith("_")]
        values = {name: getattr(self, name) for name in names if name in Gallery.class_own_traits()}
        values["pictures"] = [base64.b64encode(jpeg(image.crop())).decode() for image in self._images]
        parts = {
            "TITLE": html.escape(f"Matchings: {', '.join(self.compared.titles)}"),
            "STYLE": (STATIC / "gallery.css").read_text(encoding="utf-8"),
            "PROGRAM": program("elements.js", "gallery.js").replace("export default { render };\n", ""),
            "VALUES": json.dumps(values).replace("</", "<\\/"),
        }
        text = (STATIC / "page.html").read_text(encoding="utf-8")
        for name, part in parts.items():
            text = text.replace("{{" + name + "}}", part, 1)
        write_text(Path(path), text)
        return Path(path)

    @cached_property
    def _picture(self) -> tuple[bytes, str]:
        """The first pairs of the first page, as a picture, and its alternative text."""
        compared = self.compared
        first = np.argsort(-compared.errors[0], kind="stable")[:LINES]
        shown = [(int(k), m) for k in first for m in self.methods_shown[:COLUMNS]]
        pairs = [compared.pairs[k] for k, _ in shown]
        found = [compared.found[m][k] for k, m in shown]
        titles = []
        for (_, m), pair, y in zip(shown, pairs, found, strict=True):
            true = pair.truth >= 0
            titles.append(
                f"{compared.titles[m]}, {pair.source.cls}: {np.sum(true & (y == pair.truth))} of {true.sum()}"
            )
        return as_png(plot_matchings(pairs, found, columns=COLUMNS, titles=list(map(literal, titles))))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        text = f"{len(self.pairs)} pairs, matched by {', '.join(self.compared.titles)}"
        return with_picture(super()._repr_mimebundle_(**options), self._picture, text)


def _plain_image(image: KeypointImage) -> dict[str, Any]:
    """An image as the browser takes it, without its pixels."""
    return {
        "name": image.image_id,
        "width": round(own_width(image), 1),
        "xy": image.xy.round(1).tolist(),
        "names": list(image.names),
    }
