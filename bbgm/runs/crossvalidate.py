"""Settings compared: by cross-validation on the training images alone, or on the test images over several seeds."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bbgm.base import machine
from bbgm.base.reproducible import reproducible
from bbgm.config import RunConfig
from bbgm.data import open_dataset
from bbgm.data.images.keypoints import Dataset
from bbgm.methods.base import make_matcher
from bbgm.runs.checkpoint import Checkpoints
from bbgm.runs.evaluate import Evaluation, evaluate
from bbgm.runs.fit import fit, make_optimiser


def folds(dataset: Dataset, number: int) -> Iterator[Dataset]:
    """Data sets whose test images are each a part of the training images of this one, and whose training images are
    the rest; the k-th part of a class has its images k, k + number, ... The test images are in none of them.

    Raises:
        ValueError: a part would have fewer than the two images that a pair needs, or the data set lists its pairs.
    """
    if dataset.listed:
        raise ValueError(
            f"{dataset.name} lists its pairs, which cannot be divided: choose settings on another data set"
        )
    for cls, images in dataset.train.items():
        if number < 2 or len(images) < 2 * number:
            raise ValueError(
                f"class {cls} has {len(images)} training images: {number} folds are not possible, as there must be 2 "
                f"at least with two images each; set folds to 2 ... {len(images) // 2}, or leave the class out"
            )
    for k in range(number):
        held_out = {cls: images[k::number] for cls, images in dataset.train.items()}
        rest = {cls: tuple(x for i, x in enumerate(images) if i % number != k) for cls, images in dataset.train.items()}
        yield replace(dataset, train=rest, test=held_out)


def cross_validate(config: RunConfig, number: int, pairs_per_class: int = 100) -> list[Evaluation]:
    """Train and evaluate a configuration on each of `folds`; nothing is written.

    Args:
        number: of folds.
        pairs_per_class: drawn from the images of each class that are held out.

    Raises:
        ValueError: see `folds`; or the configuration has a parent, whose images may be those that are held out.
    """
    if config.parent is not None:
        raise ValueError(f"{config.method} starts from {config.parent.run.method}: only runs from scratch are possible")
    protocol = config.protocol.model_copy(update={"test_pairs_per_class": pairs_per_class, "test_sets_per_class": 0})
    config = config.model_copy(update={"protocol": protocol})
    return [train_and_test(config, dataset) for dataset in folds(open_dataset(config.data, protocol), number)]


def train_and_test(config: RunConfig, dataset: Dataset) -> Evaluation:
    """Train a configuration on a data set from scratch, and evaluate it there; nothing is written."""
    with reproducible(config.threads), TemporaryDirectory() as scratch:
        matcher = make_matcher(config).to(machine.device())
        matcher.prepare(dataset)
        checkpoints = Checkpoints(Path(scratch), config.hash())
        fit(matcher, make_optimiser(matcher, config), dataset, config, checkpoints, show_progress=False)
        return evaluate(matcher, dataset, config.protocol, show_progress=False)
