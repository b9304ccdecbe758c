"""The notes of a table: how its numbers were made, how that differs from the paper's budget, what to keep in mind."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bbgm.config import RunConfig, load_run
from bbgm.results import RunRecord
from bbgm.tables.lines import Line
from bbgm.tables.specs import TableSpec

MAX_DIFFERENCES = 16
_NOT_COMPARED = ("budget", "seed", "threads", "title", "method", "setting", "data.demo", "parent.")


def make_notes(
    spec: TableSpec,
    groups: Sequence[Sequence[RunRecord]],
    lines: Sequence[Line],
    printed: pd.DataFrame,
    marked: bool,
) -> list[str]:
    """Notes of a table.

    Args:
        groups: runs by method.
        lines: the rows that were made of them.
        printed: the paper's numbers for it.
        marked: best entries are in bold.
    """
    config = groups[0][0].config
    demo = config.data.source == "demo"
    training: dict[str, list[str]] = {}
    for group in groups:
        training.setdefault(describe_training(group[0].config), []).append(_title(spec, group[0].config))
    notes = [f"{' and '.join(dict.fromkeys(titles))}: {text}." for text, titles in training.items()]
    notes += _paper_differences(spec, groups)
    n_pairs = config.protocol.test_pairs_per_class or "all that the data set lists of"
    notes.append(
        "n: runs with different seeds; ±: their standard deviation (ddof=1); pairs: those that one run is tested on "
        f"({n_pairs} a class)."
    )
    if marked:
        notes.append(
            "Bold, by our own rule: in each setting the best mean of a column, and all that are not shown to be below "
            "it, by neither the test pairs (paired bootstrap, 95 %) nor the runs (95 %)."
        )
    notes += spec.notes
    if missing := _missing(spec, lines, printed):
        notes.append(f"The paper also ran {', '.join(missing)}: there are no such runs at this budget.")
    if hidden := config.data.hidden_keypoints:
        notes.append(
            f"{100 * hidden:.0f} % of the keypoints were left out at random, for the data annotate all of them."
        )
    if spec.summary not in set(printed["column"]):
        notes.append(f"The paper prints no mean for {spec.published}: the published mean is that of its class entries.")
    if demo:
        notes.append(
            "The demo data are rendered objects, not the paper's photographs: its rows are there for orientation, "
            "and the difference says nothing about the reproduction."
        )
    return notes


def describe_training(config: RunConfig) -> str:
    """How a run was trained, in one phrase."""
    network, optimiser, parent = config.network, config.optimiser, config.parent
    backbone = f"{network.backbone} backbone{' frozen' if network.freeze_backbone else ''}"
    start = (
        f", after {describe_training(parent.run)} on {parent.run.data.dataset} ({parent.run.method})" if parent else ""
    )
    if optimiser.epochs == 0:
        return f"not trained on {config.data.dataset}{start or f' ({backbone})'}"
    iterations = optimiser.epochs * optimiser.iterations_per_epoch
    return f"{iterations} iterations of {optimiser.batch_size} pairs, {backbone}{start}"


def _title(spec: TableSpec, config: RunConfig) -> str:
    return spec.titles.get(config.title, config.title)


def _missing(spec: TableSpec, lines: Sequence[Line], printed: pd.DataFrame) -> list[str]:
    """Rows of the paper's own runs that the table lacks."""
    if spec.elsewhere:
        return []
    have = {key for line in lines for key in line.paper[["method", "setting"]].itertuples(index=False, name=None)}
    own = printed[~printed["source"].str.contains("quoted from")][["method", "setting"]].drop_duplicates()
    several = set(own["method"][own["method"].duplicated()])
    return [
        f"{method} ({setting.replace(';', ', ')})" if method in several else method
        for method, setting in own.itertuples(index=False, name=None)
        if (method, setting) not in have
    ]


def _paper_differences(spec: TableSpec, groups: Sequence[Sequence[RunRecord]]) -> list[str]:
    """What each method's configuration has otherwise than at the budget ``paper``."""
    found: dict[str, list[str]] = {}
    for group in groups:
        config = group[0].config
        if config.budget == "paper":
            continue
        text = "; ".join(paper_differences(config))
        found.setdefault(text, []).append(_title(spec, config))
    return [
        f"Other than at the paper's budget ({' and '.join(dict.fromkeys(titles))}): {text}."
        for text, titles in found.items()
        if text
    ]


def paper_differences(config: RunConfig) -> list[str]:
    """Settings of a run that are not those of the same experiment at the budget ``paper``, as ``key value (paper's)``.

    Empty for an experiment without a file in ``config/experiments``.
    """
    dataset, name = config.data.dataset, config.protocol.filter
    try:
        paper = load_run(config.method, "paper", config.seed, dataset=dataset, filter=name)
    except ValueError:
        return []
    ours, theirs = (_flat(one.model_dump(mode="json", by_alias=True)) for one in (config, paper))
    keys = [key for key in ours if ours[key] != theirs.get(key) and not key.startswith(_NOT_COMPARED)]
    shown = [f"{key} {_plain(ours[key])} ({_plain(theirs.get(key))})" for key in keys[:MAX_DIFFERENCES]]
    return shown + ([f"and {len(keys) - len(shown)} more"] if len(keys) > len(shown) else [])


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == [] else str(value)


def _flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in content.items():
        flat.update(_flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value})
    return flat
