"""What each of the paper's tables holds: one entry a table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bbgm.config import RunConfig
from bbgm.published import WILLOW_FOLDERS
from bbgm.results import RunRecord

Scores = Callable[[RunRecord], dict[str, float]]


def class_scores(name: str) -> Scores:
    """Score ``name`` of metrics.json for each class, and its ``mean`` over the classes, in per cent."""

    def scores(run: RunRecord) -> dict[str, float]:
        per_class = {cls: 100 * entry[name] for cls, entry in run.metrics["per_class"].items()}
        return {**per_class, "mean": 100 * run.metrics["mean"][name]}

    return scores


ACCURACY = class_scores("accuracy")


def training_setting(run: RunRecord) -> str:
    """What the run was trained on, as in the published Willow rows, e.g. ``Pt=no;Wt=yes``."""
    return run.config.setting


def set_scores(solution: str, pairs: str, name: str = "f1") -> Scores:
    """A score of the test sets: "pairwise" or "joint" solution, "first" or "all" pairs; in per cent."""

    def scores(run: RunRecord) -> dict[str, float]:
        per_class: dict[str, Any] = run.metrics["sets"][solution][pairs]["per_class"]
        percent = 1 if name.endswith("percent") else 100
        values = {cls: percent * float(entry[name]) for cls, entry in per_class.items()}
        return {**values, "mean": float(np.mean(list(values.values())))}

    return scores


def difference(scores: Scores, other: Scores) -> Scores:
    """Points by which one score of a run is above another score of the same run."""

    def points(run: RunRecord) -> dict[str, float]:
        less = other(run)
        return {name: value - less[name] for name, value in scores(run).items()}

    return points


def pairs_of_sets(pairs: str) -> Callable[[RunRecord], int]:
    """Number of the "first" or "all" pairs of a run's test sets."""

    def count(run: RunRecord) -> int:
        k = run.metrics["sets"]["set_size"]
        return int(run.metrics["sets"]["n_sets"]) * (1 if pairs == "first" else k * (k - 1) // 2)

    return count


@dataclass(frozen=True)
class Row:
    """One row that a table makes of the runs of one method.

    Attributes:
        scores: the numbers of one run in per cent: one for each name in the data set, and the summary.
        title: of the row, from the title of the method.
        setting: as it is shown; default the run's.
        published: the published ``setting`` that the row compares with; default the run's.
        pairs: number of test pairs of a run.
    """

    scores: Scores = ACCURACY
    title: Callable[[str], str] = str
    setting: str | None = None
    published: str | None = None
    pairs: Callable[[RunRecord], int] = lambda run: int(run.metrics["n_pairs"])

    def shown_setting(self, run: RunRecord) -> str:
        """What distinguishes rows of one title."""
        return run.config.setting if self.setting is None else self.setting

    def published_setting(self, run: RunRecord) -> str:
        """For Willow what the run was trained on, e.g. ``Pt=no;Wt=yes``; elsewhere the filter."""
        return run.config.setting if self.published is None else self.published


@dataclass(frozen=True)
class TableSpec:
    """One of the paper's tables.

    Attributes:
        label: name of the table, and of its files.
        published: the paper's own label, as in ``bbgm.published``.
        title: what the numbers are.
        dataset, filters: which runs belong to it, ``results/<budget>/<dataset>/<filter>/``.
        columns: name in the data set -> the paper's column, in the paper's order.
        rows: what is shown of each method.
        summary: name of the last column.
        notes: about the table's own protocol.
    """

    label: str
    published: str
    title: str
    dataset: str
    filters: tuple[str, ...]
    columns: Mapping[str, str]
    rows: tuple[Row, ...] = (Row(),)
    summary: str = "mean"
    notes: tuple[str, ...] = ()

    def shows(self, config: RunConfig) -> bool:
        """Whether a run stands in the table."""
        return config.data.dataset == self.dataset and config.protocol.filter in self.filters


def _rows_of_sets(pairs: str) -> tuple[Row, ...]:
    """BB-GM, BB-GM-Multi, what the second gains on the first in the same run, and the unmatched keypoints."""
    alone, joint = set_scores("pairwise", pairs), set_scores("joint", pairs)
    setting, count = f"pairs={pairs}", pairs_of_sets(pairs)
    published = "filter=unfiltered" if pairs == "first" else ""  # the paper has no row for all pairs
    unmatched = set_scores("pairwise", pairs, "unmatched_percent")
    return (
        Row(alone, str, setting, published, count),
        Row(joint, "{}-Multi".format, setting, published, count),
        Row(difference(joint, alone), "{}-Multi minus alone".format, setting, published, count),
        Row(unmatched, lambda title: "Unmatched (%)", setting, published, count),
    )


SPECS: dict[str, TableSpec] = {
    spec.label: spec
    for spec in (
        TableSpec(
            label="Willow",
            published="Willow",
            title="Keypoint matching accuracy (%) on Willow ObjectClass",
            dataset="willow",
            filters=("intersection",),
            columns={folder: column for column, folder in WILLOW_FOLDERS.items()},
        ),
        TableSpec(
            label="unfiltered",
            published="PascalVOCunfiltered",
            title="F1 score (%) with all keypoints, those without a partner too",
            dataset="willow",
            filters=("unfiltered",),
            columns={folder: column for column, folder in WILLOW_FOLDERS.items()},
            rows=_rows_of_sets("first") + _rows_of_sets("all"),
            notes=(
                "BB-GM-Multi solves all pairs of a set of images jointly, with cycle consistency, BB-GM each alone, "
                "for the same networks and pairs. pairs=first: the first pair of each set only, as the authors' code "
                "scores it; pairs=all: every pair.",
                "The published rows are of Pascal VOC. Unmatched (%): keypoints of both images without a partner.",
            ),
        ),
    )
}
