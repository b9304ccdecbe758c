"""What each of the paper's tables holds: one entry a table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True)
class TableSpec:
    """One of the paper's tables.

    Attributes:
        label: the paper's own label, as in ``bbgm.published``.
        title: what the numbers are.
        dataset, filters: which runs belong to it, ``results/<budget>/<dataset>/<filter>/``.
        columns: name in the data set -> the paper's column, in the paper's order.
        scores: the numbers of one run in per cent: one for each name in the data set, and the ``summary``.
        setting: the published ``setting`` that the run's row compares with.
        summary: name of the last column.
    """

    label: str
    title: str
    dataset: str
    filters: tuple[str, ...]
    columns: Mapping[str, str]
    scores: Scores = ACCURACY
    setting: Callable[[RunRecord], str] = training_setting
    summary: str = "mean"


SPECS: dict[str, TableSpec] = {
    spec.label: spec
    for spec in (
        TableSpec(
            label="Willow",
            title="Keypoint matching accuracy (%) on Willow ObjectClass",
            dataset="willow",
            filters=("intersection",),
            columns={folder: column for column, folder in WILLOW_FOLDERS.items()},
        ),
    )
}
