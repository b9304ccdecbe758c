"""What is counted in each test pair of a run, as arrays; see `bbgm.scoring.metrics`.

Every number of a table, and every resampling of it, comes from these counts, and they from ``predictions.npz``.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bbgm.runs.results import RunRecord
from bbgm.scoring.metrics import N1, N2, TRUE, accuracy, count_pairs, f1
from bbgm.scoring.predictions import read_arrays

Which = Literal["test", "first", "all"]
"""Test pairs; the first pair of each test set of images (which the authors score); all pairs of the sets."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of U units: of a pair each, or of all pairs of a set, which share images and so belong together.

    Attributes:
        cls: (U,) str, class. difficulty: (U,) str, label of the pair, empty where the data set has none.
        counts: (U, 5) int64, see `bbgm.scoring.metrics.TRUE` and what follows it.
        n_pairs: number of pairs.
        identity: equal if and only if the pairs, and the keypoints that were to be matched, are.
    """

    cls: np.ndarray
    difficulty: np.ndarray
    counts: np.ndarray
    n_pairs: int
    identity: str


def read_counts(run: RunRecord, which: Which = "test", joint: bool = False) -> PairCounts:
    """Counts of a run.

    Args:
        which: test pairs, or pairs of the test sets.
        joint: of sets, what was matched jointly (BB-GM-Multi) rather than pair by pair.

    Raises:
        ValueError: the run has no such pairs, its predictions cannot be read, or do not give the scores of its
            metrics.json.
    """
    path = run.folder / "predictions.npz"
    arrays = read_arrays(path)[which != "test"]
    if which == "first":
        arrays = _select(arrays, (arrays["p"] == 0) & (arrays["q"] == 1))
    if not len(arrays["cls"]):
        what = "test pairs" if which == "test" else "test sets (protocol.test_sets_per_class)"
        raise ValueError(f"{path} has no {what}: delete the folder and run 'bbgm train' again")
    found = arrays["joint" if joint else "assignment"]
    counts = count_pairs(found, arrays["truth"], arrays["n1"], arrays["n2"])
    digest = hashlib.sha256()
    for part in (arrays["cls"], arrays["source"], arrays["target"], counts[:, [TRUE, N1, N2]]):
        digest.update("\n".join(map(str, part.ravel().tolist())).encode())
    cls, difficulty = arrays["cls"], arrays["difficulty"]
    n_pairs = len(cls)
    if which == "test":
        _check(run, cls, counts)
    if which == "all":
        _, first, unit = np.unique(
            np.char.add(np.char.add(cls, " "), arrays["number"].astype(str)), return_index=True, return_inverse=True
        )
        order = np.argsort(first)  # sets in the order of the file
        total = np.zeros((len(first), counts.shape[1]), dtype=np.int64)
        np.add.at(total, unit, counts)
        cls, difficulty, counts = cls[first][order], difficulty[first][order], total[order]
    return PairCounts(cls, difficulty, counts, n_pairs, digest.hexdigest())


def _select(arrays: Mapping[str, Any], chosen: np.ndarray) -> dict[str, Any]:
    """Some of the pairs; ``chosen``: (P,) bool."""
    keypoints = {"n1": np.repeat(chosen, arrays["n1"]), "n2": np.repeat(chosen, arrays["n2"])}
    ragged = {"kept1": "n1", "kept2": "n2", "assignment": "n1", "truth": "n1", "joint": "n1"}
    return {name: array[keypoints[ragged[name]] if name in ragged else chosen] for name, array in arrays.items()}


def _check(run: RunRecord, cls: np.ndarray, counts: np.ndarray) -> None:
    """Check that predictions and metrics.json come from the same run."""
    for name, measure in (("accuracy", accuracy), ("f1", f1)):
        of_classes = [measure(counts[cls == one].sum(axis=0)) for one in np.unique(cls)]
        stated = run.metrics["mean"].get(name)
        if not isinstance(stated, float | int) or not abs(float(np.mean(of_classes)) - stated) <= 1e-6:
            raise ValueError(
                f"{run.folder}: predictions.npz gives a mean {name} of {np.mean(of_classes):.6f}, metrics.json says "
                f"{stated}: delete the folder and run 'bbgm train' again"
            )
