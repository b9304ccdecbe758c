"""Measured speed of training and evaluation: ``config/throughput.toml``, for the estimates of `bbgm.runs.plan`."""

import datetime
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from bbgm.base.paths import project_root
from bbgm.config import Model, RunConfig, setting_names
from bbgm.runs.results import RunRecord

DEVICES = ("cpu", "gpu")
SETTINGS = (
    "model",
    "data.dataset",
    "data.source",
    "protocol.filter",
    "network.backbone",
    "network.freeze_backbone",
    "network.quadratic",
    "solver.layer",
    "solver.full",
    "optimiser.batch_size",
)
"""What speed depends on most: a measurement of a run names these of its settings."""


class Measurement(Model):
    """How fast runs with certain settings were on one machine.

    Attributes:
        where: settings of the runs that it applies to, by their dotted name. The fewer, the more runs it applies to.
        joint_ms_per_set: joint solution of a set of images, for runs with sets.
    """

    date: datetime.date
    device: Literal["cpu", "gpu"]
    hardware: str
    where: Mapping[str, Any]
    train_pairs_per_s: float | None = Field(None, gt=0)
    eval_pairs_per_s: float = Field(gt=0)
    joint_ms_per_set: float | None = Field(None, ge=0)
    memory_mib: float = Field(gt=0)

    def fits(self, settings: Mapping[str, Any]) -> bool:
        """Whether a run with these flattened settings has all that ``where`` names."""
        return all(settings.get(name) == value for name, value in self.where.items())


def read_measurements(path: Path | None = None) -> list[Measurement]:
    """The measurements in a file, default ``config/throughput.toml``.

    Raises:
        ValueError: it is not valid TOML, or an entry is not valid; names the file and the entry.
    """
    path = path or project_root() / "config" / "throughput.toml"
    known = setting_names()
    found = []
    try:
        for number, entry in enumerate(tomllib.loads(path.read_text())["measurement"], 1):
            one = Measurement.model_validate(entry)
            if unknown := sorted(one.where.keys() - known):
                raise ValueError(f"measurement {number}: {unknown[0]!r} is not a setting of a run")
            found.append(one)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "it"
        raise ValueError(
            f"{path}: measurement {number}: {name}: {first['msg']} (given: {str(first['input'])[:80]}): correct it"
        ) from error
    except KeyError as error:
        raise ValueError(f"{path} holds no measurements: write them as [[measurement]]") from error
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise ValueError(f"{path} holds no measurements: {error}") from error
    return found


def measurement_for(config: RunConfig, device: str, measurements: Sequence[Measurement]) -> Measurement | None:
    """The one that fits a run with the most settings, the latest of several; None if none fits."""
    settings = config.settings()
    fitting = [one for one in measurements if one.device == device and one.fits(settings)]
    return max(fitting, key=lambda one: (len(one.where), one.date), default=None)


def measurement_of(record: RunRecord, date: datetime.date) -> str:
    """A finished run's own speed, as an entry of ``config/throughput.toml``."""
    speed, hardware = record.metrics["throughput"], record.metrics["hardware"]
    settings = record.config.settings()
    where = ", ".join(f"{_quoted(name)} = {_quoted(settings[name])}" for name in SETTINGS if name in settings)
    lines = [
        "[[measurement]]",
        f"date = {date.isoformat()}",
        f'device = "{"gpu" if hardware["gpu"] else "cpu"}"',
        f"hardware = {_quoted(', '.join(filter(None, (hardware['gpu'], hardware['cpu'], _cores(record)))))}",
        f"where = {{ {where} }}",
        f"eval_pairs_per_s = {speed['eval_pairs_per_s']:.4g}",
        f"memory_mib = {record.metrics['peak_memory_mib']:.0f}",
    ]
    for name in ("train_pairs_per_s", "joint_ms_per_set"):
        if speed.get(name):
            lines.append(f"{name} = {speed[name]:.4g}")
    return "\n".join(lines)


def _cores(record: RunRecord) -> str:
    threads = min(record.config.threads, record.metrics["hardware"]["cores"])
    return "1 thread" if threads == 1 else f"{threads} threads"


def _quoted(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
