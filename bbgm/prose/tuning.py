"""What cross-validation found, kept beside the tables: ``measured/<budget>/<method>-tuning.csv``."""

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
    config: RunConfig, settings: Mapping[str, Any], folds: Sequence[Evaluation], source: str, root: Path | None = None
) -> Path:
    """Keep the accuracy of one choice of settings: mean and standard deviation over the folds, in per cent.

    Args:
        config: of the choice.
        settings: what was chosen, by dotted name.
        folds: as `bbgm.runs.crossvalidate.cross_validate` returns them.
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
        "n": str(len(folds)),
        "pairs": str(sum(len(fold.predictions) for fold in folds)),
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": machine.cpu_model(),
        "commit": machine.commit(),
        "source": source,
    }
    columns = config.data.table_columns()
    values = {columns.get(cls, cls): [fold.per_class[cls]["accuracy"] for fold in folds] for cls in folds[0].per_class}
    values["mean"] = [fold.mean["accuracy"] for fold in folds]
    numbers = {name: 100 * np.array(found) for name, found in values.items()}
    lines = [
        {**head, "column": name, "value": f"{x.mean():.4f}", "std": f"{x.std(ddof=1):.4f}"}
        for name, x in numbers.items()
    ]
    return keep((root or measured_root()) / config.budget / f"{config.method}-tuning.csv", lines)
