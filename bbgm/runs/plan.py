"""What a budget costs before any of it runs: its runs, their work, hours, disk and memory (``bbgm plan``)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from bbgm.base.paths import weights_root
from bbgm.config import BACKBONES, RunConfig, list_runs
from bbgm.data.fetch.sources import find, registry
from bbgm.data.images.pictures import FRAME
from bbgm.methods.base import make_matcher
from bbgm.runs.checkpoint import KEEP
from bbgm.runs.throughput import DEVICES, Measurement, measurement_for, read_measurements
from bbgm.runs.work import hours_of, registered, work_of

GB = 1e9


@dataclass(frozen=True)
class Group:
    """Runs that differ only in their seed. Numbers are of one run; ``hours`` and ``disk_gb`` of all of them.

    Attributes:
        parent: folder of the run that they start from, below the results root.
        training_pairs, test_pairs: None: as many as the data list.
        set_pairs: pairs in the sets of images that are matched jointly too.
        hours: by device, one run after another; None where nothing was measured that fits.
        working_gb: of one run in progress, on top of its ``disk_gb``: checkpoints.
        memory_gb: by device, of one run as measured; None as with hours.
    """

    dataset: str
    filter: str
    method: str
    title: str
    runs: int
    parent: str | None
    iterations: int
    training_pairs: int
    test_pairs: int | None
    set_pairs: int
    hours: dict[str, float | None]
    disk_gb: float
    working_gb: float
    memory_gb: dict[str, float | None]


@dataclass(frozen=True)
class Plan:
    """Everything that a budget runs, and what must be there for it."""

    budget: str
    groups: tuple[Group, ...]
    caches_gb: dict[str, float]
    missing: tuple[str, ...]
    measurements: tuple[Measurement, ...]

    def hours(self, device: str) -> float | None:
        """Of all runs one after another; None if a group has no measurement."""
        hours = [group.hours[device] for group in self.groups]
        return None if None in hours else sum(hour for hour in hours if hour is not None)

    @cached_property
    def disk_gb(self) -> float:
        """Runs and caches when all is done."""
        return sum(group.disk_gb for group in self.groups) + sum(self.caches_gb.values())

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "budget": self.budget,
            "groups": [asdict(group) for group in self.groups],
            "total": {
                "runs": sum(group.runs for group in self.groups),
                "iterations": sum(group.runs * group.iterations for group in self.groups),
                "training_pairs": sum(group.runs * group.training_pairs for group in self.groups),
                "hours": {device: self.hours(device) for device in DEVICES},
                "disk_gb": self.disk_gb,
            },
            "caches_gb": self.caches_gb,
            "missing": list(self.missing),
            "measurements": [one.model_dump(mode="json") for one in self.measurements],
        }


def make_plan(
    budget: str, content: Mapping[str, Any] | None = None, measurements: list[Measurement] | None = None
) -> Plan:
    """The plan of a budget. No images are read and nothing is written.

    Args:
        budget: name of a file in ``config/budgets``.
        content: experiments and seeds, see `bbgm.config.list_runs`.
        measurements: default those of ``config/throughput.toml``.

    Raises:
        ValueError: an unknown budget, or a configuration or measurement that is not valid.
    """
    runs = list_runs(budget, content)
    known = read_measurements() if measurements is None else measurements
    groups: dict[Path, list[RunConfig]] = {}
    for run in runs:
        groups.setdefault(run.folder.parent, []).append(run)
    used = {id(one): one for run in runs for device in DEVICES if (one := measurement_for(run, device, known))}
    return Plan(
        budget=budget,
        groups=tuple(_group(group, known) for group in groups.values()),
        caches_gb=_caches(runs),
        missing=tuple(_missing(runs)),
        measurements=tuple(used.values()),
    )


def _group(runs: list[RunConfig], known: list[Measurement]) -> Group:
    run = runs[0]
    work = work_of(run)
    fitting = {device: measurement_for(run, device, known) for device in DEVICES}
    hours = {device: _scaled(len(runs), hours_of(work, one)) for device, one in fitting.items()}
    stored, trained = count_values(run)
    kept = 4 * (stored + (2 * trained if run.keep_optimiser else 0)) / GB
    return Group(
        dataset=run.data.dataset,
        filter=run.protocol.filter,
        method=run.method,
        title=run.title,
        runs=len(runs),
        parent=run.parent.run.folder.as_posix() if run.parent else None,
        iterations=work.iterations,
        training_pairs=work.training_pairs,
        test_pairs=work.test_pairs,
        set_pairs=work.set_pairs,
        hours=hours,
        disk_gb=len(runs) * kept,
        working_gb=(KEEP + 1) * 4 * (stored + 2 * trained) / GB if run.optimiser.epochs else 0.0,
        memory_gb={device: one.memory_mib * 2**20 / GB if one else None for device, one in fitting.items()},
    )


def _scaled(number: int, value: float | None) -> float | None:
    return None if value is None else number * value


def count_values(run: RunConfig) -> tuple[int, int]:
    """How many numbers a run stores of its network, and how many of them it trains."""
    if run.visual:
        random = run.visual.model_copy(update={"weights": "random"})
        run = run.model_copy(update={"network": random})
    with torch.device("meta"):  # shapes without memory
        matcher = make_matcher(run)
    trained = sum(parameter.numel() for parameter in matcher.parameters() if parameter.requires_grad)
    return sum(value.numel() for value in matcher.state_dict().values()), trained


def _caches(runs: list[RunConfig]) -> dict[str, float]:
    """GB of decoded images of each original data set, and at most of the features of each frozen backbone."""
    sizes = {}
    for run in runs:
        data, visual = run.data, run.visual
        if data.source != "original" or data.images is None:
            continue
        images = registered(data.images)
        sizes[f"images of {data.dataset}"] = images * FRAME * FRAME * 3 / GB
        if visual and visual.freeze_backbone:
            channels = BACKBONES[visual.backbone].node_channels
            place = f"features of {data.dataset}, {visual.backbone}"
            sizes[place] = 4 * images * (data.most_keypoints + 1) * channels / GB
    return sizes


def _missing(runs: list[RunConfig]) -> list[str]:
    """Data and weights that are not there, and how to get them, one line each."""
    original = [run.data for run in runs if run.data.source == "original"]
    lines = []
    for item in map(find, dict.fromkeys(name for data in original for name in data.downloads)):
        place = item.locate(item.folder())
        if not place.exists():
            lines.append(f"{item.title} in {place}: bbgm data download {item.name}")
    lines += sorted({line for run in runs if run.data.source != "demo" for line in run.data.missing()})
    used = {(run.visual.backbone, run.visual.weights) for run in runs if run.visual}
    return [*lines, *(line for one in sorted(used) if (line := _missing_weights(*one)))]


def _missing_weights(backbone: str, weights: str) -> str:
    if weights == "imagenet":
        if backbone not in registry():
            return ""  # without an address: the backbone itself says where its weights come from
        places = [find(backbone).locate(weights_root()), _cached(find(backbone).archive)]
        if not any(place.exists() for place in places):
            return f"ImageNet weights of {backbone} in {places[0]}: bbgm data download {backbone}"
    elif weights.endswith(".safetensors") and not (weights_root() / weights).is_file():
        return (
            f"weights {weights_root() / weights}: set BBGM_WEIGHTS to the folder that has them, or use "
            "torchvision's with network.weights: imagenet in the budget's file"
        )
    return ""


def _cached(name: str) -> Path:
    return Path(str(torch.hub.get_dir())) / "checkpoints" / name
