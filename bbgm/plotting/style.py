"""Style of the figures, and files that are the same on every run.

Figures are plain ``Figure`` objects: pyplot keeps none of them (seaborn loads it, and draws into given axes), and
importing this module does not import matplotlib.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from bbgm.base.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")
T = TypeVar("T")

SHEET = Path(__file__).with_name("bbgm.mplstyle")
WIDTH = 4.8  # in: text width of the paper, 122 mm
WIDE = 7.2  # in: of diagrams and of pictures side by side, which would be too small otherwise
# Green and red of the paper's matchings, in tints that colour-blind readers tell apart.
RIGHT, WRONG = "#009E73", "#D55E00"
# Of cycles (paper Fig. 3): matches that agree, and two that demand a third. What contradicts them is WRONG.
AGREES, DEMANDS = "#7CCBB0", "#00523C"
NOTEBOOK_DPI = 160

# Without date and program version, or the bytes would differ between runs and between installations.
METADATA: dict[str, dict[str, Any]] = {
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
}


@contextmanager
def style() -> Iterator[None]:
    """``bbgm.mplstyle`` over matplotlib's defaults, whatever the user's own settings are."""
    from matplotlib import rc_context, rcParamsDefault
    from matplotlib.style import context

    settings = {key: value for key, value in rcParamsDefault.items() if not key.startswith(("backend", "interactive"))}
    with rc_context(settings), context(SHEET):
        yield


def literal(text: str) -> str:
    """A name that others have chosen, e.g. of a class, without mathematics."""
    return text.replace("$", r"\$")


def styled(function: Callable[P, T]) -> Callable[P, T]:
    """Draw under :func:`style`."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        with style():
            return function(*args, **kwargs)

    return wrapper


@styled
def new_figure(height: float, width: float = WIDTH, *, alt: str = "") -> "Figure":
    """An empty figure in the project's style, sizes in inches. A notebook shows it when it is a cell's last value.

    Args:
        alt: what the figure shows, for readers who do not see it; a notebook stores it with the picture.
    """
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """Figure that shows itself without pyplot's inline backend."""

        def _repr_png_(self) -> tuple[bytes, dict[str, str]]:
            import io

            buffer = io.BytesIO()
            with style():
                _fix_layout(self)
                self.savefig(buffer, format="png", dpi=NOTEBOOK_DPI, metadata=METADATA[".png"])
            return buffer.getvalue(), {"alt": alt} if alt else {}

    return NotebookFigure(figsize=(width, height))


@styled
def save_figure(figure: "Figure", stem: Path) -> tuple[Path, Path]:
    """Write ``stem.pdf`` and ``stem.png``; the same figure gives the same bytes.

    Raises:
        WriteError: the folder cannot be written to, or the disk is full.
    """
    stem = Path(stem)
    paths = stem.with_name(stem.name + ".pdf"), stem.with_name(stem.name + ".png")
    for path in paths:
        write_figure(figure, path)
    return paths


@styled
def write_figure(figure: "Figure", path: Path) -> None:
    """Write one file; its suffix chooses PDF or PNG.

    Raises:
        ValueError: another suffix.
        WriteError: as :func:`save_figure`.
    """
    path = Path(path)
    check_suffix(path)
    _fix_layout(figure)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, metadata=METADATA[path.suffix])


def check_suffix(path: Path) -> None:
    """Check before a computation that a figure of this name can be written.

    Raises:
        ValueError: neither PDF nor PNG.
    """
    if path.suffix not in METADATA:
        raise ValueError(f"figure {path} has the suffix {path.suffix!r}: use one of {sorted(METADATA)}")


def _fix_layout(figure: "Figure") -> None:
    """Lay the figure out once: a second layout, for the next file or in a notebook, would shift things slightly."""
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
