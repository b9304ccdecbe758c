"""VGG16 and VGG16-BN, cut as the paper does (Sec. 3.5)."""

from typing import ClassVar

from torch import Tensor, nn
from torchvision.models import VGG16_BN_Weights, VGG16_Weights, WeightsEnum

from bbgm.features.backbone import Backbone, initialise


class VGG16(Backbone):
    """VGG16, cut after relu4_2 (512 x 32 x 32), relu5_1 (512 x 16 x 16) and pool5, of which the maximum is taken (512).

    Tensors are named ``features.<layer>.<kind>`` as in torchvision, whose weights fit.
    """

    node_channels, global_channels = 1024, 512
    imagenet: ClassVar[WeightsEnum] = VGG16_Weights.IMAGENET1K_V1
    batch_norm: ClassVar[bool] = False
    cuts: ClassVar[tuple[int, int]] = (21, 26)

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for block in ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512)):
            for width in block:
                layers.append(nn.Conv2d(channels, width, 3, padding=1))
                if self.batch_norm:
                    layers.append(nn.BatchNorm2d(width))
                layers.append(nn.ReLU(inplace=True))
                channels = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        initialise(self)

    def forward(self, images: Tensor) -> tuple[list[Tensor], Tensor]:
        """See `Backbone.forward`."""
        first, second = self.cuts
        relu4_2 = self.features[:first](images)
        # The next layers' ReLUs work in place, but only on the output of their own convolution or batch norm.
        relu5_1 = self.features[first:second](relu4_2)
        pool5 = self.features[second:](relu5_1)
        return [relu4_2, relu5_1], pool5.amax(dim=(2, 3))


class VGG16BatchNorm(VGG16):
    """VGG16 with batch norm after each convolution: what the authors' code uses."""

    batch_norm, cuts = True, (30, 37)
    imagenet = VGG16_BN_Weights.IMAGENET1K_V1
