"""A toy backbone: two convolutions."""

import torch
from torch import Tensor, nn

from bbgm.features.backbone import Backbone, initialise


class Toy(Backbone):
    """Maps of 16 x 64 x 64 and 32 x 16 x 16; the global vector has 32 entries."""

    node_channels, global_channels = 48, 32

    def __init__(self) -> None:
        super().__init__()
        self.fine, self.coarse = nn.Conv2d(3, 16, 4, stride=4), nn.Conv2d(16, 32, 4, stride=4)
        initialise(self)

    def forward(self, images: Tensor) -> tuple[list[Tensor], Tensor]:
        """See `Backbone.forward`."""
        fine = torch.relu(self.fine(images))
        coarse = torch.relu(self.coarse(fine))
        return [fine, coarse], coarse.amax(dim=(2, 3))
