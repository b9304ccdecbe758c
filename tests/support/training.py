"""What tests of several methods do with a network: train it a little, differentiate, shuffle, read its results."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bbgm.config import RunConfig
from bbgm.data.images.keypoints import Dataset
from bbgm.data.sampling.pairs import KeypointPair, sample_training_batch
from bbgm.methods.base import Matcher
from bbgm.runs.results import FILES, TIMING, VOLATILE


def train_a_little(
    matcher: Matcher,
    dataset: Dataset,
    config: RunConfig,
    *,
    learning_rate: float,
    backbone_factor: float = 0.0,
    batch_size: int = 16,
    iterations: int = 15,
) -> list[float]:
    """Train with Adam; the loss of each iteration."""
    optimiser = torch.optim.Adam(matcher.parameter_groups(learning_rate, backbone_factor))
    matcher.train()
    losses = []
    for iteration in range(iterations):
        torch.manual_seed(iteration)  # for dropout
        optimiser.zero_grad()
        loss = matcher.loss(sample_training_batch(dataset, config.protocol, 0, 0, iteration, batch_size))
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def slope_and_quotient(
    matcher: Matcher, pairs: Sequence[KeypointPair], parameter: nn.Parameter, direction: Tensor, step: float
) -> tuple[float, float]:
    """Derivative of the loss along a direction: by the gradient, which was computed before, and by two losses."""
    assert parameter.grad is not None
    values = []
    for sign in (1, -1):
        with torch.no_grad():
            parameter.add_(sign * step * direction)
            values.append(matcher.loss(pairs).item())
            parameter.sub_(sign * step * direction)
    return (parameter.grad * direction).sum().item(), (values[0] - values[1]) / (2 * step)


def shuffle(pair: KeypointPair, rng: np.random.Generator) -> tuple[KeypointPair, np.ndarray, np.ndarray]:
    """The pair with its keypoints in other orders, and the orders of its source and target."""
    p, q = rng.permutation(len(pair.kept1)), rng.permutation(len(pair.kept2))
    return KeypointPair(pair.source, pair.target, pair.kept1[p], pair.kept2[q]), p, q


def results_of(folder: Path) -> dict[str, Any]:
    """All that a run found out, without what differs from time to time."""
    metrics = json.loads((folder / "metrics.json").read_text())
    with (folder / "history.csv").open() as file:
        history = [{k: v for k, v in row.items() if k not in TIMING} for row in csv.DictReader(file)]
    whole = {name: (folder / name).read_bytes() for name in FILES if name not in ("metrics.json", "history.csv")}
    return {"metrics": {k: v for k, v in metrics.items() if k not in VOLATILE}, "history": history, **whole}
