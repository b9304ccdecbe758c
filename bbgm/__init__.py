"""BB-GM: deep graph matching with a blackbox-differentiated solver (Rolinek et al., ECCV 2020)."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bbgm.photos import Match, Model, match

__version__ = "0.1.0"
__all__ = ["Match", "Model", "__version__", "match"]

# Large memory pages for torch's large tensors: the backward pass of the spline convolutions (100 MB of gradients each)
# then takes half the time or less. Torch reads this variable when it is imported.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")


def __getattr__(name: str) -> Any:
    """`match`, `Model` and `Match` are imported when they are first used: they need torch, which takes seconds."""
    if name in ("Match", "Model", "match"):
        return getattr(import_module("bbgm.photos"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
