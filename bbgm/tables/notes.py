"""The notes of a table: how its numbers were made, how that differs from the paper's budget, what to keep in mind."""

from collections.abc import Sequence

import pandas as pd

from bbgm import published
from bbgm.config import RunConfig, flatten, load_run
from bbgm.runs.results import RunRecord
from bbgm.tables.compare import FEWEST_RUNS
from bbgm.tables.lines import Line, printed_beside
from bbgm.tables.specs import TableSpec

_NOT_COMPARED = ("budget", "seed", "threads", "checkpoint_every", "title", "method", "setting", "data.demo", "parent.")


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
    names = _names(spec, [group[0].config for group in groups])
    for name, group in zip(names, groups, strict=True):
        training.setdefault(describe_training(group[0].config), []).append(name)
    notes = [f"{' and '.join(same)}: {text}." for text, same in training.items()]
    notes += _describe_parents(names, groups)
    notes += _describe_differences(names, [group[0].config for group in groups])
    n_pairs = config.protocol.test_pairs_per_class or "all that the data set lists of"
    notes.append(
        "n: runs with different seeds; ±: their standard deviation (ddof=1); pairs: those that one run is tested on "
        f"({n_pairs} per class)."
    )
    if marked:
        notes.append(
            f"Bold, by our own rule: in each setting, among the rows of {FEWEST_RUNS} runs or more, the best mean of a "
            "column, and all that are not shown to be below it by both the test pairs (paired bootstrap, 95 %) and the "
            "runs (95 %)."
        )
    notes += spec.notes
    if missing := _missing(spec, lines, printed):
        notes.append(f"The paper also ran {', '.join(missing)}: there are no such runs at this budget.")
    if hidden := getattr(config.data, "hidden_keypoints", 0):
        notes.append(
            f"{100 * hidden:.0f} % of the keypoints were left out at random, for the data annotate all of them."
        )
    if spec.summary not in set(printed["column"]):
        notes.append(f"The paper prints no mean for {spec.published}: the published mean is that of its class entries.")
    if demo:
        notes.append(
            "The demo data are rendered objects. The published numbers are of photographs of the same classes, their "
            "mean too: they are shown for orientation, and are not compared with ours."
        )
    return notes


def describe_training(config: RunConfig) -> str:
    """How a run was trained, in one phrase."""
    visual, optimiser, parent = config.visual, config.optimiser, config.parent
    backbone = f"{visual.backbone} backbone{' frozen' if visual.freeze_backbone else ''}" if visual else "no backbone"
    start = (
        f", after {describe_training(parent.run)} on {parent.run.data.dataset} ({parent.run.method})" if parent else ""
    )
    if optimiser.epochs == 0:
        return f"not trained on {config.data.dataset}{start or f' ({backbone})'}"
    iterations = optimiser.epochs * optimiser.iterations_per_epoch
    return f"{iterations} iteration{'s' if iterations > 1 else ''} of {optimiser.batch_size} pairs, {backbone}{start}"


def _describe_parents(names: Sequence[str], groups: Sequence[Sequence[RunRecord]]) -> list[str]:
    """Of the rows whose runs share pre-trainings: their deviation is too small."""
    found: dict[tuple[int, int], list[str]] = {}
    for name, group in zip(names, groups, strict=True):
        parents = {run.config.parent.run.seed for run in group if run.config.parent}
        if 0 < len(parents) < len(group):
            found.setdefault((len(group), len(parents)), []).append(name)
    return [
        f"{' and '.join(same)}: {runs} runs start from {parents} pre-training{'s' if parents > 1 else ''}, so the "
        "deviation lacks that of pre-training."
        for (runs, parents), same in found.items()
    ]


def _names(spec: TableSpec, configs: Sequence[RunConfig]) -> list[str]:
    """What the table calls each method; with its setting where another has the same title."""
    titles = [spec.title_of(config) for config in configs]
    settings = [spec.rows[0].setting_of(config) for config in configs]
    return [
        f"{title} ({setting.replace(';', ', ')})" if titles.count(title) > 1 else title
        for title, setting in zip(titles, settings, strict=True)
    ]


def _missing(spec: TableSpec, lines: Sequence[Line], printed: pd.DataFrame) -> list[str]:
    """Rows of the paper's own runs that the table lacks."""
    if spec.elsewhere:
        return []
    have = printed_beside(lines)
    own = printed[~published.is_quoted(printed)][["method", "setting"]].drop_duplicates()
    several = set(own["method"][own["method"].duplicated()])
    return [
        f"{method} ({setting.replace(';', ', ')})" if method in several else method
        for method, setting in own.itertuples(index=False, name=None)
        if (method, setting) not in have
    ]


def _describe_differences(names: Sequence[str], configs: Sequence[RunConfig]) -> list[str]:
    """What is not as at the budget ``paper``: first what all methods share, then what a method has besides."""
    compared = dict(zip(names, map(paper_differences, configs), strict=True))
    found = {name: texts for name, texts in compared.items() if texts is not None}
    several = list(found.values())
    shared = [text for text in several[0] if all(text in texts for texts in several)] if several else []
    notes = [f"Not as at the paper's budget (its value in brackets): {'; '.join(shared)}."] if shared else []
    own: dict[str, list[str]] = {}
    for name, texts in found.items():
        if rest := [text for text in texts if text not in shared]:
            own.setdefault("; ".join(rest), []).append(name)
    also = "also " if shared else "not as at the paper's budget "
    notes += [f"{' and '.join(same)}: {also}{text}." for text, same in own.items()]
    if unknown := [name for name in compared if name not in found]:
        notes.append(
            f"{' and '.join(unknown)}: not compared with the paper's budget, for no file in config/experiments says "
            "(any more) what that would be."
        )
    return notes


def paper_differences(config: RunConfig) -> list[str] | None:
    """Settings of a run that are not those of the same experiment at the budget ``paper``, as ``key value (paper's)``.

    Empty at that budget itself; None for an experiment without a valid file in ``config/experiments``.
    """
    dataset, name = config.data.dataset, config.protocol.filter
    try:
        paper = load_run(config.method, "paper", config.seed, dataset=dataset, filter=name)
    except ValueError:
        return None
    ours, theirs = (flatten(one.model_dump(mode="json", by_alias=True)) for one in (config, paper))
    keys = [key for key in ours if ours[key] != theirs.get(key) and not key.startswith(_NOT_COMPARED)]
    return [f"{key} {_plain(ours[key])} ({_plain(theirs.get(key))})" for key in keys]


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == [] else str(value)
