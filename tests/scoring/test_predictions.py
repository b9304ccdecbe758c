"""Predictions: written, read back, and what is said of files that hold none."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from bbgm.scoring.predictions import Prediction, SetPrediction, read_predictions, write_predictions


def _prediction(generator: np.random.Generator, cls: str = "Car") -> Prediction:
    n1, n2 = generator.integers(0, 6, size=2)
    kept1, kept2, assignment, truth = (generator.integers(-1, 9, size=n).astype(np.int32) for n in (n1, n2, n1, n1))
    return Prediction(cls, f"{cls}/ä_1", f"{cls}/2", "", kept1, kept2, assignment, truth)


@pytest.mark.parametrize("n_pairs", [0, 1, 7])
def test_predictions_come_back(tmp_path: Path, n_pairs: int) -> None:
    generator = np.random.default_rng(n_pairs)
    written = [_prediction(generator) for _ in range(n_pairs)]
    write_predictions(tmp_path / "p.npz", written)
    read, sets = read_predictions(tmp_path / "p.npz")
    assert len(read) == n_pairs
    assert sets == []
    _assert_same(written, read)


@pytest.mark.parametrize("n_pairs", [0, 5])
def test_predictions_of_sets_come_back_beside_the_others(tmp_path: Path, n_pairs: int) -> None:
    generator = np.random.default_rng(n_pairs)
    pairs = [_prediction(generator) for _ in range(n_pairs)]
    sets = []
    for number, (p, q) in [(0, (0, 1)), (0, (0, 2)), (0, (1, 2)), (7, (3, 4))]:
        one = _prediction(generator)
        joint = generator.integers(-1, 9, size=len(one.kept1)).astype(np.int32)
        sets.append(SetPrediction(**vars(one), number=number, p=p, q=q, joint=joint))
    write_predictions(tmp_path / "p.npz", pairs, sets)
    read = read_predictions(tmp_path / "p.npz")
    _assert_same(pairs, read[0])
    _assert_same(sets, read[1])


def _assert_same(written: Sequence[Prediction], read: Sequence[Prediction]) -> None:
    for one, other in zip(written, read, strict=True):
        assert type(one) is type(other)
        for name, value in vars(one).items():
            np.testing.assert_array_equal(getattr(other, name), value, strict=isinstance(value, np.ndarray))


def test_predictions_are_the_same_bytes_and_no_pickle(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_predictions(tmp_path / name, [_prediction(np.random.default_rng(0)) for _ in range(5)])
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert {arrays[name].dtype.kind for name in arrays.files} == {"U", "i"}


def test_truncated_predictions_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    write_predictions(path, [_prediction(np.random.default_rng(0)) for _ in range(5)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(ValueError, match=r"p\.npz holds no predictions"):
        read_predictions(path)
    for place in range(0, len(whole), 7):  # zipfile, zlib and NumPy raise errors of many types
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        with contextlib.suppress(ValueError):
            read_predictions(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("truth", lambda array: array[:-1], "truth has"),
        ("kept2", lambda array: np.append(array, array[:1]), "kept2 has"),
        ("cls", lambda array: array[:-1], "cls has"),
        ("difficulty", lambda array: np.append(array, array[:1]), "difficulty has"),
        ("n1", lambda array: np.append(array, 1), "entries, expected"),
        ("n2", lambda array: -array, "n1 or n2 is negative"),
        ("n1", lambda array: array.astype(float), "n1 is of type float64"),
        ("assignment", lambda array: array.astype(str), "assignment is of type <U"),
        ("source", lambda array: array[:, None], "source is of type <U.* and shape"),
        ("truth", lambda _: np.array(3), r"truth is of type int64 and shape \(\)"),
        ("sets_joint", lambda _: np.zeros(2, np.int32), "joint has 2 entries, expected 0"),
    ],
)
def test_predictions_that_do_not_fit_together_name_the_array(
    tmp_path: Path, name: str, change: Callable[[np.ndarray], np.ndarray], message: str
) -> None:
    generator = np.random.default_rng(2)
    path = tmp_path / "predictions.npz"
    write_predictions(path, [_prediction(generator) for _ in range(9)])
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, **(arrays | {name: change(arrays[name])}))
    with pytest.raises(ValueError, match=rf"predictions\.npz holds no predictions \(.*{message}.*'bbgm train'"):
        read_predictions(path)
