"""The folder of a run: what it holds, how it is written and read back. Nothing here needs torch.

``results/<budget>/<dataset>/<filter>/<method>/seed<k>/`` holds

============================  =======================================================================================
``config.yaml``               the whole configuration
``split.json``                image ids of the training and of the test part, errata applied
``history.csv``               one row an iteration: epoch, iteration, loss, accuracy of the training batch, learning
                              rates, then the timing columns (which differ from run to run)
``model.safetensors``         parameters and buffers
``optimiser.pt``              state of Adam at the end, of runs that others go on from (``keep_optimiser``)
``test_pairs.json``           ``{class: [[source id, target id], ...]}``: the test pairs, for people and other programs
``predictions.npz``           every evaluated pair, and every pair of the test sets where there are such
``metrics.json``              scores, and under ``sets`` those of the test sets (:mod:`bbgm.evaluate_sets`); written
                              last, so a folder that has it holds a finished run
``checkpoint/``, ``.lock``    only while the run is going on (or was killed)
============================  =======================================================================================
"""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bbgm.atomic import atomic_write
from bbgm.config import RunConfig, make_run, read_yaml
from bbgm.paths import results_root

if TYPE_CHECKING:
    import pandas as pd

    from bbgm.data.pairs import KeypointPair

FILES = (
    *("config.yaml", "split.json", "history.csv", "model.safetensors", "test_pairs.json", "predictions.npz"),
    "metrics.json",
)
OPTIMISER = "optimiser.pt"
VOLATILE = ("throughput", "peak_memory_mib", "provenance")
"""Keys of metrics.json that differ between two runs of the same configuration on the same machine."""
NEEDED = {"config_hash": str, "n_pairs": int, "per_class": dict, "mean": dict}
"""Keys of metrics.json without which it is none, and what they hold."""
TIMING = ("seconds", "solver_seconds")
"""Columns of history.csv that do."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """One evaluated pair.

    Attributes:
        cls: class name. source, target: image ids. difficulty: label of the pair, empty where the data set has none.
        kept1, kept2: (n1,), (n2,) int32, which of the images' keypoints were to be matched, in this order.
        assignment: (n1,) int32, predicted index into ``kept2``, -1 = unmatched. truth: (n1,) int32, the true one.
    """

    cls: str
    source: str
    target: str
    difficulty: str
    kept1: np.ndarray
    kept2: np.ndarray
    assignment: np.ndarray
    truth: np.ndarray

    @classmethod
    def of(kind, pair: "KeypointPair", assignment: np.ndarray, **more: Any) -> Self:  # cls is a field
        """What was predicted of a pair; ``more``: the attributes that a subclass has besides."""
        return kind(
            cls=pair.source.cls,
            source=pair.source.image_id,
            target=pair.target.image_id,
            difficulty=pair.difficulty,
            kept1=pair.kept1.astype(np.int32),
            kept2=pair.kept2.astype(np.int32),
            assignment=np.asarray(assignment, dtype=np.int32),
            truth=pair.truth.astype(np.int32),
            **more,
        )


@dataclass(frozen=True, eq=False)
class SetPrediction(Prediction):
    """One pair of a test set: ``assignment`` is of the pair alone (BB-GM), ``joint`` of the whole set (BB-GM-Multi).

    Attributes:
        number: of the set within its class. p, q: numbers of the two images within the set, p < q; (0, 1) is the first.
        joint: (n1,) int32, predicted index into ``kept2``, -1 = unmatched.
    """

    number: int
    p: int
    q: int
    joint: np.ndarray


@dataclass(frozen=True, eq=False)
class RunRecord:
    """A finished run, read from its folder as needed."""

    folder: Path
    config: RunConfig
    metrics: dict[str, Any]

    @cached_property
    def history(self) -> "pd.DataFrame":
        """One row an iteration."""
        import pandas as pd

        return pd.read_csv(self.folder / "history.csv")

    @cached_property
    def test_pairs(self) -> dict[str, list[tuple[str, str]]]:
        """For each class the image ids of source and target of every test pair, in the order of ``predictions``."""
        path = self.folder / "test_pairs.json"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
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
    """Where the run of this configuration lies."""
    return results_root() / config.folder


def finished(config: RunConfig, folder: Path | None = None) -> RunRecord | None:
    """The finished run of exactly this configuration, or None."""
    folder = folder or run_folder(config)
    needed = (*FILES, OPTIMISER) if config.keep_optimiser else FILES
    if not all((folder / name).is_file() for name in needed):
        return None
    try:
        metrics = json.loads((folder / "metrics.json").read_text())
    except ValueError:
        return None
    if not isinstance(metrics, dict) or not all(isinstance(metrics.get(key), kind) for key, kind in NEEDED.items()):
        return None
    if metrics["config_hash"] != config.hash():
        return None
    return RunRecord(folder, config, metrics)


def load_config(folder: Path) -> RunConfig:
    """The configuration of a run, finished or not.

    Raises:
        ValueError: there is none, or it is not valid.
    """
    return make_run(read_yaml(Path(folder) / "config.yaml"), origin=str(Path(folder) / "config.yaml"))


def load(folder: Path) -> RunRecord:
    """Read a finished run.

    Raises:
        ValueError: the folder does not exist, or holds no finished run; the error says what is missing.
    """
    folder = Path(folder)
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        what = f"lacks {', '.join(missing)}" if folder.is_dir() else "does not exist"
        raise ValueError(f"{folder} is not the folder of a finished run: it {what}; make it with 'bbgm train'")
    record = finished(load_config(folder), folder)
    if record is None:
        raise ValueError(
            f"{folder / 'metrics.json'} is damaged or does not belong to config.yaml beside it: "
            "run it again by 'bbgm train'"
        )
    return record


def write_text(path: Path, text: str) -> None:
    """Write a whole text file, atomically."""
    with atomic_write(path, "w") as file:
        file.write(text)


def write_json(path: Path, content: Any) -> None:
    """Write indented JSON, atomically."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def write_history(path: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Write the learning curve; floats in full, so that reading gives the same numbers."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


_TEXT, _RAGGED = ("cls", "source", "target", "difficulty"), ("kept1", "kept2", "assignment", "truth")
_SET_NUMBERS, _SET_RAGGED = ("number", "p", "q"), (*_RAGGED, "joint")


def write_test_pairs(path: Path, predictions: Sequence[Prediction]) -> None:
    """Write ``{class: [[source id, target id], ...]}`` in the order of evaluation, one pair a line."""
    pairs: dict[str, list[str]] = {}
    for item in predictions:
        pairs.setdefault(item.cls, []).append(json.dumps([item.source, item.target]))
    classes = [f"{json.dumps(cls)}: [\n" + ",\n".join(lines) + "\n]" for cls, lines in pairs.items()]
    write_text(path, "{\n" + ",\n".join(classes) + "\n}\n")


def write_predictions(path: Path, predictions: Sequence[Prediction], sets: Sequence[SetPrediction] = ()) -> None:
    """Write P pairs as plain arrays: ``cls``, ``source``, ``target``, ``difficulty`` (P,) str; ``n1``, ``n2`` (P,); and
    ``kept1``, ``kept2``, ``assignment``, ``truth`` one pair after the other (lengths n1, n2, n1, n1).

    The pairs of the sets follow in arrays of the same names after ``sets_``, with ``sets_number``, ``sets_p``,
    ``sets_q`` (P,) and ``sets_joint`` (lengths n1) beside them; without sets they are empty.
    """
    arrays = _columns(predictions, (), _RAGGED)
    arrays |= {f"sets_{name}": array for name, array in _columns(sets, _SET_NUMBERS, _SET_RAGGED).items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    with atomic_write(path) as file:
        file.write(buffer.getbuffer())


def _columns(items: Sequence[Prediction], numbers: Sequence[str], ragged: Sequence[str]) -> dict[str, Any]:
    arrays: dict[str, Any] = {name: np.array([getattr(item, name) for item in items], dtype=np.str_) for name in _TEXT}
    arrays["n1"] = np.array([len(item.kept1) for item in items], dtype=np.int32)
    arrays["n2"] = np.array([len(item.kept2) for item in items], dtype=np.int32)
    arrays |= {name: np.array([getattr(item, name) for item in items], dtype=np.int32) for name in numbers}
    for name in ragged:
        parts = [np.zeros(0, np.int32), *(getattr(item, name) for item in items)]
        arrays[name] = np.concatenate(parts).astype(np.int32)
    return arrays


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The arrays that :func:`write_predictions` wrote: of the pairs, and of the pairs of the sets (without ``sets_``).

    Raises:
        ValueError: the file is truncated or is something else.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            columns = {name: arrays[name] for name in arrays.files}
    except Exception as error:  # zip files and arrays raise about ten different types where they are broken
        raise ValueError(f"{path} holds no predictions ({error}): delete it and run 'bbgm train' again") from error
    of_sets = {name.removeprefix("sets_"): array for name, array in columns.items() if name.startswith("sets_")}
    of_pairs = {name: array for name, array in columns.items() if not name.startswith("sets_")}
    for found, names in ((of_pairs, (*_TEXT, *_RAGGED)), (of_sets, (*_TEXT, *_SET_NUMBERS, *_SET_RAGGED))):
        if missing := {"n1", "n2", *names} - found.keys():
            raise ValueError(f"{path} holds no {sorted(missing)}: delete it and run 'bbgm train' again")
        if fault := _fault(found):
            raise ValueError(f"{path} holds no predictions ({fault}): delete it and run 'bbgm train' again")
    return of_pairs, of_sets


def _fault(columns: dict[str, np.ndarray]) -> str:
    """What is wrong with the kinds and lengths of the arrays; empty if nothing."""
    for name, array in columns.items():
        if array.ndim != 1 or array.dtype.kind != ("U" if name in _TEXT else "i"):
            return f"{name} is of type {array.dtype} and shape {array.shape}"
    n1, n2 = columns["n1"], columns["n2"]
    if (n1 < 0).any() or (n2 < 0).any():
        return "n1 or n2 is negative"
    lengths = {**dict.fromkeys(_SET_RAGGED, n1.sum()), "kept2": n2.sum()}
    for name, array in columns.items():
        if len(array) != lengths.get(name, len(n1)):
            return f"{name} has {len(array)} entries, expected {lengths.get(name, len(n1))}"
    return ""


def read_predictions(path: Path) -> tuple[list[Prediction], list[SetPrediction]]:
    """Read what :func:`write_predictions` wrote.

    Raises:
        ValueError: the file is truncated or is something else.
    """
    pairs, of_sets = read_arrays(path)
    alone = [Prediction(**row) for row in _rows(pairs, _TEXT, _RAGGED)]
    return alone, [SetPrediction(**row) for row in _rows(of_sets, (*_TEXT, *_SET_NUMBERS), _SET_RAGGED)]


def _rows(columns: dict[str, Any], plain: Sequence[str], ragged: Sequence[str]) -> list[dict[str, Any]]:
    if not len(columns["n1"]):
        return []
    bounds = {key: np.cumsum(columns[key])[:-1] for key in ("n1", "n2")}
    values = [columns[name].tolist() for name in plain]
    values += [np.split(columns[name], bounds["n2" if name == "kept2" else "n1"]) for name in ragged]
    return [dict(zip((*plain, *ragged), row, strict=True)) for row in zip(*values, strict=True)]
