"""Deep Graph Matching Consensus (Fey, Lenssen, Morris, Masci, Kriege; ICLR 2020): the rows DGMC* of the paper's tables.

Local features h of both graphs, psi_1 of the visual ones, give row-wise distributions over the target's keypoints

    S_0 = softmax(H_1 H_2^T),

which L steps of neighbourhood consensus correct: random indicators r of the source's keypoints are carried over by S,
psi_2 passes them along both graphs' edges, and where the results differ the correspondence was not consistent,

    o_1 = psi_2(r),   o_2 = psi_2(S^T r),   scores_ij += MLP(o_1i - o_2j),   S = softmax(scores).

psi_1 and psi_2 are SplineCNNs with mean aggregation. The loss is the cross entropy of S_0 and S_L at the true matches.

Written from the paper and from how its authors run it. Differences from their code:

1. Pairs are drawn as for BB-GM: the class, then two distinct images. (Theirs: each source once an epoch, with a target
   that has all of its keypoints, possibly itself: the filter "inclusion".) Likewise the images: the object's box as
   BB-GM crops it, and keypoints outside are left out. Theirs is enlarged to hold all keypoints, and by 16 px;
   `data.keep_outside` keeps the keypoints, not the larger crop. On Willow each of their runs has another split. The
   experiment `dgmc_authors` has their keypoints and splits.
2. Visual features are interpolated at the keypoint, not read from a map of 256 x 256 at the nearest pixel. Except at
   the budget `paper`, they are BB-GM's, of length 1, times a constant; theirs are as VGG16 gives them (`features`,
   `feature_scale` in `DGMCConfig`).
3. psi_1 runs once for each graph of a batch, before dropout, which is drawn for each pair.
4. The MLP's first layer acts on o_1 and o_2, as W (o_1 - o_2) = W o_1 - W o_2: not on each pair of keypoints.
5. At test the indicators depend on the pair alone, so its prediction is always the same; theirs is not.
6. SplineConv's root matrix starts as in torch_geometric today; when they ran it, it started 5 times smaller
   (`root_init`).
7. Degenerate keypoint sets have the graph of `bbgm.graphs.delaunay`; theirs are joggled.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bbgm.data.images.keypoints import FRAME
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.graphs.delaunay import Graph, joint_edges, largest_offset, pseudo_coordinates
from bbgm.matching.instance import Instance, check_finite
from bbgm.matching.solvers import make_solver
from bbgm.methods.base import PAIRS, Evidence, VisualMatcher, seeded
from bbgm.methods.batching import Side
from bbgm.methods.dgmc.settings import DGMCConfig, DGMCRun
from bbgm.methods.spline.convolution import RootInit, SplineConv
from bbgm.methods.spline.plan import SplinePlan
from bbgm.scoring.metrics import batch_accuracy

EPSILON = 1e-8  # in the logarithm of the loss, as in the authors' code


class SplineStack(nn.Module):
    """psi: two SplineConv layers (mean aggregation), each with ReLU; then dropout and a linear layer.

    Args:
        channels: of the input.
        width: of the layers and of the output.
        concat: the linear layer sees the input and both layers' outputs, rather than the last output.
        dropout: share of the linear layer's inputs that is set to 0 in training.
        root_init: of both layers.
    """

    def __init__(
        self, channels: int, width: int, concat: bool, dropout: float = 0.0, root_init: RootInit = "channels"
    ) -> None:
        super().__init__()
        self.first, self.second = (
            SplineConv(inputs, width, aggr="mean", root_init=root_init) for inputs in (channels, width)
        )
        self.final = nn.Linear(channels + 2 * width if concat else width, width)
        self.concat, self.dropout = concat, dropout

    def hidden(self, x: Tensor, plan: SplinePlan) -> Tensor:
        """What the linear layer sees, before dropout: (N, channels + 2 width) or (N, width)."""
        one = F.relu(self.first.apply_plan(x, plan))
        two = F.relu(self.second.apply_plan(one, plan))
        return torch.cat([x, one, two], dim=1) if self.concat else two

    def output(self, hidden: Tensor) -> Tensor:
        """Dropout and the linear layer."""
        return self.final(F.dropout(hidden, self.dropout, self.training))

    def forward(self, x: Tensor, plan: SplinePlan) -> Tensor:
        """psi(x): (N, width), for the graph of a plan."""
        return self.output(self.hidden(x, plan))


@dataclass(frozen=True, eq=False)
class Batch:
    """Pairs padded to B x n keypoints per side.

    Attributes:
        hidden1, hidden2: (B, n1, C) and (B, n2, C), psi_1 before its linear layer.
        plan1, plan2: of the B n1 and B n2 keypoints' graphs.
        real1, real2: (B, n1) and (B, n2) bool, False for padding.
        indicators: (L, B, n1, R), 0 for padding.
    """

    hidden1: Tensor
    hidden2: Tensor
    plan1: SplinePlan
    plan2: SplinePlan
    real1: Tensor
    real2: Tensor
    indicators: Tensor


class DGMC(VisualMatcher):
    """The complete method.

    Args:
        config: of the run; `seed` decides the initial parameters, torch's global generator is left as it was.
    """

    def __init__(self, config: DGMCRun) -> None:
        self.settings: DGMCConfig = config.dgmc
        width, indicator = self.settings.channels, self.settings.consensus_channels
        with seeded(config.seed):
            super().__init__(config.network, unit=self.settings.features == "unit")
            dropout, root_init = self.settings.dropout, self.settings.root_init
            self.local = SplineStack(self.backbone.node_channels, width, False, dropout, root_init)
            self.consensus = SplineStack(indicator, indicator, concat=True, root_init=root_init)
            self.compare1, self.compare2 = nn.Linear(indicator, indicator), nn.Linear(indicator, 1)
        self.solver = make_solver("best", full=True)
        self.one_to_one = self.settings.rounding == "lap"

    @property
    def solver_seconds(self) -> float:
        """Time spent in the solver so far, s: none, unless matchings are rounded by it."""
        return self.solver.seconds

    def loss(self, pairs: Sequence[KeypointPair]) -> Tensor:
        """Cross entropy of S_0 and of S_L, each averaged over the true matches of the batch; see `Matcher.loss`."""
        initial, final = self.correspondences(next(self._batches(pairs, len(pairs))))
        truth = torch.zeros(final.shape, dtype=torch.bool)
        for line, pair in zip(truth, pairs, strict=True):
            line[: len(pair.kept1), : len(pair.kept2)] = torch.from_numpy(pair.truth_matrix)
        truth = truth.to(final.device)
        best = final.detach() == final.detach().amax(dim=2, keepdim=True)
        self.batch_accuracy = batch_accuracy([best], [truth])
        likelihoods = torch.cat([initial[truth], final[truth]]).exp() + EPSILON
        return -likelihoods.log().sum() / max(int(truth.sum()), 1)

    @torch.no_grad()
    def predict(self, pairs: Sequence[KeypointPair]) -> list[np.ndarray]:
        """See `Matcher.predict`: for each source keypoint the likeliest target, which several of them may share.

        That is how its authors score it. With ``rounding: lap`` the likeliest matching instead.
        """
        final = [log_s for _, log_s in self._matches(pairs)]
        if self.one_to_one:
            return self.solver([Instance.linear(-log_s) for log_s in final])
        check_finite("scores of matches", *final)
        return [log_s.argmax(axis=1).astype(np.int32) for log_s in final]

    @torch.no_grad()
    def evidence(self, pairs: Sequence[KeypointPair]) -> list[Evidence]:
        """See `Matcher.evidence`: log S_0, and S_L."""
        return [Evidence(initial, np.exp(final)) for initial, final in self._matches(pairs)]

    def _matches(self, pairs: Sequence[KeypointPair]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """log S_0 and log S_L of each pair, (n1, n2) float64."""
        remaining = iter(pairs)
        for batch in self._batches(pairs, PAIRS):
            both = (part.cpu().double().numpy() for part in self.correspondences(batch))
            for initial, final in zip(*both, strict=True):
                pair = next(remaining)
                n1, n2 = len(pair.kept1), len(pair.kept2)
                yield initial[:n1, :n2], final[:n1, :n2]

    def correspondences(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """log S_0 and log S_L: (B, n1, n2) each; -inf in padded columns."""
        h1, h2 = self.local.output(batch.hidden1), self.local.output(batch.hidden2)
        absent = ~batch.real2[:, None]
        scores = torch.bmm(h1, h2.transpose(1, 2)).masked_fill(absent, -torch.inf)
        initial = log_s = scores.log_softmax(dim=2)
        for r in batch.indicators:
            carried = torch.bmm(log_s.exp().transpose(1, 2), r)
            o1 = self.consensus(r.flatten(0, 1), batch.plan1).view(*r.shape[:2], -1)
            o2 = self.consensus(carried.flatten(0, 1), batch.plan2).view(*carried.shape[:2], -1)
            difference = self.compare1(o1)[:, :, None] - F.linear(o2, self.compare1.weight)[:, None]
            scores = scores + self.compare2(F.relu(difference)).squeeze(3)
            log_s = scores.log_softmax(dim=2)
        return initial, log_s

    def _batches(self, pairs: Sequence[KeypointPair], size: int) -> Iterator[Batch]:
        if not pairs:
            return
        like = self.local.final.weight
        sides, features = self.sides_of(pairs)
        hidden = self.node_rows(sides, features, self._local_hidden, like)
        for start in range(0, len(sides), size):
            part = sides[start : start + size]
            sizes = [
                torch.tensor([len(side.rank) for side in column], device=like.device)
                for column in zip(*part, strict=True)
            ]
            real1, real2 = (torch.arange(int(n.max()), device=like.device) < n[:, None] for n in sizes)
            (h1, plan1), (h2, plan2) = (
                (
                    hidden.gather(column),
                    _plan(hidden.shuffled(column), n, self.settings.pseudo).to(like),
                )
                for column, n in zip(zip(*part, strict=True), (real1.shape[1], real2.shape[1]), strict=True)
            )
            yield Batch(h1, h2, plan1, plan2, real1, real2, self._indicators(part, real1))

    def _local_hidden(self, x: Tensor, graphs: Sequence[Graph]) -> Tensor:
        plan = _plan(graphs, None, self.settings.pseudo).to(x)
        return self.local.hidden(self.settings.feature_scale * x, plan)

    def _indicators(self, sides: Sequence[tuple[Side, Side]], real1: Tensor) -> Tensor:
        """Standard normal numbers (L, B, n1, R): from torch's generator in training, else from one for each pair."""
        steps, width = self.settings.steps, self.settings.consensus_channels
        if self.training:
            return torch.randn(steps, *real1.shape, width, device=real1.device) * real1[:, :, None]
        result = torch.zeros(steps, *real1.shape, width)
        for b, (source, target) in enumerate(sides):
            digest = hashlib.sha256(repr((source.key, target.key)).encode()).digest()
            generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "little"))
            drawn = torch.randn(steps, len(source.rank), width, generator=generator)
            result[:, b, : len(source.rank)] = drawn[:, torch.from_numpy(source.rank)]
        return result.to(real1.device)


def _plan(graphs: Sequence[Graph], stride: int | None, pseudo: str) -> SplinePlan:
    """Plan of several graphs; node i of graph b has the number b stride + i, or follows the graph before it."""
    nodes = sum(len(graph.xy) for graph in graphs) if stride is None else stride * len(graphs)
    scale = [largest_offset(graph) if pseudo == "graph" else FRAME for graph in graphs]
    coordinates = np.concatenate([pseudo_coordinates(g, side) for g, side in zip(graphs, scale, strict=True)])
    ends = torch.from_numpy(joint_edges(graphs, stride))
    return SplinePlan.make(nodes, ends, torch.from_numpy(coordinates), kernel_size=5)
