"""Visual features (paper Sec. 3.5, 'Visual Feature Extraction'): two maps and one global vector of an image.

Differences from the paper's text, all as in the authors' code: ``vgg16_bn`` rather than VGG16, and the map vectors are
normalised before they are interpolated. Our own choices: a frozen backbone keeps its batch norm in evaluation mode, and
all distinct images of a batch go through batch norm together (the authors: the sources, then the targets).

A further backbone is a module with a subclass of `Backbone` and one line in `bbgm.config.parts.BACKBONES`.
"""

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from bbgm.config import BACKBONES, BackboneConfig
from bbgm.features.weights import load_weights

if TYPE_CHECKING:  # a second of import, which a run with a small backbone does without
    from torchvision.models import WeightsEnum

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation of ImageNet's red, green and blue in [0, 1]; the pretrained networks expect normalised images."""


class Backbone(nn.Module):
    """Base of the backbones: from images to two feature maps and a global vector.

    Attributes:
        node_channels: C, the channels of both maps together = length of a keypoint's feature.
        global_channels: Cg, length of the global vector.
        imagenet: torchvision's weights that "imagenet" means; None: it has none.
        frozen: no gradient, always in evaluation mode.
    """

    node_channels: int
    global_channels: int
    imagenet: ClassVar["WeightsEnum | None"] = None
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


def initialise(module: nn.Module) -> None:
    """Random weights of convolutions (He et al., 2015), biases of 0."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def make_backbone(config: BackboneConfig) -> Backbone:
    """The backbone that a configuration names, with its weights (random ones: from torch's generator), frozen or not.

    Raises:
        ValueError: no such backbone, or weights that do not fit it (the error names the tensor and both shapes).
        FileNotFoundError: no such weights file, or it cannot be downloaded (the error says where to get it).
    """
    backbone: Backbone = BACKBONES[config.backbone]()
    if config.weights != "random":
        load_weights(backbone, config.backbone, config.weights)
    if config.freeze_backbone:
        backbone.freeze()
    return backbone


def normalise(crops: Tensor) -> Tensor:
    """Network input (B, 3, H, W) float32 of RGB pixels (B, H, W, 3) uint8: (rgb / 255 - mean) / std.

    Channels stay the innermost dimension in memory, which makes all later convolutions a quarter to a third faster.
    """
    # Whole rows at once, in place: an operation whose innermost loop has the three channels takes twice as long.
    mean, std = (torch.tensor(values, device=crops.device).repeat(crops.shape[2]) for values in (MEAN, STD))
    rows = crops.reshape(-1, len(mean)).float().div_(255).sub_(mean).div_(std)
    return rows.view(crops.shape).permute(0, 3, 1, 2)


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
