"""The on-disk formats of the three data sets, one writer for each."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bbgm_demo.formats import spair, voc, willow
from bbgm_demo.pictures import CLASSES


@dataclass(frozen=True)
class Format:
    """One of the formats.

    Attributes:
        folder: the name of its tree.
        classes: as it names them.
        least: fewest images per class with which, as a rule, both the training and the test part have pairs.
        write: writes a tree, given the folder, the seed, and the number of images per class.
        needs: the format whose tree must be written before, in the same folder.
    """

    folder: str
    classes: tuple[str, ...]
    least: int
    write: Callable[[Path, int, int], None]
    needs: str | None = None


FORMATS: dict[str, Format] = {
    "willow": Format(willow.FOLDER, CLASSES, 4, willow.write_tree),
    "voc": Format(voc.FOLDER, tuple(voc.NAMES.values()), 8, voc.write_tree),
    "spair": Format(spair.FOLDER, tuple(voc.NAMES.values()), 8, spair.write_tree, needs="voc"),
}
