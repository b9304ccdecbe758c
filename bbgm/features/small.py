"""The small backbone of the demo data."""

from torch import Tensor, nn

from bbgm.features.backbone import Backbone, initialise


class SmallCNN(Backbone):
    """A few convolutions, fast enough for a CPU, for the demo data; their weights "demo": see `bbgm.features.pretrain`.

    Maps of 64 x 32 x 32 and 128 x 16 x 16, global vector 128. Group norm, because it does not depend on the batch and
    so is the same in training and evaluation. The stem sees 8 x 8 px patches at a stride of 4 px.
    """

    node_channels, global_channels = 192, 128

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(_block(3, 32, kernel=8, stride=4), _block(32, 64, stride=2), _block(64, 64))
        self.middle = nn.Sequential(_block(64, 128, stride=2), _block(128, 128))
        self.top = _block(128, 128, stride=2)
        initialise(self)

    def forward(self, images: Tensor) -> tuple[list[Tensor], Tensor]:
        """See `Backbone.forward`."""
        fine = self.stem(images)
        coarse = self.middle(fine)
        return [fine, coarse], self.top(coarse).amax(dim=(2, 3))


def _block(channels: int, width: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    padding = (kernel - stride + 1) // 2
    convolution = nn.Conv2d(channels, width, kernel, stride=stride, padding=padding, bias=False)
    return nn.Sequential(convolution, nn.GroupNorm(8, width), nn.ReLU(inplace=True))
