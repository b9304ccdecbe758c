"""Results that are kept with the code: ``measured/<budget>/<table>.csv``, one number a line.

The columns are those of the paper's numbers (`bbgm.published`), and ``budget``, ``pairs`` and where the number comes
from: ``date``, ``hardware`` and ``commit`` of its runs. ``source`` is the command that wrote it. An empty cell was not
noted.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from bbgm.base import machine
from bbgm.base.atomic import write_text
from bbgm.base.paths import project_root
from bbgm.config import RunConfig
from bbgm.runs.tune import Trial
from bbgm.tables import SPECS, Table
from bbgm.tables.provenance import list_provenance

COLUMNS = (
    *("table", "budget", "method", "setting", "column", "value", "std", "n", "pairs"),
    *("date", "hardware", "commit", "source"),
)
TUNING = "tuning"
"""Name of the file of ``bbgm tune``."""


def measured_root() -> Path:
    """Folder of the kept results."""
    return project_root() / "measured"


def read_measured(name: str, root: Path | None = None) -> pd.DataFrame:
    """One file, with `COLUMNS`: ``value`` and ``std`` in per cent.

    Args:
        name: below the root, without its ending, e.g. ``demo/Willow``.
        root: default `measured_root`.

    Raises:
        ValueError: no such file, or other columns.
    """
    root = root or measured_root()
    path = root / f"{name}.csv"
    if not path.is_file():
        have = sorted(file.relative_to(root).with_suffix("").as_posix() for file in root.rglob("*.csv"))
        raise ValueError(f"there is no {path}: the files in {root} are {have}")
    frame = _read(path)
    numbers = {"value": "float64", "std": "float64", "n": "Int64", "pairs": "Int64"}
    return frame.assign(**{column: pd.to_numeric(frame[column]).astype(kind) for column, kind in numbers.items()})


def record(table: Table, results_root: Path | None = None, root: Path | None = None) -> Path:
    """Keep what a table obtained, in place of what was kept of the same methods, settings and hardware.

    Args:
        results_root: where its runs are; default :func:`bbgm.base.paths.results_root`.
        root: where to; default `measured_root`.

    Returns:
        The written file.

    Raises:
        ValueError: the kept file is damaged.
    """
    label, budget = table.frame[["table", "budget"]].iloc[0]
    runs = list_provenance(budget, label, results_root)
    origin = {
        "date": runs["finished"].max()[:10],
        "hardware": "; ".join(dict.fromkeys(runs["hardware"])),
        "commit": "; ".join(dict.fromkeys(runs["commit"])),
        "source": f"bbgm table {label} --budget {budget} --record",
    }
    lines = []
    for (method, setting), rows in table.frame.groupby(["method", "setting"], sort=False):
        by_row = rows.set_index("row")
        if "obtained" not in by_row.index:
            continue
        counts = {name: str(by_row.loc["obtained", name]) for name in ("n", "pairs")}
        head = {"table": label, "budget": budget, "method": method, "setting": setting}
        for column in table.columns:
            value, std = (round(float(by_row.loc[row, column]), 4) for row in ("obtained", "std"))
            numbers = {"value": str(value), "std": "" if pd.isna(std) else str(std)}
            lines.append({**head, "column": column, **numbers, **counts, **origin})
    return keep(lines, (root or measured_root()) / budget / f"{label}.csv")


def check_record(config: RunConfig, name: str | None = None, root: Path | None = None) -> None:
    """Check before anything is trained that `record_tuning` can keep its results.

    Args:
        config, name, root: as there.

    Raises:
        ValueError: no table has that data set and filter, the name is not that of a file of its own, or the kept file
            is damaged.
    """
    _label(config)
    path = _file(config, name, root)
    if path.is_file():
        _read(path)


def record_tuning(
    config: RunConfig, setting: str, trial: Trial, root: Path | None = None, *, name: str | None = None
) -> Path:
    """Keep what a configuration reached on held-out training images, or over several seeds, in ``<budget>/<name>.csv``.

    Args:
        config: of the runs.
        setting: what distinguishes it from others of its method, e.g. ``optimiser.learning_rate=0.001``.
        trial: mean and deviation are those over its folds or seeds.
        root: where to; default `measured_root`.
        name: of the file that ``bbgm compare`` writes; None: ``bbgm tune``, whose file is ``tuning``.

    Returns:
        The written file.

    Raises:
        ValueError: as `check_record`.
    """
    label, path = _label(config), _file(config, name, root)
    percent = [100 * one for one in trial.scores]
    hardware = machine.hardware(machine.device())
    line = {
        "table": label,
        "budget": config.budget,
        "method": config.title,
        "setting": setting,
        "column": "mean",
        "value": str(round(float(np.mean(percent)), 4)),
        "std": str(round(float(np.std(percent, ddof=1)), 4)) if len(percent) > 1 else "",
        "n": str(len(percent)),
        "pairs": str(trial.pairs),
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": hardware["gpu"] or f"{hardware['cpu']}, {hardware['cores']} cores",
        "commit": machine.commit(),
        "source": f"bbgm {'tune' if name is None else 'compare'} {config.method} --budget {config.budget} --record",
    }
    return keep([line], path)


def _label(config: RunConfig) -> str:
    """The first table that names the method, or the first of all with its data set and filter."""
    dataset, keypoint_filter = config.data.dataset, config.protocol.filter
    specs = {
        label: spec for label, spec in SPECS.items() if spec.dataset == dataset and keypoint_filter in spec.filters
    }
    if not specs:
        raise ValueError(f"no table is about {dataset} with the filter {keypoint_filter!r}: leave out --record")
    return next((label for label, spec in specs.items() if config.method in spec.methods), next(iter(specs)))


def _file(config: RunConfig, name: str | None, root: Path | None) -> Path:
    """Where results are kept: not in a file of ``bbgm table`` or, of ``bbgm compare``, of ``bbgm tune``."""
    if name is not None:
        taken = {TUNING, *(label.lower() for label in SPECS)}
        if not re.fullmatch("[a-z0-9][a-z0-9_-]*", name) or name in taken:
            raise ValueError(
                f"--record {name!r} cannot be the name of the file: use lower-case letters, digits, '-' and '_', and "
                f"none of {sorted(taken)}, which other commands write"
            )
    return (root or measured_root()) / config.budget / f"{name or TUNING}.csv"


def keep(lines: list[dict[str, str]], path: Path, key: Sequence[str] = ("method", "setting", "hardware")) -> Path:
    """Write lines to a file, in place of those that agree in the columns of `key`."""
    frame = pd.DataFrame(lines, columns=list(COLUMNS))
    if path.is_file():
        kept = _read(path)
        kept = kept[~kept.set_index(list(key)).index.isin(frame.set_index(list(key)).index)]
        frame = pd.concat([kept, frame], ignore_index=True)
    write_text(path, str(frame.to_csv(index=False, lineterminator="\n")))
    return path


def _read(path: Path) -> pd.DataFrame:
    """Every cell as it is written."""
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as error:  # also of pandas' parser and of UTF-8
        raise ValueError(f"{path} is damaged ({error}): restore it, e.g. from git, or delete it") from error
    if list(frame.columns) != list(COLUMNS):
        raise ValueError(f"{path} has the columns {list(frame.columns)}, must have {list(COLUMNS)}")
    return frame
