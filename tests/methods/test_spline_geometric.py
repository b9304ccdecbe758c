"""``network: {spline: torch_geometric}``: the same networks, with the layer of torch_geometric in them."""

import importlib.util

import pytest
import torch

from bbgm.config import load_run, make_run
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.methods.base import make_matcher
from bbgm.methods.bbgm.network import BBGM
from bbgm.methods.bbgm.settings import BBGMRun

INSTALLED = importlib.util.find_spec("torch_spline_conv") is not None
needs_reference = pytest.mark.skipif(not INSTALLED, reason="torch-spline-conv is not installed")
pytestmark = pytest.mark.filterwarnings(
    "ignore:We do not recommend using the non-optimized CPU version",
    "ignore::FutureWarning",
    "ignore::DeprecationWarning",
)


def config_of(spline: str) -> BBGMRun:
    network = {"backbone": "small", "weights": "random", "spline": spline}
    config = make_run({"method": "bbgm", "title": "BB-GM", "budget": "smoke", "seed": 3, "network": network})
    assert isinstance(config, BBGMRun)
    return config


@needs_reference
def test_parameters_losses_gradients_and_matchings_are_the_same(pairs: list[KeypointPair]) -> None:
    ours, theirs = (make_matcher(config_of(spline)).train() for spline in ("bbgm", "torch_geometric"))
    assert {type(layer).__name__ for layer in theirs.modules()} >= {"GeometricSplineConv"}
    assert {type(layer).__name__ for layer in ours.modules()} >= {"SplineConv"}
    first, second = ours.state_dict(), theirs.state_dict()
    assert list(first) == list(second)
    assert all(torch.equal(first[name], second[name]) for name in first)
    losses = []
    for matcher in (ours, theirs):
        torch.manual_seed(0)
        loss = matcher.loss(pairs)
        loss.backward()
        losses.append(loss.detach())
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-4, atol=1e-5)
    for (name, one), two in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert (one.grad is None) == (two.grad is None), name
        if one.grad is not None:
            torch.testing.assert_close(two.grad, one.grad, rtol=1e-3, atol=1e-4, msg=name)
    found = [matcher.eval().predict(pairs) for matcher in (ours, theirs)]
    assert [one.tolist() for one in found[0]] == [two.tolist() for two in found[1]]


@needs_reference
def test_one_reads_the_others_model_and_is_computed_by_torch_geometric(pairs: list[KeypointPair], monkeypatch) -> None:
    import torch_geometric.nn

    theirs, ours = BBGM(config_of("torch_geometric")).eval(), BBGM(config_of("bbgm")).eval()
    assert ours.refinement is not None
    with torch.no_grad():
        ours.refinement.first.weight.normal_(std=0.01)
    theirs.load_state_dict(ours.state_dict())
    calls = []
    forward = torch_geometric.nn.SplineConv.forward

    def counted(self: torch.nn.Module, *given: torch.Tensor) -> torch.Tensor:
        calls.append(self)
        return forward(self, *given)

    monkeypatch.setattr(torch_geometric.nn.SplineConv, "forward", counted)
    with torch.no_grad():
        for one, two in zip(ours.costs(pairs), theirs.costs(pairs), strict=True):
            torch.testing.assert_close(one.unary, two.unary, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(one.quadratic, two.quadratic, rtol=1e-4, atol=1e-5)
    assert len(calls) == 2


@pytest.mark.skipif(INSTALLED, reason="torch-spline-conv is installed")
def test_where_it_is_missing_the_error_says_how_to_go_on() -> None:
    with pytest.raises(ImportError, match=r"network\.spline is 'torch_geometric'.*torch-spline-conv.*spline: bbgm"):
        make_matcher(config_of("torch_geometric"))


def test_ours_is_the_default_also_of_runs_that_were_stored_without_the_key() -> None:
    config = load_run("bbgm", "smoke", 0)
    assert config.network.spline == "bbgm"
    stored = config.content()
    del stored["network"]["spline"]
    assert make_run(stored) == config
    with pytest.raises(ValueError, match=r"network\.spline: .*not one of \['bbgm', 'torch_geometric'\]"):
        config_of("other")
