"""What every matching method offers to training and evaluation: BB-GM, its ablations, the peers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from bbgm.blackbox import Instance
from bbgm.data.pairs import KeypointPair


class Matcher(nn.Module):
    """Base of the methods: a network with a loss for pairs, and matchings for pairs.

    Attributes:
        batch_accuracy: share of the true matches that the last call of `loss` found, margin and all, in [0, 1].
    """

    batch_accuracy: float = 0.0

    def loss(self, pairs: Sequence[KeypointPair]) -> Tensor:
        """Training loss of a batch, a scalar."""
        raise NotImplementedError

    def predict(self, pairs: Sequence[KeypointPair]) -> list[np.ndarray]:
        """For each pair (n1,) int32: the index in ``kept2`` that each kept source keypoint is matched with, or -1."""
        raise NotImplementedError

    def instances(self, pairs: Sequence[KeypointPair]) -> list[Instance]:
        """The combinatorial problems of pairs, of methods that have them; in evaluation mode, without gradients."""
        raise NotImplementedError

    def parameter_groups(self, lr: float, backbone_factor: float) -> list[dict[str, Any]]:
        """What is trained, as groups of `torch.optim.Adam`, each with a name, its parameters and its learning rate."""
        raise NotImplementedError

    @property
    def solver_seconds(self) -> float:
        """Time spent in a combinatorial solver so far, s."""
        return 0.0
