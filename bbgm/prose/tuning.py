"""What `bbgm tune` and `bbgm compare` found, kept beside the tables: a file of ``measured/<budget>/``."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bbgm.base import machine
from bbgm.config import RunConfig
from bbgm.prose.measured import keep, measured_root
from bbgm.runs.evaluate import Evaluation
from bbgm.tables import SPECS


def record_tuning(
    config: RunConfig,
    settings: Mapping[str, Any],
    runs: Sequence[Evaluation],
    name: str,
    source: str,
    root: Path | None = None,
) -> Path:
    """Keep the accuracy of one choice of settings: mean and standard deviation over folds or seeds, in per cent.

    Args:
        config: of the choice.
        settings: what was chosen, by dotted name.
        runs: of each fold, as `bbgm.runs.crossvalidate.cross_validate` returns them, or of each seed.
        name: of the file, without its ending.
        source: the command.
        root: where to; default `measured_root`.

    Returns:
        The written file.

    Raises:
        ValueError: no table has such runs, or the kept file is damaged.
    """
    labels = [label for label, spec in SPECS.items() if spec.shows(config)]
    if not labels:
        raise ValueError(f"no table of bbgm.tables has runs of {config.method} on {config.data.dataset}: add one first")
    head = {
        "table": labels[0],
        "budget": config.budget,
        "method": config.title,
        "setting": ";".join(f"{name}={value}" for name, value in settings.items()),
        "n": str(len(runs)),
        "pairs": str(sum(len(one.predictions) for one in runs)),
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": machine.cpu_model(),
        "commit": machine.commit(),
        "source": source,
    }
    columns = config.data.table_columns()
    values = {columns.get(cls, cls): [one.per_class[cls]["accuracy"] for one in runs] for cls in runs[0].per_class}
    values["mean"] = [one.mean["accuracy"] for one in runs]
    numbers = {name: 100 * np.array(found) for name, found in values.items()}
    lines = [
        {**head, "column": name, "value": f"{x.mean():.4f}", "std": f"{x.std(ddof=1):.4f}" if len(x) > 1 else ""}
        for name, x in numbers.items()
    ]
    return keep((root or measured_root()) / config.budget / f"{name}.csv", lines)
