"""The weighted sum of the losses that look at a whole batch, with the temperature that they learn."""

import math
from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from bbgm.config import TERMS
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.methods.bbgm.affinity import Affinity
from bbgm.methods.bbgm.contrast.batch import Batch
from bbgm.methods.bbgm.contrast.settings import ContrastConfig
from bbgm.methods.bbgm.forward_pass import ForwardPass

LARGEST = math.log(100)
"""Of l, which is kept in [0, log 100], as in COMMON and in CLIP before it."""


class ContrastLoss(nn.Module):
    """Sum of weighted terms (`bbgm.config.TERMS`).

    Args:
        settings: which terms, and how they compare keypoints.

    Attributes:
        log_scale: (2,) l of keypoints and of edges.
    """

    def __init__(self, settings: ContrastConfig) -> None:
        super().__init__()
        self._settings = settings
        self._terms: list[tuple[Callable[[Batch], Tensor], float]] = [
            (TERMS[name], weight) for name, weight in settings.terms.items()
        ]
        self.log_scale = nn.Parameter(torch.full((2,), -math.log(settings.temperature)))

    def batch(self, pairs: Sequence[KeypointPair], passes: Sequence[ForwardPass], affinity: Affinity) -> Batch:
        """What the terms look at; see `Batch.of`."""
        return Batch.of(pairs, passes, affinity, self.log_scale.exp(), self._settings)

    def forward(self, batch: Batch) -> Tensor:
        """The loss of a batch, a scalar."""
        return cast(Tensor, sum(weight * term(batch) for term, weight in self._terms))

    @torch.no_grad()
    def clamp(self) -> None:
        """Bring l back into its range, which a step of the optimiser can leave."""
        self.log_scale.clamp_(0, LARGEST)
