"""Checkpoints: one at the end of each epoch, and some within a long one, from which a killed run resumes.

A checkpoint is three files: ``<name>.safetensors`` (parameters and buffers), ``<name>.optimiser.pt`` and, written
last, ``<name>.json`` (configuration hash, SHA-256 of the other two, learning curve). The name is the number of finished
epochs, as ``0003``; within an epoch, the number of its finished iterations follows, as ``0003-000200``. One that is
incomplete, altered or of another configuration is skipped in favour of the one before it; the last two are kept. No
random state is stored: every random number of a run is derived from its seed and the number of the epoch and iteration.
"""

import hashlib
import io
import logging
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import nn

from bbgm.base.atomic import atomic_write, write_json
from bbgm.base.lock import FolderLock
from bbgm.base.reading.untrusted import parse_json
from bbgm.features.weights import read_tensors

KEEP = 2
DIVERGED = "diverged"
"""Folder inside that of the checkpoints: the state of a training that diverged, see `bbgm.runs.checks.divergence`."""
History = list[dict[str, Any]]
log = logging.getLogger(__name__)


def _write(path: Path, content: bytes | memoryview) -> str:
    with atomic_write(path) as file:
        file.write(content)
    return hashlib.sha256(content).hexdigest()


def _read(path: Path, sha256: str) -> bytes:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{path.name} is truncated or altered")
    return content


def write_model(path: Path, model: nn.Module) -> str:
    """Write parameters and buffers as safetensors, atomically; returns the SHA-256 of the file."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    return _write(path, safetensors.torch.save(tensors))


def write_optimiser(path: Path, optimiser: torch.optim.Optimizer) -> str:
    """Write the state of an optimiser, atomically; returns the SHA-256 of the file."""
    # Through memory: torch.save reports a full disk as a RuntimeError that does not say so.
    state = io.BytesIO()
    torch.save(optimiser.state_dict(), state)
    return _write(path, state.getbuffer())


def read_model(path: Path, model: nn.Module) -> None:
    """Fill a model from a file of :func:`write_model`.

    Raises:
        ValueError: the file is not a safetensors file, or its names or shapes differ from the model's.
    """
    try:
        model.load_state_dict(safetensors.torch.load_file(path))
    except FileNotFoundError:
        raise
    except Exception as error:  # a method may read its layout from the tensors, and finds anything there
        raise ValueError(
            f"{path} does not fit the network of this configuration ({error}): delete it and run 'bbgm train' again"
        ) from error


def read_optimiser(path: Path, optimiser: torch.optim.Optimizer) -> None:
    """Fill an optimiser, its learning rates too, from a file of :func:`write_optimiser`; only tensors are unpickled.

    Raises:
        ValueError: the file is broken, or belongs to other parameters.
    """
    try:
        optimiser.load_state_dict(read_tensors(path))
        shapes_fit = all(
            value.shape == parameter.shape
            for parameter, state in optimiser.state.items()
            for name, value in state.items()
            if name != "step"
        )
    except FileNotFoundError:
        raise
    except Exception as error:  # torch.load raises about ten different types for broken files
        raise ValueError(
            f"{path} is not a state of this optimiser ({error}): delete it and run 'bbgm train' again"
        ) from error
    if not shapes_fit:
        raise ValueError(f"{path} is the state of other parameters: delete it and run 'bbgm train' again")


class Checkpoints:
    """The checkpoints of one run, in ``folder``, which holds nothing else but `DIVERGED`.

    Args:
        lock: of the run's folder, which must not have been replaced by another one when a checkpoint is written.
    """

    def __init__(self, folder: Path, config_hash: str, lock: FolderLock | None = None) -> None:
        self.folder = folder
        self.config_hash = config_hash
        self._lock = lock

    def save(
        self, epoch: int, iteration: int, model: nn.Module, optimiser: torch.optim.Optimizer, history: History
    ) -> None:
        """Write the state after ``epoch`` epochs and ``iteration`` iterations of the next one.

        Raises:
            WriteError: e.g. the disk is full; earlier checkpoints are kept.
        """
        if self._lock:
            self._lock.check()
        stem = self.folder / (f"{epoch:04d}-{iteration:06d}" if iteration else f"{epoch:04d}")
        try:
            content = {
                "epoch": epoch,
                "iteration": iteration,
                "config_hash": self.config_hash,
                "model": write_model(stem.with_suffix(".safetensors"), model),
                "optimiser": write_optimiser(stem.with_suffix(".optimiser.pt"), optimiser),
                "history": history,
            }
            write_json(stem.with_suffix(".json"), content)
        except OSError:
            with suppress(OSError):  # the disk is no longer there, or read-only
                self._delete(stem.name)
            raise
        for old in self._records()[:-KEEP]:
            self._delete(old.stem)

    def restore(self, model: nn.Module, optimiser: torch.optim.Optimizer) -> tuple[int, int, History]:
        """Fill model and optimiser from the newest good checkpoint.

        Returns:
            The number of epochs done, that of the iterations done of the next one (both 0 if there is no good
            checkpoint), and the learning curve so far.
        """
        for record in reversed(self._records()):
            try:
                content = parse_json(record.read_bytes())
                if content["config_hash"] != self.config_hash:
                    raise ValueError(f"it is of configuration {content['config_hash']}, not {self.config_hash}")
                parameters = safetensors.torch.load(_read(record.with_suffix(".safetensors"), content["model"]))
                _read(record.with_suffix(".optimiser.pt"), content["optimiser"])
                state = read_tensors(record.with_suffix(".optimiser.pt"))
                epoch, iteration = int(content["epoch"]), int(content.get("iteration", 0))
                history = list(content["history"])
            except Exception as error:  # also of the two libraries, about ten types
                log.warning("checkpoint %s cannot be used (%s): going back to the one before it", record, error)
                continue
            model.load_state_dict(parameters)
            optimiser.load_state_dict(state)
            return epoch, iteration, history
        return 0, 0, []

    def _records(self) -> list[Path]:
        return sorted(self.folder.glob("*.json"), key=lambda path: path.stem)

    def _delete(self, stem: str) -> None:
        for file in self.folder.glob(f"{stem}.*"):
            file.unlink()

    def clear(self) -> None:
        """Delete them all."""
        shutil.rmtree(self.folder, ignore_errors=True)
