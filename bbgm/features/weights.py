"""Pretrained weights of a backbone: found, read, and checked tensor by tensor."""

import hashlib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from bbgm.base.paths import weights_root
from bbgm.base.reading.foreign import describe, without_companions

if TYPE_CHECKING:
    from torchvision.models import WeightsEnum

PACKAGED = Path(__file__).parent / "pretrained"
"""The folder of the weights "demo"."""
NESTED = ("state_dict", "model_state_dict", "model")
"""Under these names a checkpoint of a training program has the network's tensors."""
PREFIX = "module."


def load_weights(backbone: nn.Module, name: str, weights: str) -> None:
    """Copy pretrained weights into a backbone.

    Args:
        backbone: its parameters and buffers are overwritten. Its ``imagenet`` are torchvision's weights for it.
        name: of the backbone.
        weights: "imagenet"; "demo", the stand-in for it that comes with this package (see `bbgm.features.pretrain`);
            or the name of a .safetensors or .pth file below ``BBGM_WEIGHTS``, also of a checkpoint (see `_tensors_of`).

    Raises:
        FileNotFoundError: no such file, or it cannot be downloaded.
        ValueError: the file is broken, or a tensor is missing, unknown or of another shape.
    """
    if weights == "imagenet":
        path = imagenet_file(name, getattr(backbone, "imagenet", None))
    else:
        path = demo_file(name) if weights == "demo" else weights_root() / weights
    found = _read(path)
    expected = backbone.state_dict()
    # The backbone has no classifier layers; the counters of batch norm are not in every file.
    found = {key: value for key, value in found.items() if key in expected or key.startswith("features.")}
    missing = [key for key in expected if key not in found and not key.endswith("num_batches_tracked")]
    unknown = [key for key in found if key not in expected]
    if missing or unknown:
        raise ValueError(
            f"weights {path} do not fit backbone {name}: "
            + "; ".join(f"{what} {_some(keys)}" for what, keys in (("without", missing), ("unknown", unknown)) if keys)
            + f". Name another file in network.weights, or choose another backbone than {name}"
        )
    for key, value in found.items():
        if value.shape != expected[key].shape:
            raise ValueError(
                f"weights {path} do not fit backbone {name}: tensor {key} has shape {tuple(value.shape)}, "
                f"not {tuple(expected[key].shape)}"
            )
    backbone.load_state_dict(found, strict=False)


def imagenet_file(name: str, known: "WeightsEnum | None") -> Path:
    """Path of torchvision's ImageNet weights: below ``BBGM_WEIGHTS``, in torch's cache, or downloaded into that cache.

    Raises:
        FileNotFoundError: it is in neither place and the download fails.
        ValueError: torchvision has no weights for this backbone.
    """
    if known is None:
        raise ValueError(f"torchvision has no ImageNet weights for backbone {name!r}: set network.weights to 'random'")
    url = str(known.url)
    file = url.rsplit("/", 1)[1]
    own: Path = weights_root() / file
    cached = Path(str(torch.hub.get_dir())) / "checkpoints" / file
    for path in (own, cached):
        if path.is_file():
            return path
    try:
        # torchvision would also unpickle the file; its name ends in the beginning of its SHA-256.
        cached.parent.mkdir(parents=True, exist_ok=True)
        torch.hub.download_url_to_file(url, str(cached), cached.stem.rpartition("-")[2], progress=False)
    except (OSError, RuntimeError) as error:
        raise FileNotFoundError(
            f"no ImageNet weights for {name}: {file} (about 530 MB) is neither in {own.parent} nor in {cached.parent}, "
            f"and downloading it from {url} failed ({error}). Run 'bbgm data download {name}', which resumes an "
            "interrupted download, or put the file into one of these folders, or set "
            "BBGM_WEIGHTS to the folder that has it, or name a .safetensors file of that folder in network.weights"
        ) from error
    return cached


def demo_file(name: str) -> Path:
    """Path of the weights in this package that were trained on rendered photographs.

    Raises:
        ValueError: there are none for this backbone.
    """
    path = PACKAGED / f"{name}.safetensors"
    if not path.is_file():
        known = sorted(file.stem for file in PACKAGED.glob("*.safetensors"))
        raise ValueError(f"no weights 'demo' for backbone {name!r} (only for {known}): use 'imagenet' or 'random'")
    return path


def fingerprint(module: nn.Module) -> str:
    """SHA-256 of all parameters and buffers of a module, names included, as hex digits."""
    digest = hashlib.sha256()
    for key, value in module.state_dict().items():
        digest.update(f"{key} {tuple(value.shape)} {value.dtype}\n".encode())
        digest.update(value.detach().cpu().contiguous().numpy())
    return digest.hexdigest()


def _read(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        here = [file.name for file in without_companions(path.parent.glob("*.safetensors"))]
        raise FileNotFoundError(
            f"no weights file {path} (found there: {here or 'no .safetensors file'}): set BBGM_WEIGHTS to the folder "
            "that has it, or set network.weights to 'imagenet' or 'random'"
        )
    try:
        content = load_file(path) if path.suffix == ".safetensors" else read_tensors(path)
    except Exception as error:  # torch.load raises about ten different types for broken files
        reason = str(error).partition("\n")[0]
        fault = f"cannot be read ({reason}): it is truncated or of another kind, copy it again"
        if "Unsupported global" in str(error):
            fault = (
                "cannot be read: it holds Python objects besides tensors, which are not loaded, because they could run "
                "code. Where it was made, save the tensors alone: torch.save(model.state_dict(), FILE)"
            )
        raise ValueError(f"weights file {describe(path, fault)}") from error
    tensors = _tensors_of(content)
    if not tensors:
        found = sorted(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise ValueError(
            f"weights file {path} cannot be read (it holds {found}, no named tensors): it is of another kind; save the "
            "tensors alone: torch.save(model.state_dict(), FILE)"
        )
    size = path.stat().st_size
    if odd := [name for name, value in tensors.items() if value.layout != torch.strided or value.numel() > size]:
        raise ValueError(f"weights file {path}: tensor {_some(odd)} has more entries than the file; copy it again")
    if broken := [name for name, value in tensors.items() if not torch.isfinite(value).all()]:
        raise ValueError(f"weights file {path}: tensor {_some(broken)} is not finite; copy the file again")
    return tensors


def read_tensors(path: Path) -> Any:
    """What torch.save wrote: tensors, numbers and text in lists and dicts. Nothing else is unpickled.

    Raises:
        Exception: of about ten different types, for a broken file.
    """
    if zipfile.is_zipfile(path):  # torch stores the parts as they are: compressed ones could grow without bounds
        with zipfile.ZipFile(path) as archive:
            if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
                raise ValueError("its parts are compressed, which torch.save does not do")
    return torch.load(path, map_location="cpu", weights_only=True)


def _tensors_of(content: Any) -> dict[str, Tensor]:
    """The tensors by name, in what training programs make of them: with more than them in the file (under
    ``state_dict`` or ``model``), or with ``module.`` before each name (DataParallel)."""
    for key in NESTED:
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        return {}
    names = list(content)
    while names and all(str(name).startswith(PREFIX) for name in names):
        content = {str(name).removeprefix(PREFIX): value for name, value in content.items()}
        names = list(content)
    return {str(name): value for name, value in content.items()}


def _some(keys: list[str]) -> str:
    shown = ", ".join(keys[:3])
    return shown if len(keys) <= 3 else f"{shown} and {len(keys) - 3} more"
