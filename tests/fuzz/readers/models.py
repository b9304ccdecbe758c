"""What `bbgm match` reads: an exported model, and the points of a picture."""

import json
from pathlib import Path

import safetensors.torch
from torch import Tensor

from bbgm.config import load_run, make_run
from bbgm.models.file import ModelInfo, _checksum, read_model_file
from bbgm.photos.points import make_points
from tests.fuzz.check import Subject
from tests.fuzz.readers.tensors import WORDS, _tensors


def _exported() -> bytes:
    info = ModelInfo(
        name="a",
        config=load_run("bbgm", "smoke", 0).model_dump(mode="json", by_alias=True),
        scores={"accuracy": 0.5},
        data={"title": "toys"},
        backbone=None,
        provenance={"commit": "0"},
        licence="CC0",
    )
    return b"\1" + _saved({name: tensor.half() for name, tensor in _tensors().items()}, info.metadata())


def _saved(tensors: dict[str, Tensor], metadata: dict[str, str]) -> bytes:
    content = dict(sorted(tensors.items()))
    return safetensors.torch.save(content, {**metadata, "sha256": _checksum(metadata, content)})


def sealed(data: bytes) -> bytes:
    """A first byte of 1: the checksum is made right, if the rest is a safetensors file."""
    content = data[1:]
    if data[:1] != b"\1":
        return content
    try:
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        return _saved(safetensors.torch.load(content), {key: metadata[key] for key in metadata if key != "sha256"})
    except Exception:  # of the two libraries, about ten types
        return content


def _read(folder: Path) -> None:
    path = folder / "a.safetensors"
    info, _ = read_model_file(path)
    make_run(info.config, origin=f"the configuration in {path}")


EXPORTED = Subject(file="a.safetensors", read=_read, seeds=lambda: [_exported()], words=WORDS, pack=sealed)
POINTS = Subject(
    file="points.json",
    read=lambda folder: make_points(folder / "points.json", (100, 80)),
    seeds=lambda: [
        b"[[12.5, 8], [39, 31], [12, 20]]",
        '{"nose": [12.5, 8], "left ear": [39, 31], "Köpfchen": [12, 20]}'.encode(),
    ],
    words=(b"[1, 2]", b"[12.5, 8]", b'"nose": ', b"[[]]", b"1e999", b"-0", b"true"),
    text=True,
)
