"""A toy method: the nearest keypoint in the frame."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from bbgm.config import Model, RunConfig
from bbgm.data.images.keypoints import FRAME
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.methods.base import Matcher


class NearestConfig(Model):
    """The setting."""

    start: float = 1.0


class NearestRun(RunConfig):
    """A run."""

    matcher: ClassVar[str] = "bbgm.methods.toy:Nearest"

    nearest: NearestConfig = NearestConfig()


class Nearest(Matcher):
    """Learns how sure it is."""

    one_to_one = False

    def __init__(self, config: NearestRun) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(config.nearest.start))

    def scores(self, pair: KeypointPair) -> Tensor:
        """(n1, n2)."""
        one, two = (torch.from_numpy(xy).float() for xy in (pair.source.xy[pair.kept1], pair.target.xy[pair.kept2]))
        return -self.scale * torch.cdist(one, two) / FRAME

    def loss(self, pairs: Sequence[KeypointPair]) -> Tensor:
        """See `Matcher.loss`."""
        losses = [nn.functional.cross_entropy(self.scores(pair), torch.from_numpy(pair.truth)) for pair in pairs]
        return torch.stack(losses).mean()

    def predict(self, pairs: Sequence[KeypointPair]) -> list[np.ndarray]:
        """See `Matcher.predict`."""
        return [self.scores(pair).argmax(dim=1).numpy().astype(np.int32) for pair in pairs]

    def parameter_groups(self, lr: float, backbone_factor: float) -> list[dict[str, Any]]:
        """See `Matcher.parameter_groups`."""
        return [{"name": "scale", "params": [self.scale], "lr": lr}]
