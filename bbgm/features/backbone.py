"""Visual features (paper Sec. 3.5, 'Visual Feature Extraction'): two maps and one global vector of an image.

Differences from the paper's text, all as in the authors' code: ``vgg16_bn`` rather than VGG16, and the map vectors are
normalised before they are interpolated. Our own choices: a frozen backbone keeps its batch norm in evaluation mode, and
all distinct images of a batch go through batch norm together (the authors: the sources, then the targets).

To add a backbone: write a subclass of `Backbone`, and name it in `BACKBONES` and in `NetworkConfig`.
"""

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from bbgm.config import NetworkConfig
from bbgm.features.weights import load_weights

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation of ImageNet's red, green and blue in [0, 1]; the pretrained networks expect normalised images."""


class Backbone(nn.Module):
    """Base of the backbones: from images to two feature maps and a global vector.

    Attributes:
        node_channels: C, the channels of both maps together = length of a keypoint's feature.
        global_channels: Cg, length of the global vector.
        frozen: no gradient, always in evaluation mode.
    """

    node_channels: int
    global_channels: int
    frozen = False

    def forward(self, images: Tensor) -> tuple[list[Tensor], Tensor]:
        """Features of normalised images (see `normalise`).

        Args:
            images: (B, 3, 256, 256).

        Returns:
            Two maps (B, C1, h1, w1) and (B, C2, h2, w2), and the global vectors (B, Cg).
        """
        raise NotImplementedError

    def freeze(self) -> None:
        """Exclude the backbone from training."""
        self.frozen = True
        self.requires_grad_(False)
        self.eval()

    def train(self, mode: bool = True) -> "Backbone":
        """As in `nn.Module`, but a frozen backbone stays in evaluation mode."""
        super().train(mode and not self.frozen)
        return self


class VGG16(Backbone):
    """VGG16, cut after relu4_2 (512 x 32 x 32), relu5_1 (512 x 16 x 16) and pool5, of which the maximum is taken (512).

    Tensors are named ``features.<layer>.<kind>`` as in torchvision, whose weights fit.
    """

    node_channels, global_channels = 1024, 512
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
        _initialise(self)

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
        _initialise(self)

    def forward(self, images: Tensor) -> tuple[list[Tensor], Tensor]:
        """See `Backbone.forward`."""
        fine = self.stem(images)
        coarse = self.middle(fine)
        return [fine, coarse], self.top(coarse).amax(dim=(2, 3))


def _block(channels: int, width: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    padding = (kernel - stride + 1) // 2
    convolution = nn.Conv2d(channels, width, kernel, stride=stride, padding=padding, bias=False)
    return nn.Sequential(convolution, nn.GroupNorm(8, width), nn.ReLU(inplace=True))


def _initialise(module: nn.Module) -> None:
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


BACKBONES: dict[str, Callable[[], Backbone]] = {"vgg16_bn": VGG16BatchNorm, "vgg16": VGG16, "small": SmallCNN}


def make_backbone(config: NetworkConfig) -> Backbone:
    """The backbone that a configuration names, with its weights (random ones: from torch's generator), frozen or not.

    Raises:
        ValueError: no such backbone, or weights that do not fit it (the error names the tensor and both shapes).
        FileNotFoundError: no such weights file, or it cannot be downloaded (the error says where to get it).
    """
    if config.backbone not in BACKBONES:
        raise ValueError(f"network.backbone {config.backbone!r} is not one of {sorted(BACKBONES)}")
    backbone = BACKBONES[config.backbone]()
    if config.weights != "random":
        load_weights(backbone, config.backbone, config.weights)
    if config.freeze_backbone:
        backbone.freeze()
    return backbone


def normalise(crops: Tensor) -> Tensor:
    """Network input (B, 3, H, W) float32 of RGB pixels (B, H, W, 3) uint8: (rgb / 255 - mean) / std.

    Channels stay the innermost dimension in memory, which makes all later convolutions a quarter to a third faster.
    """
    mean, std = (torch.tensor(values, device=crops.device).view(3, 1, 1) for values in (MEAN, STD))
    return (crops.permute(0, 3, 1, 2).float() / 255 - mean) / std


def keypoint_features(maps: list[Tensor], image: Tensor, xy: Tensor, frame: float = 256.0, unit: bool = True) -> Tensor:
    """Features at keypoints: each map's vectors, normalised to length 1 and bilinearly interpolated, side by side.

    The maps cover the frame in cells of step = frame / w px with their centres at (i + 1/2) step. Beyond the
    outermost centres only the border cell counts. An interpolated vector has length <= 1; a cell of zeros stays zero.

    Args:
        maps: (B, C_m, h, w) each.
        image: (N,) int64, the image in [0, B) that each keypoint belongs to.
        xy: (N, 2), px in a frame of side ``frame``.
        unit: normalise the maps' vectors, as BB-GM does; False: leave them as they are, as DGMC does.

    Returns:
        (N, sum of C_m).
    """
    return torch.cat([_interpolate(values, image, xy, frame, unit) for values in maps], dim=1)


def _interpolate(values: Tensor, image: Tensor, xy: Tensor, frame: float, unit: bool) -> Tensor:
    """Normalise and interpolate one map (B, C, h, w) at N keypoints: (N, C). Only cells that are used are touched."""
    size = torch.tensor([values.shape[3], values.shape[2]], device=xy.device)
    place = xy * size / frame - 0.5  # in cells: step = frame / size
    corner = torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]], device=xy.device)
    cell = place.floor()[:, None].long() + corner  # (N, 4, 2)
    weight = (1 - (place[:, None] - cell).abs()).prod(dim=2)  # from the index before it is clamped
    column, row = torch.minimum(cell.clamp(min=0), size - 1).unbind(dim=2)
    vectors = values.permute(0, 2, 3, 1)[image[:, None], row, column]  # (N, 4, C)
    if unit:
        length = torch.linalg.vector_norm(vectors, dim=2, keepdim=True)
        vectors = vectors / length.masked_fill(length == 0, 1)
    return torch.sum(weight[:, :, None].to(vectors.dtype) * vectors, dim=1)
