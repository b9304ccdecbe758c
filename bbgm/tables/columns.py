"""The columns of a table as sets of test pairs, and their scores.

Within a *cell*, such as the pairs of one class, counts are pooled before a ratio is taken; a column is the mean of its
cells (paper Sec. 4). A class is a column of one cell; the mean over the classes one of all; `hard` in the SPair table
has for each class the cell of its hard pairs.
"""

from collections.abc import Mapping

import numpy as np

from bbgm.runs.counts import PairCounts
from bbgm.scoring.metrics import Measure

Cells = dict[str, list[np.ndarray]]
"""For each column its cells, each the indices of its units, all of one class."""


def class_cells(pairs: PairCounts, columns: Mapping[str, str], summary: str) -> Cells:
    """A column for each class, in the order of ``columns`` (class -> name), then further ones; then their mean."""
    present = list(dict.fromkeys(pairs.cls.tolist()))
    known = [cls for cls in columns if cls in present]
    cells = {
        columns.get(cls, cls.lower()): [np.flatnonzero(pairs.cls == cls)]
        for cls in known + [cls for cls in present if cls not in columns]
    }
    return {**cells, summary: [cell for (cell,) in cells.values()]}


def viewpoint_cells(pairs: PairCounts, columns: Mapping[str, str], summary: str) -> Cells:
    """A column for each viewpoint difficulty (``columns``: its number -> name), the mean over the classes that have it.

    Raises:
        ValueError: the pairs have no difficulties.
    """
    from bbgm.data.readers.spair import parse_difficulty

    labels = set(pairs.difficulty.tolist())
    if "" in labels:
        raise ValueError("test pairs without a label of their difficulty: only SPair-71k has them")
    level = {label: str(parse_difficulty(label)["viewpoint"]) for label in labels}
    levels = np.array([level[label] for label in pairs.difficulty.tolist()])
    whole = [np.flatnonzero(pairs.cls == cls) for cls in dict.fromkeys(pairs.cls.tolist())]
    cells: Cells = {}
    for number, name in columns.items():
        cells[name] = [cell[levels[cell] == number] for cell in whole if (levels[cell] == number).any()]
    return {**{name: found for name, found in cells.items() if found}, summary: whole}


def column_scores(pairs: PairCounts, cells: Cells, measure: Measure) -> np.ndarray:
    """(columns,): scores of one run, in the unit of the measure."""
    return np.array([np.mean([measure(pairs.counts[cell].sum(axis=0)) for cell in of]) for of in cells.values()])
