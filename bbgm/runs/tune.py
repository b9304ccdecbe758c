"""Settings compared: on training images alone, some of which are held out, or on the test images over several seeds."""

import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bbgm.base import machine
from bbgm.base.reproducible import reproducible
from bbgm.config import ProtocolConfig, RunConfig
from bbgm.data import open_dataset
from bbgm.data.images.keypoints import Dataset, KeypointImage
from bbgm.methods.base import make_matcher
from bbgm.runs.checkpoint import Checkpoints
from bbgm.runs.evaluate import Evaluation, evaluate
from bbgm.runs.fit import fit, make_optimiser
from bbgm.scoring.metrics import main_score


@dataclass(frozen=True)
class Trial:
    """What a configuration reaches on held-out training images, or on the test images.

    Attributes:
        scores: mean over the classes, one for each fold or seed, in [0, 1]: F1 with the filter ``unfiltered``, else the
            accuracy.
        pairs: how many pairs were matched in all of them together.
        seconds: of training and evaluation.
    """

    scores: tuple[float, ...]
    pairs: int
    seconds: float

    @property
    def mean(self) -> float:
        """Mean over the folds or seeds, in [0, 1]."""
        return float(np.mean(self.scores))


def grid(options: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination of values, one of each setting: by dotted name, as in ``optimiser.learning_rate``."""
    for values in itertools.product(*options.values()):
        yield dict(zip(options, values, strict=True))


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by dotted name as the overrides of `bbgm.config.load_run`.

    Raises:
        ValueError: one setting is part of another, as in ``optimiser`` and ``optimiser.kind``.
    """
    content: dict[str, Any] = {}
    for name, value in settings.items():
        *sections, key = name.split(".")
        place: Any = content
        for section in sections:
            place = place.setdefault(section, {}) if isinstance(place, dict) else None
        if not isinstance(place, dict) or key in place:
            raise ValueError(f"{name} is set twice, once as part of another setting: set it once")
        place[key] = value
    return content


def hold_out(dataset: Dataset, fold: int, folds: int) -> Dataset:
    """A data set of the training images alone: every ``folds``-th of a class, from number ``fold`` on, is for testing.

    Raises:
        ValueError: a data set that lists its pairs, or a part with fewer than the two images that a pair needs.
    """
    if dataset.listed:
        raise ValueError(f"{dataset.name} lists its pairs, so images cannot be held out: tune on another data set")
    train: dict[str, tuple[KeypointImage, ...]] = {}
    test: dict[str, tuple[KeypointImage, ...]] = {}
    for cls, images in dataset.train.items():
        test[cls] = images[fold::folds]
        train[cls] = tuple(image for k, image in enumerate(images) if k % folds != fold)
        if len(images) < 2 * folds:
            remedy = f"use at most {len(images) // 2} folds" if len(images) >= 4 else "use at least 4 training images"
            raise ValueError(f"class {cls} has {len(images)} training images, too few for {folds} folds: {remedy}")
    return Dataset(dataset.name, train, test, dataset.errata_applied, {}, dataset.dropped, dataset.hidden)


def tune(
    config: RunConfig, folds: int = 3, pairs_per_class: int = 200, progress: bool = False, held: int | None = None
) -> Trial:
    """Train a configuration on all folds but one and evaluate it on that one, for each fold; nothing is kept.

    Args:
        config: of a run; its test images are not used.
        folds: into how many parts the training images of each class are divided.
        pairs_per_class: of held-out images, for each fold.
        progress: bars on stderr, if that is a terminal.
        held: hold out the first so many folds only, one after another; None: all.

    Raises:
        ValueError: as `hold_out`; fewer than two folds, or no pairs; a configuration that starts from a parent, or
            diverges.
    """
    held = folds if held is None else held
    if folds < 2:
        raise ValueError(f"{folds} folds leave nothing to train on: use 2 or more")
    if not 1 <= held <= folds:
        raise ValueError(f"{held} of {folds} folds cannot be held out one after another: use 1 to {folds}")
    if pairs_per_class < 1:
        raise ValueError(f"{pairs_per_class} pairs of a class leave nothing to evaluate: use 1 or more")
    if config.parent is not None:
        raise ValueError(f"{config.method} starts from {config.parent.run.method}: tune a method that has no parent")
    began = time.perf_counter()
    update = {"test_pairs_per_class": pairs_per_class, "test_sets_per_class": 0}
    protocol: ProtocolConfig = config.protocol.model_copy(update=update)
    dataset = open_dataset(config.data, config.protocol)
    parts = (hold_out(dataset, fold, folds) for fold in range(held))
    score = main_score(protocol.filter)
    return _trial([_train_and_test(config, part, protocol, progress) for part in parts], score, began)


def compare(configs: Sequence[RunConfig], progress: bool = False) -> Trial:
    """Train configurations, one for each seed, and evaluate them on the test images; nothing is kept.

    Raises:
        ValueError: no configuration; one that starts from a parent, or diverges.
    """
    if not configs:
        raise ValueError("there is no configuration to compare: give one for each seed, and one seed or more")
    if parents := [config.parent for config in configs if config.parent is not None]:
        raise ValueError(f"{configs[0].method} starts from {parents[0].run.method}: compare a method without a parent")
    began = time.perf_counter()
    datasets = (open_dataset(config.data, config.protocol) for config in configs)
    runs = zip(configs, datasets, strict=True)
    score = main_score(configs[0].protocol.filter)
    return _trial(
        [_train_and_test(config, dataset, config.protocol, progress) for config, dataset in runs], score, began
    )


def _train_and_test(config: RunConfig, dataset: Dataset, protocol: ProtocolConfig, progress: bool) -> Evaluation:
    with reproducible(config.threads), tempfile.TemporaryDirectory() as folder:
        matcher = make_matcher(config).to(machine.device())
        matcher.prepare(dataset)
        checkpoints = Checkpoints(Path(folder), config.hash())
        fit(matcher, make_optimiser(matcher, config), dataset, config, checkpoints, progress)
        return evaluate(matcher, dataset, protocol, progress)


def _trial(evaluations: Sequence[Evaluation], score: str, began: float) -> Trial:
    scores = tuple(one.mean[score] for one in evaluations)
    return Trial(scores, sum(len(one.predictions) for one in evaluations), time.perf_counter() - began)
