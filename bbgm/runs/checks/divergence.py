"""Training that diverges: stopped in the step in which a number is first NaN or infinite, and described.

The loss, the gradients and, before they are saved, parameters and buffers must be finite. Where they are not, the
batch is looked at again: with all pairs, and with each pair alone, to name the first tensor that is not finite and the
pairs that make it so.
"""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from bbgm.base.atomic import WriteError, write_json
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.matching.instance import NotFiniteError
from bbgm.methods.base import Matcher
from bbgm.runs.checkpoint import write_model, write_optimiser

log = logging.getLogger(__name__)
SHOWN = 3
"""So many pairs are named in the message; the record has all."""


Fault = Callable[[Matcher, Sequence[KeypointPair], Tensor], str]
"""The first tensor that is not finite for some pairs, with torch's random state; empty if all are finite."""


class Diverged(ValueError):
    """Training has met a number that is not finite; ``record``: where, with which pairs, in which tensor."""

    def __init__(self, record: dict[str, Any], saved: Path | None = None) -> None:
        place = f"; its state is in {saved}" if saved else ""
        super().__init__(
            f"{record['what']} at epoch {record['epoch']}, iteration {record['iteration']}: the network has diverged, "
            f"first in {record['tensor']}, with {_name(record)}{place}; lower optimiser.learning_rate"
        )
        self.record = record


def _name(record: dict[str, Any]) -> str:
    """The pairs that make a tensor infinite or NaN, in words."""
    names = [" and ".join(pair) for pair in record["pairs"]]
    size, example = len(record["batch"]), " and ".join(record["batch"][0])
    if not names:
        return f"the {size} pairs of the batch together, such as {example}"
    if len(names) == size:
        return f"any of the {size} pairs of the batch, such as {example}"
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{'; '.join(names[:SHOWN])}{more}, of the {size} pairs of the batch"


class Watched:
    """A network and what a training step changes of it.

    Listed once: to walk over all modules takes longer than to check their numbers.
    """

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.parameters = [parameter for parameter in matcher.parameters() if parameter.requires_grad]
        self.buffers = [buffer for buffer in matcher.buffers() if buffer.is_floating_point()]


class Step:
    """One training step of a batch, checked.

    Args:
        watched: the network, in training mode.
        pairs: the batch.
        epoch, iteration: counted from 1, for the message.

    Attributes:
        value: the loss, once it is known.
    """

    def __init__(self, watched: Watched, pairs: Sequence[KeypointPair], epoch: int, iteration: int) -> None:
        self.watched, self.matcher, self.pairs = watched, watched.matcher, pairs
        self.epoch, self.iteration, self.value = epoch, iteration, math.nan

    def loss(self) -> Tensor:
        """The loss of the batch.

        Raises:
            Diverged: it is not finite, or cannot be computed because something before it is not.
        """
        seed = torch.get_rng_state()
        try:
            loss = self.matcher.loss(self.pairs)
        except NotFiniteError as error:  # of a solver, which refuses such costs
            raise self._diverged("the costs", "are not finite", _forward_fault, seed) from error
        self.value = loss.item()
        if not math.isfinite(self.value):
            raise self._diverged("the loss", f"is {self.value}", _forward_fault, seed)
        return loss

    def check_gradients(self) -> None:
        """Check them before they reach the parameters.

        Raises:
            Diverged: one of them is not finite.
        """
        if not _finite([p.grad for p in self.watched.parameters if p.grad is not None]):
            raise self._diverged("a gradient", "is not finite", _gradient_fault, torch.get_rng_state())

    def check_parameters(self) -> None:
        """Check what the optimiser has made of them.

        Raises:
            Diverged: a parameter or buffer is not finite.
        """
        if not _finite([*self.watched.parameters, *self.watched.buffers]):
            raise self._diverged("a parameter", "is not finite after the step", _state_fault, torch.get_rng_state())

    def _diverged(self, name: str, state: str, fault: Fault, seed: Tensor) -> Diverged:
        """The error: ``name`` is what is not finite; ``fault`` finds where that began."""
        pairs = [(pair.source.image_id, pair.target.image_id) for pair in self.pairs]
        tensor = fault(self.matcher, self.pairs, seed) or name
        alone = [both for pair, both in zip(self.pairs, pairs, strict=True) if fault(self.matcher, [pair], seed)]
        record = {"what": f"{name} {state}", "epoch": self.epoch, "iteration": self.iteration, "tensor": tensor}
        return Diverged({**record, "pairs": alone, "batch": pairs})


