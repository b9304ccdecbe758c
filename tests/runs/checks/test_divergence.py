"""Training that diverges is stopped in that step; iteration, tensor and pairs are named, and the state is written."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import Tensor, nn

from bbgm.config import RunConfig, load_run
from bbgm.data import open_dataset
from bbgm.data.sampling.pairs import KeypointPair, sample_training_batch
from bbgm.methods.base import Matcher, make_matcher
from bbgm.runs.checks.divergence import Diverged, Step, Watched
from bbgm.runs.train import run
from bbgm.runs.tune import compare

SMALL = {"test_pairs_per_class": 3}


@pytest.fixture(scope="module")
def batch() -> list[KeypointPair]:
    """Four pairs of different images."""
    config = load_run("bbgm", "smoke", 0)
    return sample_training_batch(open_dataset(config.data, config.protocol), config.protocol, 0, 0, 0, 4)


def name(pair: KeypointPair) -> tuple[str, str]:
    return pair.source.image_id, pair.target.image_id


class Fragile(Matcher):
    """The mean over the pairs of function(scale * k), where k is 0 for one pair and 1 for the others."""

    def __init__(self, function: Any, bad: KeypointPair) -> None:
        super().__init__()
        self.scale, self.square = nn.Parameter(torch.tensor(1.0)), nn.Identity()
        self.function, self.bad, self.calls = function, name(bad), 0
        self.seen: Tensor
        self.register_buffer("seen", torch.tensor(0.0))

    def loss(self, pairs: Sequence[KeypointPair]) -> Tensor:
        self.calls += 1
        self.seen += 1.0
        values = [self.square(self.function(self.scale * float(name(pair) != self.bad))) for pair in pairs]
        return torch.stack(values).mean()


def test_a_loss_that_is_infinite_names_pair_and_tensor(batch: list[KeypointPair]) -> None:
    matcher = Fragile(torch.log, batch[2])
    with pytest.raises(Diverged) as caught:
        Step(Watched(matcher), batch, 3, 4).loss()
    record = caught.value.record
    assert record["pairs"] == [name(batch[2])]
    assert record["batch"] == [name(pair) for pair in batch]
    assert record["tensor"] == "input of square (1 of 1 numbers of shape ())"
    message = str(caught.value)
    assert message.startswith("the loss is -inf at epoch 3, iteration 4: the network has diverged, first in input of")
    assert " and ".join(name(batch[2])) + ", of the 4 pairs of the batch; lower" in message
    assert matcher.seen == 1  # looking again left the buffers as they were
    assert matcher.calls > 1


def test_a_gradient_that_is_infinite_is_found_before_the_step(batch: list[KeypointPair]) -> None:
    """sqrt(0) is finite, and its slope is not."""
    matcher = Fragile(torch.sqrt, batch[1])
    step = Step(Watched(matcher), batch, 1, 1)
    torch.autograd.backward(step.loss())
    with pytest.raises(
        Diverged, match=r"a gradient is not finite at epoch 1, iteration 1: .* gradient of scale"
    ) as caught:
        step.check_gradients()
    assert caught.value.record["pairs"] == [name(batch[1])]
    assert matcher.scale.item() == 1.0


def test_parameters_are_checked_after_the_step(batch: list[KeypointPair]) -> None:
    matcher = Fragile(torch.square, batch[0])
    optimiser = torch.optim.SGD(matcher.parameters(), lr=3e38)
    step = Step(Watched(matcher), batch, 1, 1)
    torch.autograd.backward(step.loss())
    step.check_gradients()
    step.check_parameters()
    optimiser.step()  # to 1 - 3e38 * 1.5
    with pytest.raises(Diverged, match=r"a parameter is not finite after the step .* first in scale \(1 of 1"):
        step.check_parameters()


def test_large_numbers_are_not_divergence(batch: list[KeypointPair]) -> None:
    """The square of 1e30 is infinite in float32, which a sum of squares would trip over."""
    matcher = Fragile(torch.square, batch[0])
    matcher.scale.grad = torch.tensor(1e30)
    with torch.no_grad():
        matcher.scale.fill_(-1e30)
    step = Step(Watched(matcher), batch, 1, 1)
    step.check_gradients()
    step.check_parameters()


@pytest.mark.parametrize("method", ["bbgm", "dgmc"])
def test_a_weight_that_is_nan_is_named(batch: list[KeypointPair], method: str) -> None:
    """Whether a solver refuses the costs or the loss is NaN."""
    matcher = make_matcher(load_run(method, "smoke", 0)).train()
    weight, parameter = next((n, p) for n, p in matcher.named_parameters() if not n.startswith("backbone."))
    with torch.no_grad():
        parameter.fill_(torch.nan)
    with pytest.raises(Diverged) as caught:
        Step(Watched(matcher), batch, 1, 1).loss()
    assert caught.value.record["tensor"].startswith(f"{weight} ({parameter.numel()} of {parameter.numel()} numbers")
    assert "with any of the 4 pairs of the batch, such as " in str(caught.value)


def diverging(method: str) -> RunConfig:
    return load_run(method, "smoke", 0, protocol=SMALL, optimiser={"learning_rate": 1e30})


@pytest.mark.parametrize("method", ["bbgm", "dgmc"])
def test_a_run_that_diverges_keeps_its_state(tmp_path: Path, method: str) -> None:
    """And says the same when it is started again."""
    config, messages = diverging(method), []
    for _ in range(2):
        with pytest.raises(Diverged) as caught:
            run(config, tmp_path, progress=False)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    folder = tmp_path / "checkpoint/diverged"
    assert f"its state is in {folder}; lower optimiser.learning_rate" in messages[0]
    record = json.loads((folder / "record.json").read_text())
    assert record["tensor"] in messages[0]
    assert len(record["batch"]) == config.optimiser.batch_size
    stored = safetensors.torch.load_file(folder / "model.safetensors")
    start = make_matcher(config).state_dict()
    assert stored.keys() == start.keys()
    assert any(not torch.equal(stored[key], start[key]) for key in start)
    assert (folder / "optimiser.pt").stat().st_size > 0
    assert not (tmp_path / "metrics.json").exists()


def test_a_comparison_that_diverges_names_no_folder() -> None:
    with pytest.raises(Diverged) as caught:
        compare([diverging("dgmc")])
    assert "its state" not in str(caught.value)
