"""One run: train, evaluate, write everything down. Idempotent, and resumes from its last checkpoint."""

import logging
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bbgm.base import machine
from bbgm.base.atomic import remove_leftovers, write_json, write_text
from bbgm.base.lock import LOCK, FolderLock, folder_lock
from bbgm.base.reproducible import reproducible
from bbgm.base.stopping import terminable
from bbgm.config import RunConfig, hash_of, read_yaml
from bbgm.data import open_dataset
from bbgm.data.images.keypoints import Dataset
from bbgm.methods.base import Matcher, make_matcher
from bbgm.runs.checkpoint import DIVERGED, Checkpoints, History, read_model, write_model, write_optimiser
from bbgm.runs.checks.checksums import RECORD, write_record
from bbgm.runs.checks.divergence import Diverged, save_state
from bbgm.runs.evaluate import Evaluation, evaluate
from bbgm.runs.fit import fit, make_optimiser
from bbgm.runs.results import (
    FILES,
    OPTIMISER,
    TIMING,
    RunRecord,
    finished,
    load,
    run_folder,
    write_history,
    write_test_pairs,
)
from bbgm.runs.sets import SetEvaluation, evaluate_sets
from bbgm.runs.superseded import CHECKPOINT, make_room
from bbgm.scoring.predictions import write_predictions

log = logging.getLogger(__name__)


def run(config: RunConfig, folder: Path | None = None, progress: bool = True) -> RunRecord:
    """The finished run of a configuration, made now if it does not exist yet.

    A finished run of the same configuration is only read. A killed one resumes from its last checkpoint and ends with
    the same numbers as one that was not killed. SIGTERM and Ctrl-C let the iteration end and write a checkpoint. Files
    of another configuration in the folder are moved aside, see `bbgm.runs.superseded`. The parent of a run, if it has
    one, is made first in its own folder, unless it exists.

    Args:
        config: of the run.
        folder: default :func:`bbgm.runs.results.run_folder`.
        progress: bars on stderr, if that is a terminal.

    Raises:
        ValueError: another process works in the folder, or the data do not fit the configuration.
        Diverged: training met a number that is not finite; the state is in ``checkpoint/diverged``.
        WriteError: the folder cannot be written to, it was deleted, or the disk is full.
        Terminated: by SIGTERM; KeyboardInterrupt: by Ctrl-C.
    """
    folder = Path(folder or run_folder(config))
    done = finished(config, folder)
    if done is not None:
        _tidy(folder)
        return done
    parent = _parent(config, progress)
    with terminable(), folder_lock(folder) as lock:
        done = finished(config, folder)  # by the process that held the lock
        if done is not None:
            return done
        with reproducible(config.threads):
            # What may fail comes before anything is moved.
            dataset = open_dataset(config.data, config.protocol)
            matcher = make_matcher(config).to(machine.device())
            make_room(folder, config)
            if finished(config, folder) is None:  # else it was brought back
                _make(config, parent, dataset, matcher, folder, lock, progress)
        return load(folder)


def _tidy(folder: Path) -> None:
    """Remove what a process left that was killed just after it had finished the run."""
    if not any((folder / name).exists() for name in (LOCK, CHECKPOINT)):
        return
    with suppress(ValueError, OSError), folder_lock(folder):  # it is still at work there, or nothing can be written
        remove_leftovers(folder)
        shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)


def _parent(config: RunConfig, show_progress: bool) -> RunRecord | None:
    """The finished run that a run starts from."""
    if config.parent is None:
        return None
    parent = config.parent.run
    if finished(parent) is None:
        log.info("%s starts from %s, which is not there yet: making it first", config.folder, run_folder(parent))
    return run(parent, progress=show_progress)


