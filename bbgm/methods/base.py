"""What every matching method offers to training and evaluation: BB-GM, its ablations, the peers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bbgm.base.paths import cache_root
from bbgm.base.registry import resolve
from bbgm.config import BackboneConfig, RunConfig
from bbgm.data.images.keypoints import Dataset, KeypointImage
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.features.backbone import make_backbone
from bbgm.features.cache import FeatureCache, Features, compute_features
from bbgm.graphs.delaunay import Graph
from bbgm.matching.instance import Instance
from bbgm.matching.joint_solvers import TimedJointSolver
from bbgm.matching.solvers import TimedSolver
from bbgm.methods.batching import NodeRows, Side

PAIRS, GRAPHS, IMAGES = 256, 64, 16
"""How many of each are computed at once, where nothing depends on their number: bounds the memory."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a method bases the matching of one pair on, to look at.

    Attributes:
        affinity: (n1, n2) float64, the scores of all matches before they compete; larger is better.
        soft: (n1, n2) float64 in [0, 1], the soft assignment; None for a method that has none.
    """

    affinity: np.ndarray
    soft: np.ndarray | None = None


class Matcher(nn.Module):
    """Base of the methods: a network with a loss for pairs, and matchings for pairs.

    Attributes:
        batch_accuracy: share of the true matches that the last call of `loss` found, with the margin, in [0, 1].
        one_to_one: whether `predict` uses each target keypoint at most once; evaluation checks it.
    """

    batch_accuracy: float = 0.0
    one_to_one: bool = True

    def prepare(self, dataset: Dataset) -> None:
        """Set what depends on the training images, before the optimiser is made; most methods have nothing to set.

        It must be the same each time, as a run that resumes does it again. What it sets belongs into parameters and
        buffers, which checkpoints and the trained model hold.
        """

    def loss(self, pairs: Sequence[KeypointPair]) -> Tensor:
        """Training loss of a batch, a scalar."""
        raise NotImplementedError

    def predict(self, pairs: Sequence[KeypointPair]) -> list[np.ndarray]:
        """For each pair (n1,) int32: the index in ``kept2`` that each kept source keypoint is matched with, or -1."""
        raise NotImplementedError

    def instances(self, pairs: Sequence[KeypointPair]) -> list[Instance]:
        """The combinatorial problems of pairs, for methods that have them; in evaluation mode, without gradients."""
        raise NotImplementedError

    def evidence(self, pairs: Sequence[KeypointPair]) -> list[Evidence]:
        """What the matchings of `predict` are based on, for methods that can show it; in evaluation mode."""
        raise NotImplementedError

    def set_solvers(self) -> tuple[TimedSolver, TimedJointSolver]:
        """The solvers of the instances of a set of images, one by one and jointly, for methods that have instances."""
        raise NotImplementedError

    def parameter_groups(self, lr: float, backbone_factor: float) -> list[dict[str, Any]]:
        """What is trained, as groups of an optimiser: each with a name, its parameters and its learning rate."""
        raise NotImplementedError

    @property
    def batch_numbers(self) -> dict[str, float]:
        """What else the last training step shows, for ``history.csv``: a column each; after the backward pass."""
        return {}

    @property
    def solver_seconds(self) -> float:
        """Time spent in a combinatorial solver so far, s."""
        return 0.0


class VisualMatcher(Matcher):
    """Base of the methods with a backbone, whose features are cached if it is frozen.

    Args:
        network: the settings; the initial parameters come from torch's generator.
        unit: keypoint features of length 1 before interpolation, or as they are; see `bbgm.features.backbone`.

    Attributes:
        source: where the features of images come from, if not from the backbone: a function from images to their
            features, for images that are in memory and whose maps are kept. None: from the backbone.
    """

    source: Callable[[Sequence[KeypointImage]], list[Features]] | None = None

    def __init__(self, network: BackboneConfig, unit: bool = True) -> None:
        super().__init__()
        self.backbone = make_backbone(network)
        self._backbone_name, self.unit = network.backbone, unit
        self._cache: FeatureCache | None = None

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """As in `nn.Module`; other weights of a frozen backbone give other features."""
        self._cache = None
        return super().load_state_dict(state_dict, strict, assign)

    def parameter_groups(self, lr: float, backbone_factor: float) -> list[dict[str, Any]]:
        """See `Matcher.parameter_groups`; the backbone learns at ``backbone_factor * lr``, or not at all if frozen."""
        backbone = [p for p in self.backbone.parameters() if p.requires_grad]
        head = [p for name, p in self.named_parameters() if p.requires_grad and not name.startswith("backbone.")]
        groups = [
            {"name": "head", "params": head, "lr": lr},
            {"name": "backbone", "params": backbone, "lr": backbone_factor * lr},
        ]
        return [group for group in groups if group["params"]]

    def visual_features(self, images: list[KeypointImage]) -> list[Features]:
        """Features of images at all their keypoints, and their global vectors; differentiable unless frozen."""
        if self.source is not None:
            return self.source(images)
        if self.backbone.frozen:
            if self._cache is None:
                self._cache = FeatureCache(self.backbone, self._backbone_name, cache_root(), unit=self.unit)
            return self._cache.features_of(images)
        # In training all at once, because of batch norm.
        step = len(images) if torch.is_grad_enabled() else IMAGES
        parts = (images[i : i + step] for i in range(0, len(images), step))
        return [found for part in parts for found in compute_features(self.backbone, part, self.unit)]

    def sides_of(self, pairs: Sequence[KeypointPair]) -> tuple[list[tuple[Side, Side]], dict[str, Features]]:
        """Both sides of each pair, and the features of their images by the image's id."""
        sides = [(Side.make(pair.source, pair.kept1), Side.make(pair.target, pair.kept2)) for pair in pairs]
        images = {side.image.image_id: side.image for both in sides for side in both}
        return sides, dict(zip(images, self.visual_features(list(images.values())), strict=True))

    def node_rows(
        self,
        sides: Sequence[tuple[Side, Side]],
        features: Mapping[str, Features],
        compute: Callable[[Tensor, Sequence[Graph]], Tensor],
        like: Tensor,
    ) -> NodeRows:
        """What ``compute`` makes of the features (N, C) of the nodes of some graphs, for each distinct graph once.

        Args:
            like: a tensor with the type and the device that the features should have.
        """
        distinct = {side.key: side for both in sides for side in both}
        graphs = [side.graph() for side in distinct.values()]
        nodes = [
            (features[side.image.image_id][0][torch.from_numpy(side.kept)] if side.seen is None else side.seen).to(like)
            for side in distinct.values()
        ]
        starts = np.cumsum([0] + [len(part) for part in nodes]).tolist()
        rows = [
            compute(torch.cat(nodes[i : i + GRAPHS]), graphs[i : i + GRAPHS]) for i in range(0, len(graphs), GRAPHS)
        ]
        first, by_key = zip(distinct, starts, strict=False), zip(distinct, graphs, strict=True)
        return NodeRows(torch.cat(rows), dict(first), dict(by_key))


def make_matcher(config: RunConfig) -> Matcher:
    """The network of a run, on the CPU; its initial parameters depend on the configuration and its seed only.

    Raises:
        ValueError: the method names no network.
    """
    if config.matcher is None:
        raise ValueError(f"method {config.model!r} has no network: set 'matcher' in {type(config).__name__}")
    matcher = resolve(config.matcher)(config)
    if not isinstance(matcher, Matcher):
        raise ValueError(f"the network of method {config.model!r} is {matcher!r}: 'matcher' must make a Matcher")
    return matcher


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's CPU generator within the block, and restore it afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield
