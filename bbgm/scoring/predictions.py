"""What a run predicted of each pair, and ``predictions.npz``, which holds it. Nothing here needs torch."""

import io
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np

from bbgm.base.atomic import atomic_write

if TYPE_CHECKING:
    from bbgm.data.sampling.pairs import KeypointPair

MOST_BYTES = 2**28
"""Of all arrays of a file; those of the paper's largest run have 2^24."""
_TEXT, _RAGGED = ("cls", "source", "target", "difficulty"), ("kept1", "kept2", "assignment", "truth")
_SET_NUMBERS, _SET_RAGGED = ("number", "p", "q"), (*_RAGGED, "joint")


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
        """What was predicted of a pair; ``more``: the additional attributes of a subclass."""
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
    with path.open("rb") as file:
        try:
            columns = _unpacked(file)
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


def _unpacked(file: BinaryIO) -> dict[str, np.ndarray]:
    """The arrays of a .npz file. Nothing is unpickled, and no length is believed before the bytes are there."""
    arrays: dict[str, np.ndarray] = {}
    left = MOST_BYTES
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            left -= info.file_size
            if left < 0:
                raise ValueError(f"its arrays have more than {MOST_BYTES} bytes")
            content = io.BytesIO(archive.read(info))
            version = np.lib.format.read_magic(content)
            read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, _, dtype = read_header[version](content)
            name = info.filename.removesuffix(".npy")
            if len(shape) != 1 or dtype.kind not in "Ui":
                raise ValueError(f"{name} is of type {dtype} and shape {shape}")
            arrays[name] = np.frombuffer(content.read(), dtype, shape[0]).copy()  # writable
            if dtype.kind == "U":  # NumPy would fail later on what is not a character
                codes = arrays[name].view(dtype.byteorder.replace("|", "=") + "u4")
                if (codes > sys.maxunicode).any():
                    raise ValueError(f"{name} has characters that do not exist")
    return arrays


def _fault(columns: dict[str, np.ndarray]) -> str:
    """What is wrong with the kinds and lengths of the arrays; empty if nothing."""
    for name, array in columns.items():
        if array.dtype.kind != ("U" if name in _TEXT else "i"):
            return f"{name} is of type {array.dtype}"
    n1, n2 = columns["n1"], columns["n2"]
    if any((n < 0).any() or (n > MOST_BYTES).any() for n in (n1, n2)):
        return "n1 or n2 is negative, or too large"
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
