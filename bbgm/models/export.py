"""From a finished run to a model file: weights in half precision, and what this changes, measured."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bbgm.base.atomic import check_writable
from bbgm.base.reproducible import reproducible
from bbgm.config import RunConfig
from bbgm.data import open_dataset
from bbgm.data.fetch.sources import find
from bbgm.features.weights import fingerprint
from bbgm.methods.base import Matcher, VisualMatcher
from bbgm.models.card import model_card
from bbgm.models.file import ModelInfo, write_model_file
from bbgm.runs.evaluate import evaluate
from bbgm.runs.results import RunRecord
from bbgm.runs.train import load_matcher

Precision = Literal["half", "single"]
SMALL = 2_000_000
"""A frozen backbone of at most so many parameters is part of the file, whatever its weights are."""
ROUNDING = 0.005
"""Half precision may change the accuracy by this much; more is not rounding."""


def export_run(
    record: RunRecord,
    path: Path,
    *,
    name: str | None = None,
    licence: str = "MIT",
    precision: Precision = "half",
    measure: bool = True,
    progress: bool = True,
) -> ModelInfo:
    """Write the model of a run to one file.

    A frozen backbone whose weights are a file of their own, and not small, is left out: the file names it, with the
    fingerprint of its weights, and it is read from ``BBGM_WEIGHTS`` when the model is loaded.

    Args:
        name: of the model; default: the file's.
        licence: of the file.
        precision: of the parameters; buffers, such as the statistics of batch norm, are stored as they are.
        measure: match the run's test pairs again with the stored parameters, which needs its data.

    Raises:
        FileNotFoundError, ValueError: the data are missing or do not fit.
        ValueError: the suffix is not .safetensors, or half precision changes the accuracy by more than rounding.
        WriteError: the file cannot be written.
    """
    if path.suffix != ".safetensors":
        raise ValueError(
            f"model file {path} has the suffix {path.suffix!r}: call it {path.with_suffix('.safetensors')}"
        )
    check_writable(path)
    matcher, config = load_matcher(record), record.config
    backbone = _outside(matcher, config)
    rounded = _round(matcher) if precision == "half" else {}
    state = {
        key: value for key, value in matcher.state_dict().items() if not (backbone and key.startswith("backbone."))
    }
    change: dict[str, Any] = {"precision": precision, "tensors_in_single": sorted(set(state) - set(rounded))}
    if measure:
        change |= _measure(record, matcher, progress)
        if abs(change["accuracy"] - change["accuracy_of_run"]) > ROUNDING:
            raise ValueError(
                f"in half precision the accuracy is {100 * change['accuracy']:.2f} %, that of the run is "
                f"{100 * change['accuracy_of_run']:.2f} %: export it with --precision single"
            )
    info = ModelInfo(
        name=name or path.stem,
        config=config.content(),
        scores={
            "per_class": record.metrics["per_class"],
            "mean": record.metrics["mean"],
            "n_pairs": record.metrics["n_pairs"],
            "stored": change,
        },
        data=_describe_data(record),
        backbone=backbone,
        provenance={
            **record.metrics.get("provenance", {}),
            "versions": record.metrics.get("versions", {}),
            "hardware": record.metrics.get("hardware", {}),
            "config_hash": record.metrics["config_hash"],
        },
        licence=licence,
    )
    info = ModelInfo(**{**vars(info), "card": model_card(info, config)})
    write_model_file(path, {key: rounded.get(key, value) for key, value in state.items()}, info)
    return info


def _outside(matcher: Matcher, config: RunConfig) -> dict[str, str] | None:
    """The backbone, if it is left out of the file."""
    visual = config.visual
    if visual is None or not isinstance(matcher, VisualMatcher):
        return None
    size = sum(parameter.numel() for parameter in matcher.backbone.parameters())
    if not visual.freeze_backbone or visual.weights == "random" or size <= SMALL:
        return None
    return {"name": visual.backbone, "weights": visual.weights, "sha256": fingerprint(matcher.backbone)}


@torch.no_grad()
def _round(matcher: Matcher) -> dict[str, Tensor]:
    """Round the parameters to half precision; returns them as stored, without those that it cannot hold."""
    stored = {}
    for name, parameter in matcher.named_parameters():
        half = parameter.half()
        if torch.isfinite(half).all():
            stored[name] = half
            parameter.copy_(half)
    return stored


def _measure(record: RunRecord, matcher: Matcher, progress: bool) -> dict[str, Any]:
    """The run's test pairs matched with the rounded parameters, compared with what the run recorded."""
    if isinstance(matcher, VisualMatcher):
        matcher.load_state_dict(matcher.state_dict())  # forget features of a frozen backbone before rounding
    dataset = open_dataset(record.config.data, record.config.protocol)
    with reproducible(record.config.threads):
        found = evaluate(matcher, dataset, record.config.protocol, progress, record.predictions)
    pairs = list(zip(found.predictions, record.predictions, strict=True))
    different = [int(np.sum(new.assignment != old.assignment)) for new, old in pairs]
    return {
        "accuracy": found.mean["accuracy"],
        "accuracy_of_run": record.metrics["mean"]["accuracy"],
        "pairs": len(pairs),
        "pairs_matched_differently": sum(map(bool, different)),
        "keypoints": sum(len(old.assignment) for _, old in pairs),
        "keypoints_matched_differently": sum(different),
    }


def _describe_data(record: RunRecord) -> dict[str, Any]:
    config = record.config
    data, optimiser = config.data, config.optimiser
    rendered = data.source == "demo"
    return {
        "title": f"rendered toys only, {data.dataset} format" if rendered else f"{data.dataset}, {data.source}",
        "rendered": rendered,
        "dataset": data.dataset,
        "classes": list(record.metrics["per_class"]),
        "filter": config.protocol.filter,
        "pairs_seen": optimiser.epochs * optimiser.iterations_per_epoch * optimiser.batch_size,
        "licences": {} if rendered else {name: find(name).licence for name in data.downloads},
    }