def _make(
    config: RunConfig,
    parent: RunRecord | None,
    dataset: Dataset,
    matcher: Matcher,
    folder: Path,
    lock: FolderLock,
    show_progress: bool,
) -> None:
    record = folder / "config.yaml"
    if not record.is_file():  # else a killed run of the same effective settings resumes under its own record
        write_text(record, config.to_yaml())
    config_hash = hash_of(read_yaml(record))
    left_out: dict[str, Any] = {
        "errata_applied": list(dataset.errata_applied),
        "dropped": dataset.dropped.record(),
    }
    if cut := dataset.dropped.cut_record():
        left_out["cut"] = cut
    write_json(folder / "split.json", {**dataset.split_record(), **left_out})

    checkpoints = Checkpoints(folder / CHECKPOINT, config_hash, lock)
    matcher.prepare(dataset)
    optimiser = make_optimiser(matcher, config, parent)
    try:
        history = fit(matcher, optimiser, dataset, config, checkpoints, show_progress)
    except Diverged as error:
        raise save_state(error, checkpoints.folder / DIVERGED, matcher, optimiser) from error
    lock.check()
    rates = (f"lr_{group['name']}" for group in optimiser.param_groups)
    write_history(
        folder / "history.csv",
        ["epoch", "iteration", "loss", "accuracy", *matcher.batch_numbers, *rates, *TIMING],
        history,
    )
    write_model(folder / "model.safetensors", matcher)
    if config.keep_optimiser:
        write_optimiser(folder / OPTIMISER, optimiser)

    evaluation = evaluate(matcher, dataset, config.protocol, show_progress)
    sets = None
    if config.protocol.test_sets_per_class:
        sets = evaluate_sets(matcher, dataset, config.protocol, show_progress)
    lock.check()
    write_test_pairs(folder / "test_pairs.json", evaluation.predictions)
    write_predictions(folder / "predictions.npz", evaluation.predictions, sets.predictions if sets else ())
    summary = _summary(config, parent, dataset, history, evaluation, sets, machine.device())
    names = [name for name in FILES if name != RECORD] + [OPTIMISER] * config.keep_optimiser
    write_record(folder, {**summary, "config_hash": config_hash}, names)
    checkpoints.clear()


def load_matcher(record: RunRecord, solver: str | None = None) -> Matcher:
    """The trained network of a run, in evaluation mode.

    Args:
        solver: a name in `bbgm.config.SOLVERS` to match pairs with; None: that of the run.

    Raises:
        ValueError: the stored parameters do not fit the configuration, there is no such solver, or the method has none.
    """
    config = record.config if solver is None else record.config.with_solver(solver)
    matcher = make_matcher(config)
    read_model(record.folder / "model.safetensors", matcher)
    return matcher.to(machine.device()).eval()


def evaluate_run(
    record: RunRecord, pairs_per_class: int | None = None, progress: bool = True, solver: str | None = None
) -> Evaluation:
    """Evaluate a trained run again; nothing is written.

    Args:
        pairs_per_class: of the pairs to draw; None: the recorded test pairs of the run, even if other pairs would be
            drawn today.
        solver: see `load_matcher`.

    Raises:
        ValueError: the data set lacks a recorded image or keypoint, it does not fit the configuration, or `solver` does
            not.
    """
    protocol, recorded = record.config.protocol, record.predictions
    if pairs_per_class is not None:
        recorded = []
        protocol = protocol.model_copy(update={"test_pairs_per_class": pairs_per_class})
    matcher = load_matcher(record, solver)
    dataset = open_dataset(record.config.data, protocol)
    with reproducible(record.config.threads):
        return evaluate(matcher, dataset, protocol, progress, recorded)


def _summary(
    config: RunConfig,
    parent: RunRecord | None,
    dataset: Dataset,
    history: History,
    evaluation: Evaluation,
    sets: SetEvaluation | None,
    device: str,
) -> dict[str, Any]:
    """The content of metrics.json but for its hash; scores are fractions in [0, 1]."""
    seconds = sum(row["seconds"] for row in history)
    trained = len(history) * config.optimiser.batch_size
    n_pairs = len(evaluation.predictions)
    return {
        "method": config.method,
        "title": config.title,
        "dataset": config.data.dataset,
        "source": config.data.source,
        "filter": config.protocol.filter,
        "setting": config.setting,
        "seed": config.seed,
        "budget": config.budget,
        "protocol": config.protocol.model_dump(mode="json"),
        **({"parent": _record(parent)} if parent else {}),
        "errata_applied": list(dataset.errata_applied),
        "n_pairs": n_pairs,
        "per_class": evaluation.per_class,
        "mean": evaluation.mean,
        **({"sets": sets.summary} if sets else {}),
        "throughput": {
            "train_pairs_per_s": trained / seconds if history else None,
            "eval_pairs_per_s": n_pairs / evaluation.seconds,
            "solver_share": sum(row["solver_seconds"] for row in history) / seconds if history else None,
            **(sets.timing if sets else {}),
        },
        "peak_memory_mib": machine.peak_memory_mib(),
        "versions": machine.versions(),
        "hardware": machine.hardware(device),
        "provenance": {"commit": machine.commit(), "finished": datetime.now(UTC).isoformat(timespec="seconds")},
    }


def _record(parent: RunRecord) -> dict[str, str]:
    """What a run records about its parent: its path below the results root, and its configuration."""
    return {"folder": parent.config.folder.as_posix(), "config_hash": parent.metrics["config_hash"]}
