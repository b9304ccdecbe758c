"""Evaluation: the fixed test pairs of each class, matched and scored."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bbgm.base.progress import progress
from bbgm.config import ProtocolConfig
from bbgm.data.images.keypoints import Dataset
from bbgm.data.sampling.pairs import test_pairs
from bbgm.data.sampling.recorded import rebuild_pairs
from bbgm.scoring.metrics import check_matching, mean_over_classes, score_class
from bbgm.scoring.predictions import Prediction

if TYPE_CHECKING:
    from bbgm.methods.base import Matcher

CHUNK = 1000
"""Pairs matched at once: many share images, whose features are then computed once."""


@dataclass(frozen=True)
class Evaluation:
    """Scores (see :func:`bbgm.scoring.metrics.score`), every pair, and the time it took."""

    per_class: dict[str, dict[str, float | int]]
    mean: dict[str, float]
    predictions: list[Prediction]
    seconds: float


def evaluate(
    matcher: "Matcher",
    dataset: Dataset,
    protocol: ProtocolConfig,
    show_progress: bool = True,
    recorded: Sequence[Prediction] = (),
) -> Evaluation:
    """Match the test pairs of every class (paper Sec. 4); the matcher is left in evaluation mode.

    Args:
        recorded: of an earlier evaluation, whose pairs are matched again; empty: draw them.

    Raises:
        ValueError: a prediction is not a matching, or not a mapping if the method is not one-to-one; or a class
            has no pairs to test.
    """
    start = time.perf_counter()
    matcher.eval()
    predictions: list[Prediction] = []
    per_class = {}
    for cls in dataset.classes:
        if recorded:
            pairs = rebuild_pairs(dataset, cls, [item for item in recorded if item.cls == cls])
        else:
            pairs = test_pairs(dataset, protocol, cls)
        chunks = [pairs[first : first + CHUNK] for first in range(0, len(pairs), CHUNK)]
        found = [
            Prediction.of(pair, assignment)
            for chunk in progress(chunks, f"test {cls}", show_progress)
            for pair, assignment in zip(chunk, matcher.predict(chunk), strict=True)
        ]
        for item in found:
            check_matching(item.assignment, len(item.kept2), one_to_one=matcher.one_to_one)
        per_class[cls] = score_class((item.assignment, item.truth, len(item.kept2)) for item in found)
        predictions += found
    return Evaluation(per_class, mean_over_classes(per_class), predictions, time.perf_counter() - start)
