"""A slider over figures that were drawn beforehand, so that it moves without waiting for the kernel."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets as t

from bbgm.widgets.pictures import STATIC, as_png, with_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Frames(anywidget.AnyWidget):
    """Figures one after another, chosen with a slider or played.

    Args:
        figures: label -> figure, in their order.
        title: what the slider changes.
        start: index of the figure that is shown first, and in exported HTML.
        still: shown in exported HTML instead, such as some of the figures beside each other.
        pause: ms per figure when they are played.

    Raises:
        ValueError: no figure, or `start` is not one of them.
    """

    _esm = STATIC / "frames.js"
    _css = STATIC / "frames.css"

    frames = t.List(t.Bytes(), help="PNG of each").tag(sync=True)
    labels = t.List(t.Unicode()).tag(sync=True)
    title = t.Unicode().tag(sync=True)
    index = t.Int(0).tag(sync=True)
    pause = t.Int(help="ms per picture").tag(sync=True)

    def __init__(
        self,
        figures: Iterable[tuple[str, "Figure"]],
        *,
        title: str,
        start: int = 0,
        still: "Figure | None" = None,
        pause: int = 300,
    ) -> None:
        drawn = [(label, *as_png(figure)) for label, figure in figures]
        if not 0 <= start < len(drawn):
            raise ValueError(
                f"start is {start}, and there are {len(drawn)} figures: give figures, and the index of one"
            )
        labels, frames, self._alts = zip(*drawn, strict=True)
        self._still = None if still is None else as_png(still)
        super().__init__(frames=list(frames), labels=list(labels), title=title, index=start, pause=pause)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        text = f"{self.title}: {self.labels[self.index]} ({self.index + 1} of {len(self.frames)} pictures)"
        picture = self._still or (self.frames[self.index], self._alts[self.index])
        return with_picture(super()._repr_mimebundle_(**options), picture, text)
