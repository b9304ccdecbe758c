"""The file of a trained model: a safetensors file that says in its header all that is needed to use it.

Keys of the header's metadata; all but ``format``, ``version``, ``name``, ``licence``, ``card`` and ``sha256`` are JSON:

==================  ================================================================================================
``format``          `FORMAT`
``version``         `VERSION`
``name``            of the model
``config``          the complete configuration of the run
``scores``          accuracy and F1 of its test pairs, and what storing in half precision has changed
``data``            what it was trained on
``backbone``        null, or the backbone that is not in the file: name, weights, and their SHA-256
``provenance``      commit, date and versions
``licence``         of the file
``card``            the model card, Markdown
``sha256``          of everything else: metadata and tensors
==================  ================================================================================================
"""

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from bbgm.base.atomic import atomic_write
from bbgm.base.reading.foreign import describe
from bbgm.base.reading.untrusted import parse_json

FORMAT, VERSION = "bbgm model", "1"
TEXTS = ("name", "licence", "card")
VALUES = ("config", "scores", "data", "backbone", "provenance")


@dataclass(frozen=True)
class ModelInfo:
    """What the header of a model file says; see above."""

    name: str
    config: dict[str, Any]
    scores: dict[str, Any]
    data: dict[str, Any]
    backbone: dict[str, str] | None
    provenance: dict[str, Any]
    licence: str
    card: str = ""

    def metadata(self) -> dict[str, str]:
        """As the header has it, without the checksum."""
        texts = {key: getattr(self, key) for key in TEXTS}
        values = {key: json.dumps(getattr(self, key), sort_keys=True, allow_nan=False) for key in VALUES}
        return {"format": FORMAT, "version": VERSION, **texts, **values}


def write_model_file(path: Path, tensors: Mapping[str, Tensor], info: ModelInfo) -> None:
    """Write a model file; the same model gives the same bytes.

    Raises:
        WriteError: the folder cannot be written to, or the disk is full.
    """
    content = {name: tensor.detach().cpu().contiguous() for name, tensor in sorted(tensors.items())}
    metadata = info.metadata()
    metadata["sha256"] = _checksum(metadata, content)
    with atomic_write(path) as file:
        file.write(_with_sorted_header(save(content, metadata=metadata)))


def read_info(path: Path) -> ModelInfo:
    """What the header of a model file says; the tensors are not read.

    Raises:
        FileNotFoundError, ValueError: as `read_model_file`, but for the checksum.
    """
    return _info(path, _read(path, tensors=False)[0])


def read_model_file(path: Path) -> tuple[ModelInfo, dict[str, Tensor]]:
    """The header and the tensors of a model file, which are as stored.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a file of another kind or of a newer version, or one that is damaged.
    """
    metadata, tensors = _read(path, tensors=True)
    info = _info(path, metadata)
    if _checksum({key: value for key, value in metadata.items() if key != "sha256"}, tensors) != metadata.get("sha256"):
        raise ValueError(f"model file {path} is damaged or was altered: its checksum differs; copy it again")
    return info, tensors


def _read(path: Path, tensors: bool) -> tuple[dict[str, str], dict[str, Tensor]]:
    if not path.exists():
        raise FileNotFoundError(f"no model {path}: give a file of 'bbgm model export', or the folder of a run")
    try:
        with safe_open(path, framework="pt") as file:
            names = sorted(file.keys()) if tensors else []
            return file.metadata() or {}, {name: file.get_tensor(name) for name in names}
    except (OSError, SafetensorError) as error:
        fault = f"is not a safetensors file, or is truncated ({error}): give a file of 'bbgm model export'"
        raise ValueError(f"model file {describe(path, fault)}") from error


def _info(path: Path, metadata: Mapping[str, str]) -> ModelInfo:
    if metadata.get("format") != FORMAT:
        raise ValueError(
            f"{path} holds tensors but not a model of bbgm: give a file of 'bbgm model export RUN', or the folder of a "
            "run; a run's model.safetensors does not say which network it belongs to"
        )
    if metadata.get("version") != VERSION:
        raise ValueError(
            f"model file {path} has version {metadata.get('version')!r} of the format, this program reads {VERSION!r}: "
            "update bbgm, or export the model again"
        )
    try:
        content: dict[str, Any] = {key: metadata[key] for key in TEXTS}
        return ModelInfo(**content, **{key: parse_json(metadata[key]) for key in VALUES})
    except (KeyError, ValueError) as error:
        raise ValueError(f"model file {path} is damaged: its header lacks or garbles {error}; copy it again") from error


def _checksum(metadata: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name, tensor in tensors.items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        if tensor.numel():
            digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _with_sorted_header(content: bytes) -> bytes:
    """A safetensors file with its metadata in the order of their keys: the library writes them in any order."""
    (length,) = struct.unpack("<Q", content[:8])
    header = parse_json(content[8 : 8 + length])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + content[8 + length :]
