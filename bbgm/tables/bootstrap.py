"""Scores under resampling of the test pairs: what the choice of the pairs alone would change."""

from collections.abc import Iterator, Sequence

import numpy as np

from bbgm.data.images.split import class_key
from bbgm.runs.counts import PairCounts
from bbgm.scoring.metrics import OF_SCORES, Measure
from bbgm.tables.columns import Cells

RESAMPLES = 10_000
CHUNK = 500
"""Resamples drawn at once, so that their weights stay in the processor's cache."""


def resampled_scores(
    rows: Sequence[Sequence[PairCounts]], cells: Cells, measure: Measure, resamples: int = RESAMPLES, seed: int = 0
) -> np.ndarray:
    """Scores of several rows of a table when the test pairs of each class are resampled with replacement (bootstrap).

    All rows and runs see the same resampled pairs, so differences between rows are *paired*. Differences from the
    textbook bootstrap:

    1. Each unit is drawn a Poisson(1) number of times, independently of the others, instead of all together as often
       as there are units. A pooled score is a ratio, which their total does not change; drawing is much faster.
    2. Units are pairs (or whole sets of images), though pairs share images. So this is the uncertainty from the choice
       of pairs among the given images; that of the images would add to it.

    Args:
        rows: for each row its runs, all of the same pairs.
        measure: accuracy or F1, in %.
        cells: what each column is the mean of.

    Returns:
        (resamples, rows, columns), %, a row's score being the mean over its runs; the same for any number of threads.
        NaN where a resample has no pair of a column.
    """
    runs = [run for row in rows for run in row]
    owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    average = (owner[:, None] == np.arange(len(rows))) / np.array([len(row) for row in rows])  # (runs, rows)
    counts = np.stack([run.counts for run in runs], axis=1)[..., OF_SCORES]  # (U, runs, 3)
    # In single precision whole numbers below 2^24 add up exactly, in any order; weights make the sums a little larger.
    dtype = np.float32 if counts.sum(axis=0).max(initial=0) < 2**22 else np.float64
    columns_of: dict[bytes, tuple[np.ndarray, list[int]]] = {}  # a cell may be of two columns: its class and the mean
    for column, of in enumerate(cells.values()):
        for cell in of:
            columns_of.setdefault(cell.tobytes(), (cell, []))[1].append(column)
    sums, parts = np.zeros((resamples, len(rows), len(cells))), np.zeros((resamples, 1, len(cells)))
    for cls in dict.fromkeys(runs[0].cls.tolist()):
        units = np.flatnonzero(runs[0].cls == cls)
        inside = [(cell, columns) for cell, columns in columns_of.values() if runs[0].cls[cell[0]] == cls]
        tables = [counts[cell].reshape(len(cell), -1).astype(dtype) for cell, _ in inside]
        for chosen, weights in _weights(len(units), resamples, [seed, class_key(str(cls))], dtype):
            for (cell, columns), table in zip(inside, tables, strict=True):
                pooled = weights[:, np.searchsorted(units, cell)] @ table
                pooled = pooled.reshape(-1, len(runs), counts.shape[2]).astype(np.float64)
                there = pooled.any(axis=(1, 2))[:, None]
                scores = measure(pooled) @ average  # 0 where the resample has no pair of the cell
                for column in columns:
                    sums[chosen, :, column] += scores
                    parts[chosen, :, column] += there
    return np.where(parts > 0, sums / np.maximum(parts, 1), np.nan)


def _weights(n: int, resamples: int, seed: Sequence[int], dtype: type) -> Iterator[tuple[slice, np.ndarray]]:
    """Poisson(1) numbers of draws of n units, (CHUNK, n) at a time, read from a table of 65536 equally likely ones."""
    generator = np.random.default_rng(list(seed))
    chances = np.exp(-1.0) / np.cumprod([1, 1, 2, 3, 4, 5, 6, 7, 8])
    steps = np.round(65536 * np.cumsum(chances) / chances.sum())
    table: np.ndarray = np.searchsorted(steps, np.arange(65536), side="right").astype(dtype)
    for first in range(0, resamples, CHUNK):
        chosen = slice(first, min(first + CHUNK, resamples))
        yield chosen, table[generator.integers(0, 65536, (chosen.stop - first, n), dtype=np.uint16)]
