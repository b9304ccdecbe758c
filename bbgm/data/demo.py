"""The demo data: rendered counterparts of the three data sets.

They are written by the renderer `bbgm_demo`, a separate distribution in ``demo_src/``. It is imported only
when demo data are requested: without it, everything else works.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bbgm.base.atomic import write_error
from bbgm.base.paths import cache_root


@contextmanager
def explain_missing_renderer() -> Iterator[None]:
    """A context for ``import bbgm_demo``, with a clear error if it is missing.

    Raises:
        ImportError: the renderer is not installed; the error says how to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "bbgm_demo":
            raise
        raise ImportError(
            "the demo data are rendered by the package bbgm_demo, which is not installed: run 'pip install ./demo_src' "
            "in the checkout, or use a real data set (data.source: original)"
        ) from error


def demo_root(seed: int, images_per_class: int) -> Path:
    """Where the demo data with these parameters are kept, in the cache: a root like ``BBGM_DATA``."""
    with explain_missing_renderer():
        import bbgm_demo
    return cache_root() / "demo" / f"{bbgm_demo.renderer_version()}-seed{seed}-n{images_per_class}"


def demo_classes(dataset: str) -> tuple[str, ...]:
    """The classes of the demo data in the format of a data set, by its names."""
    with explain_missing_renderer():
        import bbgm_demo
    return bbgm_demo.FORMATS[dataset].classes


def demo_needs(dataset: str) -> tuple[str, ...]:
    """The data sets whose demo data those of a data set are made from."""
    with explain_missing_renderer():
        import bbgm_demo
    needs = bbgm_demo.FORMATS[dataset].needs
    return (needs,) if needs else ()


def make_demo(datasets: Sequence[str], seed: int, images_per_class: int, folder: Path | None = None) -> dict[str, Path]:
    """Render the demo data in the formats of some data sets, unless they are there already.

    Args:
        datasets: "willow", "voc", "spair"; none means all.
        seed: of all random numbers.
        images_per_class: in Willow's format; the other formats grow with it.
        folder: where to write; default `demo_root`.

    Returns:
        The folder of each data set.

    Raises:
        ImportError: the renderer is not installed.
        FileExistsError: a folder exists and was not made by the renderer.
        ValueError: too few images, a negative seed, or an unknown data set.
        bbgm.base.atomic.WriteError: the disk is full or not writable. Nothing half-written is left.
    """
    with explain_missing_renderer():
        import bbgm_demo
    try:
        return bbgm_demo.make_trees(folder or demo_root(seed, images_per_class), datasets, seed, images_per_class)
    except bbgm_demo.WriteError as error:
        raise write_error(error, Path(error.filename)) from error
