"""What several finished runs predicted for the same test pairs. Knows nothing of Jupyter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bbgm.base.paths import results_root
from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.data.sampling.recorded import rebuild_pairs
from bbgm.runs.results import RunRecord
from bbgm.scoring.predictions import Prediction
from bbgm.tables.runs import finished_folders, load_in_place


@dataclass(frozen=True, eq=False)
class Compared:
    """P test pairs as M methods matched them.

    Attributes:
        titles: (M,) of the methods, each another one.
        scores: (M,) float64, accuracy in [0, 1], mean over the classes.
        pairs: (P,) class by class, in the order of the test.
        found: for each method and pair the assignment (n1,) int32, index into ``kept2``, -1 = unmatched.
    """

    titles: tuple[str, ...]
    scores: np.ndarray
    pairs: tuple[KeypointPair, ...]
    found: tuple[tuple[np.ndarray, ...], ...]

    @property
    def errors(self) -> np.ndarray:
        """(M, P) int64: keypoints of the source that are not matched as they should be; a missed match counts once."""
        truth = [pair.truth for pair in self.pairs]
        return np.array([[int(np.sum(y != t)) for y, t in zip(ys, truth, strict=True)] for ys in self.found])


def find_records(
    dataset: str, keypoint_filter: str, budget: str, methods: Sequence[str] = (), seed: int = 0
) -> list[RunRecord]:
    """Finished runs of one data set, filter and seed: those of ``methods`` in this order, or all, the most accurate
    first.

    A method without a finished run is left out.

    Raises:
        ValueError: no such data set, filter, budget or method; or no run is finished; or files of one were altered.
    """
    configs = [load_run(name, budget, seed, dataset=dataset, filter=keypoint_filter) for name in methods or ("bbgm",)]
    root = results_root()
    folders = [
        folder
        for folder in finished_folders(budget, root, dataset, keypoint_filter)
        if folder.name == f"seed{seed}" and (not methods or folder.parent.name in methods)
    ]
    if not folders:
        which = f" of {', '.join(methods)}" if methods else ""
        raise ValueError(
            f"no finished run{which} with seed {seed} in {root / configs[0].folder.parents[1]}: make one with 'bbgm "
            f"train --method {configs[0].method} --budget {budget} --dataset {dataset} --filter {keypoint_filter} "
            f"--seed {seed}', or all with 'snakemake --cores all --config budget={budget}'"
        )
    records = [load_in_place(folder, root) for folder in folders]
    if methods:
        return sorted(records, key=lambda one: list(methods).index(one.config.method))
    return sorted(records, key=lambda one: (-one.metrics["mean"]["accuracy"], one.config.method))


def compare_records(records: Sequence[RunRecord]) -> Compared:
    """The predictions of runs, side by side.

    Raises:
        ValueError: no run; two were tested on different pairs; or the data have changed since.
    """
    if not records:
        raise ValueError("there are no runs to compare: give one or more")
    predictions = [one.predictions for one in records]
    tested = [[_identity(one) for one in each] for each in predictions]
    for one, its_pairs in zip(records, tested, strict=True):
        if its_pairs != tested[0]:
            raise ValueError(
                f"{records[0].folder} and {one.folder} were tested on different pairs, so their matchings cannot be "
                "shown beside each other: repeat the older one with 'bbgm train', or leave its method out"
            )
    config = records[0].config
    dataset = open_dataset(config.data, config.protocol)
    classes = [one.cls for one in predictions[0]]
    order = [k for cls in dict.fromkeys(classes) for k, other in enumerate(classes) if other == cls]
    pairs = tuple(
        pair
        for cls in dict.fromkeys(classes)
        for pair in rebuild_pairs(dataset, cls, [one for one in predictions[0] if one.cls == cls])
    )
    return Compared(
        _titles(records),
        np.array([one.metrics["mean"]["accuracy"] for one in records]),
        pairs,
        tuple(tuple(each[k].assignment for k in order) for each in predictions),
    )


def _identity(one: Prediction) -> tuple[str, str, str, bytes, bytes]:
    """What must be the same in two predictions of one pair."""
    return one.cls, one.source, one.target, one.kept1.tobytes(), one.kept2.tobytes()


def _titles(records: Sequence[RunRecord]) -> tuple[str, ...]:
    """Titles of the methods; with the experiment's name where two have the same, such as BB-GM with other training."""
    titles = [one.config.title for one in records]
    return tuple(
        f"{title} ({one.config.method})" if titles.count(title) > 1 else title
        for title, one in zip(titles, records, strict=True)
    )
