"""The runs that a table is made of: found, read, and checked to be comparable."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bbgm.config import check_budget, flatten
from bbgm.runs import results
from bbgm.runs.checks.checksums import RECORD
from bbgm.runs.checks.notebook import NOTEBOOK, altered_notebook
from bbgm.runs.results import RunRecord
from bbgm.tables.specs import TableSpec

log = logging.getLogger(__name__)


def find_runs(
    spec: TableSpec,
    budget: str,
    results_root: Path,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> dict[tuple[str, str], list[RunRecord]]:
    """Finished runs of one table, keyed (filter, method), in the order of their seeds.

    Args:
        methods, seeds: take only these; default all that the table shows.

    Raises:
        ValueError: no such budget or no run, a run's files do not belong together, a folder was copied, or runs that
            would be averaged or compared differ in more than their seed or method.
    """
    found: dict[tuple[str, str], list[RunRecord]] = {}
    for name in spec.filters:
        _tell_unfinished(spec, budget, name, results_root)
        runs = [load_in_place(folder, results_root) for folder in shown_folders(spec, budget, name, results_root)]
        wanted = [
            run
            for run in runs
            if (methods is None or run.config.method in methods) and (seeds is None or run.config.seed in seeds)
        ]
        for run in sorted(wanted, key=lambda run: (run.config.method, run.config.seed)):
            found.setdefault((name, run.config.method), []).append(run)
        _check_equal("compare", wanted, _protocol)
    _check_equal("put into one table", [run for group in found.values() for run in group], _all_but_filter)
    if not found:
        options = "" if spec.dataset == "willow" else f" --dataset {spec.dataset}"
        options += "" if "intersection" in spec.filters else f" --filter {spec.filters[0]}"
        where = " or ".join(str(results_root / budget / spec.dataset / name) for name in spec.filters)
        only = "".join(
            f" with {what} {list(given)}" for what, given in (("methods", methods), ("seeds", seeds)) if given
        )
        raise ValueError(
            f"table {spec.label}: no finished run of {list(spec.methods)}{only} below {where}; make one with "
            f"'bbgm train --method {spec.methods[0]} --budget {budget}{options} --seed 0', "
            f"or all with 'snakemake --cores all --config budget={budget}'"
        )
    for group in found.values():
        _check_equal("average", group, _all_but_seed)
    return found


def load_in_place(folder: Path, results_root: Path) -> RunRecord:
    """A finished run, which must be where its configuration says. Warns if its notebook was altered.

    Raises:
        ValueError: it does not, or its files do not belong together.
    """
    run = results.load(folder)
    if run.folder != results_root / run.config.folder:
        raise ValueError(
            f"{run.folder} is a copy: its config.yaml says that it is {run.config.folder}; "
            f"move it out of {results_root}, or it would be counted as another run"
        )
    if fault := altered_notebook(folder):
        log.warning(
            "%s %s since the run was made; no table depends on it: delete it, and the pipeline makes it again",
            folder / NOTEBOOK,
            fault,
        )
    return run


def finished_folders(budget: str, results_root: Path, dataset: str = "*", keypoint_filter: str = "*") -> list[Path]:
    """Folders of finished runs, in order; metrics.json is written last: without it a run is still in progress.

    Raises:
        ValueError: no such budget.
    """
    check_budget(budget)
    place = f"{budget}/{dataset}/{keypoint_filter}/*/seed*/metrics.json"
    return [path.parent for path in sorted(results_root.glob(place))]


def _tell_unfinished(spec: TableSpec, budget: str, keypoint_filter: str, results_root: Path) -> None:
    """Warn of runs that the table lacks because they were killed, or lost their metrics.json."""
    check_budget(budget)
    place = results_root / budget / spec.dataset / keypoint_filter
    begun = [file.parent for name in ("config.yaml", "run.ipynb") for file in place.glob(f"*/seed*/{name}")]
    for folder in sorted(set(begun)):
        if spec.shows_method(folder.parent.name) and not (folder / RECORD).is_file():
            log.warning(
                "table %s lacks %s, which has no %s: finish the run with 'bbgm train'", spec.label, folder, RECORD
            )


def shown_folders(spec: TableSpec, budget: str, keypoint_filter: str, results_root: Path) -> list[Path]:
    """Folders of the finished runs that a table shows, in order; nothing of other runs is read."""
    found = finished_folders(budget, results_root, spec.dataset, keypoint_filter)
    return [folder for folder in found if spec.shows_method(folder.parent.name)]


def _check_equal(verb: str, runs: Sequence[RunRecord], content: Callable[[RunRecord], dict[str, Any]]) -> None:
    """Raises:
    ValueError: a run differs from the first one; the error names all that do, and how the first of them differs.
    """
    different = [run for run in runs[1:] if content(run) != content(runs[0])]
    if different:
        raise ValueError(_difference(verb, runs[0], different, content))


def _all_but_seed(run: RunRecord) -> dict[str, Any]:
    """What must be the same in runs that are averaged."""
    return run.config.model_dump(by_alias=True, exclude={"seed", "title"})


def _protocol(run: RunRecord) -> dict[str, Any]:
    """What must be the same in methods that are compared: data, split and test pairs; not every one has test sets."""
    content = run.config.model_dump(by_alias=True, include={"data", "protocol"})
    for name in ("test_sets_per_class", "set_size", *run.config.protocol.training_only):
        del content["protocol"][name]
    return content


def _all_but_filter(run: RunRecord) -> dict[str, Any]:
    """What must be the same in all runs of a table: everything about the data and the protocol but the filter."""
    content = _protocol(run)
    del content["protocol"]["filter"]
    return content


def _difference(
    verb: str, run1: RunRecord, different: Sequence[RunRecord], content: Callable[[RunRecord], dict[str, Any]]
) -> str:
    run2 = different[0]
    flat1, flat2 = flatten(content(run1)), flatten(content(run2))
    keys = [key for key in flat1 | flat2 if flat1.get(key) != flat2.get(key)]  # only one of them may have a parent
    shown = "; ".join(f"{key} is {flat1.get(key)!r} and {flat2.get(key)!r}" for key in keys[:3])
    more = f"; and {len(keys) - 3} more" if len(keys) > 3 else ""
    others = "".join(f"; nor {run1.folder} and {run.folder}" for run in different[1:])
    return (
        f"cannot {verb} {run1.folder} and {run2.folder}: {shown}{more}{others}; "
        "delete the one that is out of date, or repeat it with 'bbgm train'"
    )
