"""The folder of a run: what it holds, how it is written and read back. Nothing here needs torch.

``results/<budget>/<dataset>/<filter>/<method>/seed<k>/`` holds

============================  =======================================================================================
``config.yaml``               the complete configuration
``split.json``                image ids of the training and of the test part, errata applied
``history.csv``               one row per iteration: epoch, iteration, loss, accuracy of the training batch, learning
                              rates, then the timing columns (which differ from run to run)
``model.safetensors``         parameters and buffers
``optimiser.pt``              state of the optimiser at the end, of runs that others start from (``keep_optimiser``)
``test_pairs.json``           ``{class: [[source id, target id], ...]}``: the test pairs, for people and other programs
``predictions.npz``           every evaluated pair, and every pair of the test sets (:mod:`bbgm.scoring.predictions`)
``metrics.json``              scores, under ``sets`` those of the test sets (:mod:`bbgm.runs.sets`), and the checksums
                              of all files (:mod:`bbgm.runs.checks.checksums`); written last, so a folder that has it
                              holds a finished run
``checkpoint/``, ``.lock``    only while the run is in progress (or was killed, or diverged)
``superseded/<hash>/``        earlier runs of another configuration (:mod:`bbgm.runs.superseded`)
============================  =======================================================================================
"""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbgm.base.atomic import write_text
from bbgm.base.paths import results_root
from bbgm.base.reading.untrusted import parse_json
from bbgm.config import RunConfig, hash_of, make_run, read_yaml
from bbgm.runs.checks.checksums import CHECKSUMS, RECORD, altered_files, describe_altered
from bbgm.scoring.predictions import Prediction, SetPrediction, read_predictions

if TYPE_CHECKING:
    import pandas as pd

FILES = (
    *("config.yaml", "split.json", "history.csv", "model.safetensors", "test_pairs.json", "predictions.npz"),
    RECORD,
)
OPTIMISER = "optimiser.pt"
VOLATILE = ("throughput", "peak_memory_mib", "provenance", CHECKSUMS)
"""Keys of metrics.json that differ between two runs of the same configuration on the same machine."""
NEEDED = {"config_hash": str, "n_pairs": int, "per_class": dict, "mean": dict}
"""Keys that metrics.json must have, and the types of their values."""
TIMING = ("seconds", "solver_seconds")
"""Columns of history.csv that do."""


@dataclass(frozen=True, eq=False)
class RunRecord:
    """A finished run, read from its folder as needed."""

    folder: Path
    config: RunConfig
    metrics: dict[str, Any]

    @cached_property
    def history(self) -> "pd.DataFrame":
        """One row per iteration."""
        import pandas as pd

        path = self.folder / "history.csv"
        try:
            return pd.read_csv(path)
        except ValueError as error:  # pandas' own errors are some too
            raise ValueError(f"{path} is not a learning curve ({error}): run 'bbgm train' again") from error

    @cached_property
    def parameters(self) -> int:
        """How many numbers ``model.safetensors`` holds, without those of a frozen backbone."""
        from safetensors import SafetensorError, safe_open

        path = self.folder / "model.safetensors"
        try:
            with safe_open(path, framework="numpy") as file:
                shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise ValueError(f"{path} cannot be read ({error}): delete it and run 'bbgm train' again") from error
        frozen = self.config.visual is not None and self.config.visual.freeze_backbone
        return sum(prod(shape) for name, shape in shapes.items() if not (frozen and name.startswith("backbone.")))

    @cached_property
    def split(self) -> dict[str, Any]:
        """For each part ("train", "test") the image ids of each class."""
        path = self.folder / "split.json"
        try:
            content = parse_json(path.read_text(encoding="utf-8"))
            if not isinstance(content, dict):
                raise ValueError(f"it is a {type(content).__name__}")
        except ValueError as error:
            raise ValueError(f"{path} is not a split ({error}): delete it and run 'bbgm train' again") from error
        return content

    @cached_property
    def test_pairs(self) -> dict[str, list[tuple[str, str]]]:
        """For each class the image ids of source and target of every test pair, in the order of ``predictions``."""
        path = self.folder / "test_pairs.json"
        try:
            content = parse_json(path.read_text(encoding="utf-8"))
            return {cls: [(source, target) for source, target in pairs] for cls, pairs in content.items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} lists no pairs ({error}): delete it and run 'bbgm train' again") from error

    @cached_property
    def predictions(self) -> list[Prediction]:
        """Every evaluated pair, class by class."""
        return read_predictions(self.folder / "predictions.npz")[0]

    @cached_property
    def set_predictions(self) -> list[SetPrediction]:
        """Every pair of every test set, class by class; empty where the run has none."""
        return read_predictions(self.folder / "predictions.npz")[1]


def run_folder(config: RunConfig) -> Path:
    """Where the run of this configuration is."""
    return results_root() / config.folder


