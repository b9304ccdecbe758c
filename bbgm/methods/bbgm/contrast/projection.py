"""The projection head of COMMON (Lin et al., ICCV 2023), whose features of keypoints have no negative coordinate."""

from torch import nn

HIDDEN = 1024


class Projection(nn.Sequential):
    """Linear, batch norm, ReLU, twice: (N, C) to (N, width), with 1,024 channels between."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__(
            nn.Linear(channels, HIDDEN),
            nn.BatchNorm1d(HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, width),
            nn.BatchNorm1d(width),
            nn.ReLU(),
        )
