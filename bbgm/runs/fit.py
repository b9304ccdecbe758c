"""The training loop: Adam or SGD with a step schedule (paper Sec. 4), a checkpoint after each epoch or more often."""

import logging
import math
import time
from typing import Any

import numpy as np
import torch

from bbgm.base.memory import keep_freed_memory
from bbgm.base.progress import progress
from bbgm.base.reproducible import seed_generators
from bbgm.base.stopping import stop_later
from bbgm.config import OptimiserConfig, RunConfig
from bbgm.data.images.keypoints import Dataset
from bbgm.data.sampling.pairs import sample_training_batch
from bbgm.methods.base import Matcher
from bbgm.runs.checkpoint import Checkpoints, History, read_model, read_optimiser
from bbgm.runs.checks.divergence import Step, Watched
from bbgm.runs.results import OPTIMISER, RunRecord

MOMENTUM = 0.9  # of SGD
log = logging.getLogger(__name__)


def learning_rate_factor(epoch: int, iteration: int, optimiser: OptimiserConfig) -> float:
    """Factor on all learning rates in an iteration of an epoch, both counted from 0.

    It is ``decay`` for each milestone that is reached, or half a cosine from 1 down to 0 over all iterations. In the
    first ``warm_up`` iterations it is multiplied by a share that grows to 1.
    """
    done = epoch * optimiser.iterations_per_epoch + iteration
    if optimiser.schedule == "cosine":
        total = optimiser.epochs * optimiser.iterations_per_epoch
        factor = (1 + math.cos(math.pi * done / total)) / 2
    else:
        factor = float(optimiser.decay ** sum(milestone <= epoch for milestone in optimiser.milestones))
    return factor * min(1.0, (done + 1) / (optimiser.warm_up + 1))


def make_optimiser(matcher: Matcher, config: RunConfig, parent: RunRecord | None = None) -> torch.optim.Optimizer:
    """The optimiser of a network; with a parent, the network gets its parameters and the optimiser its state.

    As in the authors' code the parent's last learning rates come with its state and replace ``learning_rate``.

    Raises:
        ValueError: the parent's files do not fit the network.
    """
    settings = config.optimiser
    groups = matcher.parameter_groups(settings.learning_rate, settings.backbone_factor)
    optimiser: torch.optim.Optimizer
    if settings.kind == "sgd":
        optimiser = torch.optim.SGD(groups, lr=settings.learning_rate, momentum=MOMENTUM, nesterov=True, fused=True)
    else:
        optimiser = torch.optim.Adam(groups, fused=True)
    if parent and config.parent:
        read_model(parent.folder / "model.safetensors", matcher)
        if config.parent.optimiser_state:
            read_optimiser(parent.folder / OPTIMISER, optimiser)
    return optimiser


def fit(
    matcher: Matcher,
    optimiser: torch.optim.Optimizer,
    dataset: Dataset,
    config: RunConfig,
    checkpoints: Checkpoints,
    show_progress: bool = True,
) -> History:
    """Train, from the newest checkpoint or from the state of matcher and optimiser.

    A checkpoint is written after each epoch, after every ``checkpoint_every`` iterations of it, and when SIGTERM or
    Ctrl-C asks the process to stop.

    Returns:
        The learning curve, one row per iteration.

    Raises:
        Diverged: a loss, gradient or parameter is not finite.
        Terminated, KeyboardInterrupt: the process was asked to stop; the state is kept.
    """
    keep_freed_memory()
    settings = config.optimiser
    rates = [group["lr"] for group in optimiser.param_groups]
    start, done, history = checkpoints.restore(matcher, optimiser)
    watched = Watched(matcher)
    if history:
        log.info("resumed after iteration %d of %d", len(history), settings.epochs * settings.iterations_per_epoch)
    for epoch in range(start, settings.epochs):
        matcher.train()
        title = f"{config.method} seed {config.seed}, epoch {epoch + 1}/{settings.epochs}"
        first = done if epoch == start else 0
        with stop_later() as stop:
            for iteration in progress(range(first, settings.iterations_per_epoch), title, show_progress):
                factor = learning_rate_factor(epoch, iteration, settings)
                for group, rate in zip(optimiser.param_groups, rates, strict=True):
                    group["lr"] = rate * factor
                step, row = train_step(watched, optimiser, dataset, config, epoch, iteration)
                history.append(row)
                finished = iteration + 1
                last = finished == settings.iterations_per_epoch
                if last or stop.signum is not None or finished % config.checkpoint_every == 0:
                    # Else the next step would notice: to read all parameters takes some percent of a step.
                    step.check_parameters()
                    place = (epoch + 1, 0) if last else (epoch, finished)
                    checkpoints.save(*place, matcher, optimiser, history)
                if stop.signum is not None:
                    log.info("stopped after iteration %d, as asked", len(history))
                    break
    return history


def train_step(
    watched: Watched, optimiser: torch.optim.Optimizer, dataset: Dataset, config: RunConfig, epoch: int, iteration: int
) -> tuple[Step, dict[str, Any]]:
    """One iteration, counted from 0 in its epoch; returns it with its row of the learning curve."""
    settings, matcher = config.optimiser, watched.matcher
    began, solver_began = time.perf_counter(), matcher.solver_seconds
    # For layers such as dropout: like the batch, what they draw depends on the counters alone.
    seed_generators(int(np.random.default_rng([config.seed, epoch, iteration]).integers(2**63)))
    pairs = sample_training_batch(dataset, config.protocol, config.seed, epoch, iteration, settings.batch_size)
    step = Step(watched, pairs, epoch + 1, iteration + 1)
    optimiser.zero_grad()
    loss = step.loss()
    torch.autograd.backward(loss)
    step.check_gradients()
    optimiser.step()
    return step, {
        "epoch": epoch + 1,
        "iteration": epoch * settings.iterations_per_epoch + iteration + 1,
        "loss": step.value,
        "accuracy": matcher.batch_accuracy,
        **matcher.batch_numbers,
        **{f"lr_{group['name']}": group["lr"] for group in optimiser.param_groups},
        "seconds": time.perf_counter() - began,
        "solver_seconds": matcher.solver_seconds - solver_began,
    }
