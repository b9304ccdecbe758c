"""How often the CPU would have to wait for a GPU: from features to costs never, and a few times in a training step.

Tensors of torch's device "meta" have shapes and no numbers, so an operation that reads one raises an error.
"""

from collections import Counter
from typing import Any

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.data.sampling.pairs import sample_training_batch
from bbgm.methods.base import make_matcher
from bbgm.methods.bbgm.network import BBGM
from bbgm.runs.checks.divergence import Watched
from bbgm.runs.fit import make_optimiser, train_step


@pytest.mark.parametrize("method", ["bbgm", "bbgm_unmatched", "info_nce_positions", "transformer"])
def test_no_number_is_read_between_features_and_costs(method: str) -> None:
    config = load_run(method, "smoke", 0, dataset="voc")
    matcher, dataset = make_matcher(config), open_dataset(config.data, config.protocol)
    assert isinstance(matcher, BBGM)
    pairs = sample_training_batch(dataset, config.protocol, 0, 0, 0, 8)
    sides, features = matcher.sides_of(pairs)
    matcher.to("meta")
    (part,) = matcher.forward_passes(sides, {name: (f.detach(), g.detach()) for name, (f, g) in features.items()})
    assert part.unary.device.type == "meta"
    (part.unary.sum() + part.quadratic.sum()).backward()
    gradients = [p.grad for p in matcher.vertex_affinity.parameters()]
    assert gradients
    assert all(gradient is not None and gradient.device.type == "meta" for gradient in gradients)


class Reads(TorchDispatchMode):
    """Counts the numbers that are read from tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.count: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count[function._schema.name] += 1
        return function(*args, **(kwargs or {}))


def numbers_read(batch_size: int) -> int:
    config = load_run("bbgm", "smoke", 0, dataset="voc", optimiser={"batch_size": batch_size})
    matcher, dataset = make_matcher(config), open_dataset(config.data, config.protocol)
    optimiser = make_optimiser(matcher, config)
    matcher.train()
    with Reads() as reads:
        train_step(Watched(matcher), optimiser, dataset, config, 0, 0)
    return reads.count["aten::_local_scalar_dense"]


def test_a_step_reads_as_many_numbers_whatever_the_size_of_its_batch() -> None:
    """The loss, the norm of the gradients and the share of gradients that are not zero; three more for the graphs,
    which are on the CPU in any case.
    """
    assert numbers_read(2) == numbers_read(8) == 6
