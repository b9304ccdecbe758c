"""Weights as training programs and servers hand them over."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from bbgm.features.small import SmallCNN
from bbgm.features.weights import fingerprint, load_weights

Tensors = dict[str, Any]


@pytest.fixture
def donor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallCNN:
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    torch.manual_seed(3)
    return SmallCNN()


def prefixed(tensors: Tensors, prefix: str = "module.") -> Tensors:
    return {prefix + name: value for name, value in tensors.items()}


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t,
        prefixed,
        lambda t: {"state_dict": t, "epoch": 3, "optimizer": {"state": {}}},
        lambda t: {"state_dict": prefixed(t), "best": 0.5},
        lambda t: {"model": t},
        lambda t: {"model_state_dict": prefixed(prefixed(t))},
    ],
)
def test_checkpoints_of_training_programs(
    donor: SmallCNN, tmp_path: Path, change: Callable[[Tensors], Tensors]
) -> None:
    torch.save(change(dict(donor.state_dict())), tmp_path / "a.pth")
    backbone = SmallCNN()
    assert fingerprint(backbone) != fingerprint(donor)
    load_weights(backbone, "small", "a.pth")
    assert fingerprint(backbone) == fingerprint(donor)


def test_a_prefix_in_safetensors(donor: SmallCNN, tmp_path: Path) -> None:
    save_file(prefixed(dict(donor.state_dict())), tmp_path / "a.safetensors")
    backbone = SmallCNN()
    load_weights(backbone, "small", "a.safetensors")
    assert fingerprint(backbone) == fingerprint(donor)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"state_dict": {}, "epoch": 1}, r"cannot be read \(it holds \['epoch', 'state_dict'\], no named .*torch"),
        ({"epoch": 1, "args": None}, r"cannot be read \(it holds \['args', 'epoch'\], no named tensors\)"),
        ([torch.zeros(1)], r"cannot be read \(it holds list, no named tensors\)"),
        (
            {"state_dict": {}, "args": argparse.Namespace(lr=1)},
            r"cannot be read: it holds Python objects besides tensors",
        ),
    ],
)
def test_what_has_no_tensors(donor: SmallCNN, tmp_path: Path, content: Any, message: str) -> None:
    torch.save(content, tmp_path / "a.pth")
    with pytest.raises(ValueError, match=rf"weights file .*a\.pth {message}"):
        load_weights(donor, "small", "a.pth")


@pytest.mark.parametrize("name", ["a.pth", "a.safetensors"])
def test_half_a_file_and_a_web_page(donor: SmallCNN, tmp_path: Path, name: str) -> None:
    tensors = dict(donor.state_dict())
    torch.save(tensors, tmp_path / name) if name.endswith(".pth") else save_file(tensors, tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    before = fingerprint(donor)
    for size in (0, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / name).write_bytes(whole[:size])
        with pytest.raises(ValueError, match=rf"weights file .*{name} cannot be read .*truncated .*, copy it again"):
            load_weights(donor, "small", name)
    (tmp_path / name).write_text("<!DOCTYPE html><title>Sign in</title>")
    with pytest.raises(ValueError, match=rf"weights file .*{name} is a web page \(HTML\) .*: download the file again"):
        load_weights(donor, "small", name)
    assert fingerprint(donor) == before


def test_companions_of_a_mac_are_not_suggested(donor: SmallCNN, tmp_path: Path) -> None:
    (tmp_path / "._mine.safetensors").write_bytes(b"\x00\x05\x16\x07")
    with pytest.raises(FileNotFoundError, match=r"found there: no \.safetensors file"):
        load_weights(donor, "small", "mine.safetensors")
