"""A toy affinity: all channels count the same."""

import torch
from torch import Tensor, nn

from bbgm.methods.bbgm.affinity import Affinity


class OneScale(Affinity):
    """One learned scale for all channels."""

    def __init__(self, channels: int, global_channels: int) -> None:
        super().__init__()
        self.channels, self.scale = channels, nn.Parameter(torch.tensor(1.0))

    def coefficients(self, g: Tensor) -> Tensor:
        """See `Affinity.coefficients`."""
        return self.scale.expand(len(g), self.channels)
