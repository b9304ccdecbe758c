"""Which pairs of a batch still teach the network something: those whose costs get a gradient other than zero."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from bbgm.matching.instance import Instance


class NonzeroGradients:
    """Which pairs of a batch get a gradient other than zero; known after the backward pass.

    Args:
        instances: of the batch.
    """

    def __init__(self, instances: Sequence[Instance[Tensor]]) -> None:
        self._found: list[list[Tensor]] = [[] for _ in instances]
        for found, x in zip(self._found, instances, strict=True):
            for costs in (x.unary, x.quadratic):
                if costs.requires_grad and costs.numel():
                    costs.register_hook(partial(self._note, found))  # type: ignore[no-untyped-call]

    @staticmethod
    def _note(found: list[Tensor], gradient: Tensor) -> None:
        found.append(gradient.any())

    @property
    def share(self) -> float:
        """In [0, 1]; 0 for an empty batch."""
        if not self._found:
            return 0.0
        changed = [torch.stack(found).any() for found in self._found if found]
        return int(torch.stack(changed).sum()) / len(self._found) if changed else 0.0
