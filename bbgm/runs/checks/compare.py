"""Predictions and scores of a run compared with the same, computed again: exactly, and with words for what differs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bbgm.runs.results import RunRecord
from bbgm.scoring.metrics import mean_over_classes, score_class
from bbgm.scoring.predictions import Prediction

TEXT, ARRAYS = ("cls", "source", "target", "difficulty"), ("kept1", "kept2", "truth", "assignment")


def different_pairs(stored: Sequence[Prediction], found: Sequence[Prediction], what: str = "test pairs") -> str:
    """What differs between the pairs of a run and the same pairs matched again, in one phrase; empty if nothing.

    Args:
        stored, found: in the same order.
        what: the pairs are called.
    """
    if len(stored) != len(found):
        return f"{len(stored)} {what} are stored, {len(found)} were matched again"
    different = [(one, other) for one, other in zip(stored, found, strict=True) if not _equal(one, other)]
    if not different:
        return ""
    one, other = different[0]
    if names := [name for name in (*TEXT, *ARRAYS[:3]) if not _equal(one, other, (name,))]:
        first = f"its {names[0]} is not as stored"
    else:
        wrong = int(np.sum(one.assignment != other.assignment))
        first = f"{wrong} of {len(one.assignment)} keypoints" if wrong else "its joint matching"
    return (
        f"{len(different)} of {len(stored)} {what} differ when the stored network matches them again; the first is "
        f"{one.source} with {one.target}: {first}"
    )


def _equal(one: Prediction, other: Prediction, names: Sequence[str] = ()) -> bool:
    names = names or [name for name in (*TEXT, *ARRAYS, "joint", "number", "p", "q") if hasattr(one, name)]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def score(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """``per_class`` and ``mean`` scores of pairs, as metrics.json has them."""
    by_class: dict[str, list[tuple[np.ndarray, np.ndarray, int]]] = {}
    for item in predictions:
        by_class.setdefault(item.cls, []).append((item.assignment, item.truth, len(item.kept2)))
    per_class = {cls: score_class(matchings) for cls, matchings in by_class.items()}
    return {"n_pairs": len(predictions), "per_class": per_class, "mean": mean_over_classes(per_class)}


def different_scores(stored: Any, found: Any, place: str = "") -> Iterator[str]:
    """What differs between stored scores and the same computed again, one phrase for each number.

    Scores that only one of the two has are ignored, because versions differ in what they compute; classes are not.
    """
    if isinstance(found, Mapping) and isinstance(stored, Mapping):
        for key in dict.fromkeys([*found, *stored]):
            here = f"{place}.{key}" if place else str(key)
            if key in stored and key in found:
                yield from different_scores(stored[key], found[key], here)
            elif isinstance(found.get(key, stored.get(key)), Mapping):
                yield f"{here} is only in {'metrics.json' if key in stored else 'the predictions'}"
    elif stored != found:
        yield f"{place} is {stored}, predictions.npz gives {found}"


def different_test_pairs(record: RunRecord) -> str:
    """Where test_pairs.json does not list the pairs of predictions.npz; empty if it does."""
    expected: dict[str, list[tuple[str, str]]] = {}
    for item in record.predictions:
        expected.setdefault(item.cls, []).append((item.source, item.target))
    for cls in dict.fromkeys([*expected, *record.test_pairs]):
        if record.test_pairs.get(cls) != expected.get(cls):
            return f"class {cls} does not have the pairs of predictions.npz"
    return ""
