"""Where the numbers come from: one line per run, with its configuration, commit, hardware and time."""

from pathlib import Path
from typing import Any

import pandas as pd

from bbgm.base import paths
from bbgm.runs.results import RunRecord
from bbgm.tables.runs import finished_folders, load_in_place, shown_folders
from bbgm.tables.specs import SPECS

COLUMNS = (
    "run",
    "title",
    "setting",
    "configuration",
    "parent",
    "parameters",
    "commit",
    "finished",
    "training s",
    "evaluation s",
    "hardware",
    "versions",
)


def list_provenance(budget: str, table: str | None = None, results_root: Path | None = None) -> pd.DataFrame:
    """Every finished run of a budget, or those that a table shows, in the order of their folders; columns `COLUMNS`.

    ``configuration`` is the hash of everything that a run's numbers depend on, as in its metrics.json; ``parameters``
    are how many numbers the network has, without a frozen backbone's; ``commit`` is that of the checkout that finished
    it.

    Raises:
        ValueError: no such table or budget, no finished run, one whose files do not belong together, or a copy.
    """
    if table is not None and table not in SPECS:
        raise ValueError(f"table {table!r} is not one of {sorted(SPECS)}")
    root = results_root or paths.results_root()
    if table is None:
        folders = finished_folders(budget, root)
    else:
        spec = SPECS[table]
        folders = sorted(folder for name in spec.filters for folder in shown_folders(spec, budget, name, root))
    shown = [load_in_place(folder, root) for folder in folders]
    if not shown:
        raise ValueError(
            f"no finished run{f' of table {table}' if table else ''} below {root / budget}: make them with "
            f"'snakemake --cores all --config budget={budget}'"
        )
    lines = []
    for run in shown:
        try:
            lines.append(_line(run))
        except (KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
            raise ValueError(
                f"{run.folder / 'metrics.json'} does not say how the run was made ({type(error).__name__}: {error}): "
                "delete it and run 'bbgm train' again"
            ) from error
    return pd.DataFrame(lines, columns=list(COLUMNS))


def describe_provenance(lines: pd.DataFrame) -> str:
    """The same in a few lines of reStructuredText, for the report: runs that differ by their seed together."""
    text = []
    for folder, group in lines.groupby(lines["run"].str.rpartition("/")[0], sort=False):
        seeds = ", ".join(group["run"].str.extract(r"seed(\d+)$")[0])
        hashes = ", ".join(f"``{value}``" for value in group["configuration"])
        seconds = (
            f"{group['training s'].mean():.0f} s of training and {group['evaluation s'].mean():.0f} s of evaluation"
        )
        size = f"{group['parameters'].iloc[0]:,} parameters"
        text.append(f"- ``{folder}``, seeds {seeds}: configuration {hashes}; {size}; {seconds} per run")
    text += ["", f"Finished from {lines['finished'].min()} to {lines['finished'].max()}."]
    for name in ("commit", "hardware", "versions"):
        text += ["", f"{name.capitalize()}: {'; '.join(dict.fromkeys(lines[name]))}."]
    return "\n".join(text) + "\n"


def _line(run: RunRecord) -> dict[str, Any]:
    metrics, config = run.metrics, run.config
    speed, made, hardware = metrics["throughput"], metrics["provenance"], metrics["hardware"]
    trained = config.optimiser.pairs
    used = [hardware["gpu"], f"{hardware['cpu']} ({config.threads} of {hardware['cores']} cores)"]
    line = {
        "run": config.folder.relative_to(config.budget).as_posix(),
        "title": config.title,
        "setting": config.setting,
        "configuration": metrics["config_hash"],
        "parent": metrics.get("parent", {}).get("config_hash", ""),
        "parameters": run.parameters,
        "commit": made["commit"],
        "finished": made["finished"],
        "training s": round(trained / speed["train_pairs_per_s"], 1) if speed["train_pairs_per_s"] else 0.0,
        "evaluation s": round(metrics["n_pairs"] / speed["eval_pairs_per_s"], 1),
        "hardware": ", ".join(name for name in used if name),
        "versions": ", ".join(f"{name} {version}" for name, version in metrics["versions"].items()),
    }
    for name in ("parent", "commit", "finished"):
        if not isinstance(line[name], str):
            raise TypeError(f"{name} is {line[name]!r}")
    return line