def finished(config: RunConfig, folder: Path | None = None, checksums: bool = True) -> RunRecord | None:
    """The finished run of this configuration, or None.

    A run is the same if its effective settings are: keys that it was stored without have their defaults, keys of other
    methods and data sets are ignored, and titles do not matter.

    Args:
        config: of the run.
        folder: default `run_folder`.
        checksums: as for `read_record`.
    """
    folder = folder or run_folder(config)
    record = read_record(folder, also=(OPTIMISER,) if config.keep_optimiser else (), checksums=checksums)
    if record is None or record.config.hash() != config.hash():
        return None
    return replace(record, config=config)


def stored_hash(config: RunConfig) -> str:
    """The hash in the record of the finished run of a configuration, else that of the configuration.

    It changes only if the run does: not with a setting that is new since it was made. Checksums are not compared,
    because the pipeline asks for every run each time.
    """
    record = finished(config, checksums=False)
    return str(record.metrics["config_hash"]) if record else config.hash()


def missing_files(folder: Path, also: Sequence[str] = ()) -> list[str]:
    """Files that a folder lacks to hold a finished run; ``also``: in addition to `FILES`."""
    return [name for name in (*FILES, *also) if not (folder / name).is_file()]


def read_record(folder: Path, also: Sequence[str] = (), checksums: bool = True) -> RunRecord | None:
    """The finished run in a folder, whatever its configuration is; None if there is none, or a file was altered.

    Its metrics must belong to the configuration that is stored beside them.

    Args:
        also: files that must be there in addition to `FILES`.
        checksums: compare the files with their checksums, which reads all of them.
    """
    if missing_files(folder, also) or (checksums and altered_files(folder)):
        return None
    try:
        metrics = parse_json((folder / RECORD).read_bytes())
        stored = read_yaml(folder / "config.yaml")
        config, its_hash = make_run(stored), hash_of(stored)
    except (ValueError, TypeError):  # of values that JSON does not have, no hash can be made
        return None
    if not isinstance(metrics, dict) or not all(isinstance(metrics.get(key), kind) for key, kind in NEEDED.items()):
        return None
    if not _has_scores(metrics) or metrics["config_hash"] != its_hash:
        return None
    return RunRecord(folder, config, metrics)


def _has_scores(metrics: dict[str, Any]) -> bool:
    """Whether the scores are numbers, of each class and in the mean, also those of the sets if there are any."""
    try:
        parts = [metrics]
        if "sets" in metrics:
            parts += [
                metrics["sets"][solution][which] for solution in ("pairwise", "joint") for which in ("first", "all")
            ]
        numbers = [scores["n_pairs"] for part in parts for scores in part["per_class"].values()]
        for part in parts:
            numbers += [
                scores[key] for scores in (*part["per_class"].values(), part["mean"]) for key in ("accuracy", "f1")
            ]
    except (KeyError, TypeError, AttributeError):
        return False
    return all(isinstance(number, float | int) for number in numbers)


def load_config(folder: Path) -> RunConfig:
    """The configuration of a run, finished or not.

    Raises:
        ValueError: there is none, or it is not valid.
    """
    path = Path(folder) / "config.yaml"
    try:
        return make_run(read_yaml(path), origin=str(path))
    except ValueError as error:
        raise ValueError(f"{error}\nThis is the record of a run: repeat it with 'bbgm train'") from error


def load(folder: Path) -> RunRecord:
    """Read a finished run.

    Raises:
        ValueError: the folder does not exist, or holds no finished run, or files of it were altered; the error says
            which are missing or altered.
    """
    folder = Path(folder)
    if missing := missing_files(folder):
        what = f"lacks {', '.join(missing)}" if folder.is_dir() else "does not exist"
        raise ValueError(f"{folder} is not the folder of a finished run: it {what}; make it with 'bbgm train'")
    if wrong := altered_files(folder):
        raise ValueError(describe_altered(folder, wrong))
    config = load_config(folder)
    record = read_record(folder, also=(OPTIMISER,) if config.keep_optimiser else (), checksums=False)
    if record is None:
        raise ValueError(
            f"{folder / RECORD} is damaged or does not belong to config.yaml beside it: run it again with 'bbgm train'"
        )
    return record


def write_history(path: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Write the learning curve; floats in full, so that reading gives the same numbers."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def write_test_pairs(path: Path, predictions: Sequence[Prediction]) -> None:
    """Write ``{class: [[source id, target id], ...]}`` in the order of evaluation, one pair per line."""
    pairs: dict[str, list[str]] = {}
    for item in predictions:
        pairs.setdefault(item.cls, []).append(json.dumps([item.source, item.target]))
    classes = [f"{json.dumps(cls)}: [\n" + ",\n".join(lines) + "\n]" for cls, lines in pairs.items()]
    write_text(path, "{\n" + ",\n".join(classes) + "\n}\n")
