"""The network of a method with a soft assignment: what is the same for all of them."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bbgm.config import SOFT_LOSSES
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.graphs.delaunay import Graph
from bbgm.matching.instance import Instance
from bbgm.matching.joint_solvers import TimedJointSolver, make_joint_solver
from bbgm.matching.linear import linear_assignment
from bbgm.matching.solvers import TimedSolver, make_solver
from bbgm.methods.base import Evidence, VisualMatcher
from bbgm.methods.batching import NodeRows, Side
from bbgm.methods.losses import true_matches
from bbgm.methods.soft.batch import GraphBatch, PairBatch, make_graph
from bbgm.methods.soft.settings import SoftRun
from bbgm.methods.soft.sinkhorn import sinkhorn
from bbgm.scoring.metrics import batch_accuracy


class SoftMatcher(VisualMatcher):
    """Base of the methods with a soft assignment. A subclass says what the scores of all matches are.

    A subclass calls ``super().__init__`` and makes its layers within `bbgm.methods.base.seeded`.

    Args:
        config: of the run.

    Attributes:
        at_once: how many pairs are matched at once at test: bounds the memory.
    """

    at_once: int = 128

    def __init__(self, config: SoftRun) -> None:
        super().__init__(config.network)
        self.settings = config.soft
        self.solver = make_solver("best", full=True)

    @property
    def solver_seconds(self) -> float:
        """Time spent in the solver so far, s: none, unless matchings are rounded by it."""
        return self.solver.seconds

    def embed(self, x: Tensor, graphs: Sequence[Graph]) -> Tensor:
        """What depends on one graph alone, (N, C) -> (N, D), computed once for each distinct graph of a batch.

        Args:
            x: features of the nodes of several graphs, one graph after another.
            graphs: the graphs, Delaunay.
        """
        return x

    def scores(self, batch: PairBatch) -> Tensor:
        """(P, n1, n2): the scores of all matches before the Sinkhorn normalisation; finite, padding too."""
        raise NotImplementedError

    def costs(self, batch: PairBatch) -> list[Instance[Tensor]]:
        """The quadratic problem of each pair, for the methods that have one."""
        raise NotImplementedError

    def normalise(self, batch: PairBatch, scores: Tensor) -> list[Tensor]:
        """log S of each pair, (n1, n2), from scores (P, n1, n2): all of the smaller side is matched."""
        options = self.settings
        negative = [-one for one in batch.cut(scores)]
        return sinkhorn(negative, temperature=options.temperature, iterations=options.iterations)

    def soft_matches(self, batch: PairBatch, scores: Tensor) -> Tensor:
        """S (P, n1, n2), 0 for padding, from scores of that shape."""
        n1, n2 = scores.shape[1:]
        each = [log_s.exp() for log_s in self.normalise(batch, scores)]
        return torch.stack([F.pad(s, (0, n2 - s.shape[1], 0, n1 - s.shape[0])) for s in each])

    def loss(self, pairs: Sequence[KeypointPair]) -> Tensor:
        """See `Matcher.loss`; which one it is, ``soft.loss`` says."""
        batch = next(self.batches(pairs, len(pairs)))
        log_match = self.normalise(batch, self.scores(batch))
        truth = true_matches(pairs, log_match[0])
        # Two entries of a row or column that sums to 1 cannot both be above 1/2.
        self.batch_accuracy = batch_accuracy([one.detach().exp() > 0.5 for one in log_match], truth)
        return self.objective(log_match, pairs)

    def objective(self, log_match: Sequence[Tensor], pairs: Sequence[KeypointPair]) -> Tensor:
        """The loss of soft matches log S (n1, n2), one for each pair."""
        loss: Tensor = SOFT_LOSSES[self.settings.loss](log_match, pairs)
        return loss

    @torch.no_grad()
    def predict(self, pairs: Sequence[KeypointPair]) -> list[np.ndarray]:
        """See `Matcher.predict`: all keypoints of the smaller side are matched."""
        if self.settings.rounding == "solver":
            return self.solver(self.instances(pairs))
        return [linear_assignment(soft) for _, soft in self._matches(pairs)]

    @torch.no_grad()
    def evidence(self, pairs: Sequence[KeypointPair]) -> list[Evidence]:
        """See `Matcher.evidence`: scores and soft assignments."""
        return [Evidence(scores, soft) for scores, soft in self._matches(pairs)]

    def _matches(self, pairs: Sequence[KeypointPair]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Scores and S of each pair, (n1, n2) float64."""
        for batch in self.batches(pairs, self.at_once):
            scores = self.scores(batch)
            for raw, log_s in zip(batch.cut(scores), self.normalise(batch, scores), strict=True):
                yield raw.cpu().double().numpy(), log_s.exp().cpu().double().numpy()

    @torch.no_grad()
    def instances(self, pairs: Sequence[KeypointPair]) -> list[Instance]:
        """See `Matcher.instances`."""
        return [one.numpy() for batch in self.batches(pairs, self.at_once) for one in self.costs(batch)]

    def set_solvers(self) -> tuple[TimedSolver, TimedJointSolver]:
        """See `Matcher.set_solvers`."""
        return make_solver("best"), make_joint_solver("best", effort="fast")

    def batches(self, pairs: Sequence[KeypointPair], size: int) -> Iterator[PairBatch]:
        """The pairs, that many at a time."""
        if not pairs:
            return
        sides, features = self.sides_of(pairs)
        # The type and device of the features are those of the parameters, if there are any but the backbone's.
        like = next((p for name, p in self.named_parameters() if not name.startswith("backbone.")), None)
        first = features[sides[0][0].image.image_id][0] if like is None else like
        rows = self.node_rows(sides, features, self.embed, first)
        for start in range(0, len(sides), size):
            sources, targets = zip(*sides[start : start + size], strict=True)
            yield PairBatch(
                self._side(rows, sources, [make_graph(g, self.settings.graph1) for g in rows.shuffled(sources)]),
                self._side(rows, targets, [make_graph(g, self.settings.graph2) for g in rows.shuffled(targets)]),
            )

    @staticmethod
    def _side(rows: NodeRows, sides: Sequence[Side], graphs: Sequence[Graph]) -> GraphBatch:
        return GraphBatch.make(rows.gather(sides), graphs)
