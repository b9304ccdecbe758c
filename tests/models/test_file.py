"""The format of model files: nothing is lost, every byte counts, and other files are told from them."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from bbgm.models.file import FORMAT, ModelInfo, read_info, read_model_file, write_model_file

INFO = ModelInfo(
    name="Löwe",
    config={"b": 1, "a": {"x": [1, 2.5]}},
    scores={"mean": {"accuracy": 0.5}},
    data={"title": "toys"},
    backbone=None,
    provenance={"commit": "abc"},
    licence="MIT",
    card="# Löwe\n",
)
TENSORS = {
    "w": torch.arange(12).reshape(3, 4).half() / 7,
    "count": torch.tensor(3),
    "none": torch.zeros(0, 2),
    "v": torch.ones(2),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_model_file(tmp_path / "m.safetensors", TENSORS, INFO)
    return tmp_path / "m.safetensors"


def test_what_is_written_is_read(file: Path) -> None:
    info, tensors = read_model_file(file)
    assert info == read_info(file) == INFO
    assert set(tensors) == set(TENSORS)
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


def test_the_same_model_gives_the_same_bytes(file: Path, tmp_path: Path) -> None:
    for k in range(5):
        again = tmp_path / f"{k}.safetensors"
        write_model_file(again, dict(reversed(TENSORS.items())), INFO)
        assert again.read_bytes() == file.read_bytes()


def test_other_programs_read_it(file: Path) -> None:
    with safe_open(file, framework="numpy") as content:
        np.testing.assert_array_equal(content.get_tensor("w"), TENSORS["w"].numpy())
        assert content.metadata()["format"] == FORMAT
        assert json.loads(content.metadata()["config"]) == INFO.config


def test_every_altered_byte_is_noticed(file: Path) -> None:
    whole = file.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    text = whole[8 : 8 + length]
    places = [8 + text.index(word) for word in (b"MIT", b"toys", b"0.5", b"abc")]
    for place in [*places, 8 + length + 1, len(whole) - 1]:
        broken = bytearray(whole)
        broken[place] ^= 1
        file.write_bytes(broken)
        with pytest.raises(ValueError, match=r"m\.safetensors is damaged"):
            read_model_file(file)
    file.write_bytes(whole[:-3])
    with pytest.raises(ValueError, match="is truncated"):
        read_model_file(file)


def test_other_files(file: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no model .*none: give a file of 'bbgm model export'"):
        read_info(tmp_path / "none")
    plain = tmp_path / "model.safetensors"
    save_file({"w": torch.zeros(2)}, plain)
    with pytest.raises(ValueError, match=r"holds tensors but not a model of bbgm: .*does not say which network"):
        read_info(plain)
    text = tmp_path / "a.safetensors"
    text.write_text("hello")
    with pytest.raises(ValueError, match="is not a safetensors file"):
        read_info(text)
    text.write_text("<html>login</html>")
    with pytest.raises(ValueError, match="is a web page"):
        read_info(text)
    save_file({"w": torch.zeros(2)}, text, metadata={**INFO.metadata(), "version": "2"})
    with pytest.raises(ValueError, match="has version '2' of the format, this program reads '1': update bbgm"):
        read_info(text)
    save_file({"w": torch.zeros(2)}, text, metadata={**INFO.metadata(), "config": "{"})
    with pytest.raises(ValueError, match="is damaged: its header"):
        read_info(text)