def save_state(error: Diverged, folder: Path, matcher: nn.Module, optimiser: torch.optim.Optimizer) -> Diverged:
    """Write the network, the optimiser and the record of a divergence.

    Returns:
        The error that names the folder; the one that is given if nothing can be written there, which is logged.
    """
    try:
        write_model(folder / "model.safetensors", matcher)
        write_optimiser(folder / "optimiser.pt", optimiser)
        write_json(folder / "record.json", error.record)
    except WriteError as problem:
        log.warning("the state of the training that diverged is lost: %s", problem)
        return error
    return Diverged(error.record, folder)


def _finite(tensors: Sequence[Tensor]) -> bool:
    """Whether all numbers are."""
    # The sum of squares is fast to compute, and also infinite for large numbers: only then each number is looked at.
    found = [tensor.detach() for tensor in tensors]
    return bool(torch.isfinite(get_total_norm(found))) or all(bool(torch.isfinite(one).all()) for one in found)


def _describe(name: str, tensor: Tensor) -> str:
    """A tensor that is not finite; empty if it is."""
    if not tensor.is_floating_point() or not (wrong := int((~torch.isfinite(tensor)).sum())):
        return ""
    return f"{name} ({wrong} of {tensor.numel()} numbers of shape {tuple(tensor.shape)})"


def _state_fault(matcher: Matcher, _pairs: Sequence[KeypointPair], _seed: Tensor) -> str:
    """The first parameter or buffer that is not finite; no pair makes it so."""
    named = [*matcher.named_parameters(), *matcher.named_buffers()]
    return next((text for name, tensor in named if (text := _describe(name, tensor.detach()))), "")


@contextmanager
def _undone(matcher: Matcher, seed: Tensor) -> Iterator[None]:
    """Random numbers begin at ``seed``; parameters, buffers and gradients are put back at the end."""
    state = {name: tensor.clone() for name, tensor in matcher.state_dict().items()}
    gradients = [parameter.grad for parameter in matcher.parameters()]
    accuracy = matcher.batch_accuracy
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(seed)
        try:
            yield
        finally:
            with torch.no_grad():
                for name, tensor in matcher.state_dict().items():
                    tensor.copy_(state[name])
            for parameter, gradient in zip(matcher.parameters(), gradients, strict=True):
                parameter.grad = gradient
            matcher.batch_accuracy = accuracy


def _forward_fault(matcher: Matcher, pairs: Sequence[KeypointPair], seed: Tensor) -> str:
    """The first tensor of a forward pass that is not finite; empty if all are, or if the loss has none."""
    if fault := _state_fault(matcher, pairs, seed):
        return fault
    found: list[str] = []

    def look(name: str, what: str, values: Any) -> None:
        for value in values if isinstance(values, list | tuple) else [values]:
            if not found and isinstance(value, Tensor) and (text := _describe(f"{what} of {name}", value.detach())):
                found.append(text)

    handles = []
    for name, module in matcher.named_modules():
        if module is matcher:
            continue
        handles.append(module.register_forward_pre_hook(lambda _m, args, name=name: look(name, "input", args)))
        handles.append(module.register_forward_hook(lambda _m, _a, out, name=name: look(name, "output", out)))
    try:
        with _undone(matcher, seed), torch.no_grad():
            look("the network", "loss", matcher.loss(pairs))
    except (ValueError, RuntimeError):  # of the costs, after the tensor that was found
        pass
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else ""


def _gradient_fault(matcher: Matcher, pairs: Sequence[KeypointPair], seed: Tensor) -> str:
    """The first parameter whose gradient is not finite, counted from the loss; empty if all are."""
    with _undone(matcher, seed):
        matcher.zero_grad(set_to_none=True)
        try:
            torch.autograd.backward(matcher.loss(pairs))
        except (ValueError, RuntimeError):
            return _forward_fault(matcher, pairs, seed)
        named = reversed(list(matcher.named_parameters()))
        texts = (_describe(f"gradient of {name}", p.grad) for name, p in named if p.grad is not None)
        return next((text for text in texts if text), "")
