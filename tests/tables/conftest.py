"""Folders of finished runs with given scores, written by the real writers and read like any other."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbgm.base.atomic import write_json, write_text
from bbgm.config import make_run
from bbgm.runs import results
from bbgm.runs.sets import score_sets
from bbgm.scoring.metrics import mean_over_classes, score_class
from bbgm.scoring.predictions import Prediction, SetPrediction, write_predictions

KEYPOINTS, PAIRS, SETS, SET_SIZE = 10, 100, 40, 3
AddRun = Callable[..., Path]


def _predict(share: float, generator: np.random.Generator, n_pairs: int) -> list[np.ndarray]:
    """(KEYPOINTS,) matchings of n_pairs pairs, of which in all the given share is right; the rest stays unmatched."""
    right = np.zeros(n_pairs * KEYPOINTS, dtype=bool)
    right[: round(share * len(right))] = True
    truth = np.arange(KEYPOINTS)
    return [np.where(one, truth, -1) for one in generator.permutation(right).reshape(n_pairs, KEYPOINTS)]


def _fields(cls: str, number: int, difficulty: str = "") -> dict[str, Any]:
    every = np.arange(KEYPOINTS, dtype=np.int32)
    return {
        "cls": cls,
        "source": f"{cls}/{number}",
        "target": f"{cls}/{number + 1}",
        "difficulty": difficulty,
        "kept1": every,
        "kept2": every,
        "truth": every,
    }


@pytest.fixture
def add_run(tmp_path: Path) -> AddRun:
    """Write a finished run below the test's folder.

    ``accuracy``: by class; with ``levels``, by class and viewpoint (0, 1, 2) of equally many pairs. ``sets``: by class,
    the share of right matches pair by pair and jointly. ``wobble``: seed of which keypoints are right.
    """

    def add(
        accuracy: Mapping[Any, float],
        seed: int = 0,
        *,
        sets: Mapping[str, tuple[float, float]] | None = None,
        wobble: int | None = None,
        n_pairs: int = PAIRS,
        **changes: Any,
    ) -> Path:
        content = {
            "method": "bbgm",
            "title": "BB-GM",
            "budget": "willow",
            "seed": seed,
            **changes,
            "data": {"source": "original", **changes.get("data", {})},
        }
        config = make_run(content)
        generator = np.random.default_rng([seed if wobble is None else wobble, len(config.method)])
        predictions = []
        for key, share in accuracy.items():
            cls, level = key if isinstance(key, tuple) else (key, None)
            label = "" if level is None else f"viewpoint={level} scale=0 truncation=0 occlusion=0 mirror=0"
            predictions += [
                Prediction(**_fields(cls, 1000 * (level or 0) + k, label), assignment=found)
                for k, found in enumerate(_predict(share, generator, n_pairs))
            ]
        of_sets = []
        keys = [(p, q) for q in range(SET_SIZE) for p in range(q)]
        for cls, shares in (sets or {}).items():
            alone, joint = (_predict(share, generator, SETS * len(keys)) for share in shares)
            of_sets += [
                SetPrediction(**_fields(cls, k), number=k // len(keys), p=p, q=q, assignment=alone[k], joint=joint[k])
                for k, (p, q) in enumerate(keys * SETS)
            ]
        by_class: dict[str, list[Prediction]] = {}
        for item in predictions:
            by_class.setdefault(item.cls, []).append(item)
        per_class = {
            cls: score_class((x.assignment, x.truth, KEYPOINTS) for x in items) for cls, items in by_class.items()
        }
        metrics = {
            "method": config.method,
            "n_pairs": len(predictions),
            "per_class": per_class,
            "mean": mean_over_classes(per_class),
            "config_hash": config.hash(),
        }
        if sets:
            solutions = {name: score_sets(of_sets, name) for name in ("pairwise", "joint")}
            metrics["sets"] = {"set_size": SET_SIZE, "n_sets": SETS * len(sets), **solutions}
        folder = tmp_path / config.folder
        write_text(folder / "config.yaml", config.to_yaml())
        write_json(folder / "split.json", {})
        results.write_history(folder / "history.csv", ["epoch"], [])
        write_predictions(folder / "predictions.npz", predictions, of_sets)
        write_text(folder / "model.safetensors", "")
        for name in results.FILES:
            if not (folder / name).exists():
                write_json(folder / name, {})
        write_json(folder / "metrics.json", metrics)
        return folder

    return add
