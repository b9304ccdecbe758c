"""Files of tensors: a run's model and optimiser, pretrained weights, cached features."""

import io
import os
import zipfile
from pathlib import Path

import safetensors.torch
import torch
from torch import nn

from bbgm.features import cache
from bbgm.features.weights import load_weights
from bbgm.runs.checkpoint import read_model, read_optimiser
from tests.fuzz.check import Subject

WORDS = (
    *(
        b'"dtype":"F64"',
        b'"BF16"',
        b'"F8_E4M3"',
        b'"BOOL"',
        b'"I64"',
        b'"C64"',
        b'"shape":[]',
        b"[0]",
        b"[4294967296,4294967296]",
    ),
    *(b'"data_offsets":[0,0]', b'"__metadata__":{"a":"b"},', b"\xff" * 8, b"\0" * 8, b"{}", b"[" * 2000),
)


def _network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))


def _tensors() -> dict[str, torch.Tensor]:
    return {name: value.contiguous() for name, value in _network().state_dict().items()}


def _optimiser() -> torch.optim.Optimizer:
    network = _network()
    optimiser = torch.optim.Adam(network.parameters())
    network(torch.ones(2, 3)).sum().backward()
    optimiser.step()
    return optimiser


def _saved(content: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def zipped(data: bytes) -> bytes:
    """A first byte of 1: the rest is the pickle of an archive that is right otherwise."""
    if data[:1] != b"\x01":
        return data[1:]
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_saved(_tensors()))) as archive, zipfile.ZipFile(buffer, "w") as out:
        for name in archive.namelist():
            out.writestr(name, data[1:] if name.endswith("data.pkl") else archive.read(name))
    return buffer.getvalue()


def _pickle(content: object) -> bytes:
    with zipfile.ZipFile(io.BytesIO(_saved(content))) as archive:
        return next(archive.read(name) for name in archive.namelist() if name.endswith("data.pkl"))


def _read_weights(name: str) -> object:
    def read(folder: Path) -> None:
        os.environ["BBGM_WEIGHTS"] = str(folder)
        load_weights(_network(), "small", name)

    return read


MODEL = Subject(
    file="model.safetensors",
    read=lambda folder: read_model(folder / "model.safetensors", _network()),
    seeds=lambda: [safetensors.torch.save(_tensors())],
    words=WORDS,
)
OPTIMISER = Subject(
    file="optimiser.pt",
    read=lambda folder: read_optimiser(folder / "optimiser.pt", torch.optim.Adam(_network().parameters())),
    seeds=lambda: [b"\0" + _saved(_optimiser().state_dict())],
    pack=zipped,
)
WEIGHTS = Subject(
    file="a.safetensors",
    read=_read_weights("a.safetensors"),  # type: ignore[arg-type]
    seeds=lambda: [safetensors.torch.save(_tensors())],
    words=WORDS,
)
CHECKPOINT = Subject(
    file="a.pth",
    read=_read_weights("a.pth"),  # type: ignore[arg-type]
    seeds=lambda: [
        b"\0" + _saved(_tensors()),
        b"\x01" + _pickle(_tensors()),
        b"\0" + _saved({"state_dict": _tensors()}),
    ],
    pack=zipped,
    words=(
        b"cposix\nsystem\n",
        b"\x8a\x05\xff\xff\xff\xff\x7f",
        b"ctorch._utils\n_rebuild_tensor_v2\n",
        b"module.",
        b".",
    ),
)


def _read_features(folder: Path) -> None:
    found = cache._read(folder / "f.safetensors", 3, 5, 4)
    if found is not None:
        assert [part.shape for part in found] == [(3, 5), (4,)]
        assert {part.dtype for part in found} == {torch.float32}


def _features() -> bytes:
    nodes, pooled = torch.arange(15.0).reshape(3, 5), torch.ones(4)
    return safetensors.torch.save({"nodes": nodes, "global": pooled}, {"sha256": cache._checksum(nodes, pooled)})


FEATURES = Subject(
    file="f.safetensors", read=_read_features, seeds=lambda: [_features()], words=(*WORDS, b"[5,3]", b"[15]")
)
