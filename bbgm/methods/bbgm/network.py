"""BB-GM (paper Sec. 3.5): visual features, geometric refinement, and the combinatorial instance that the solver gets.

    images -> backbone -> features at keypoints, global vector -> SplineCNN -> affinities -> costs c^v, c^e -> solver

An instance's edges come from the Delaunay triangulation of the kept keypoints, in the order of the image's list. So a
graph does not depend on how a pair shuffles its keypoints, and each is refined once for all the pairs that it is in.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from bbgm.config import AFFINITIES, LAYERS, MARGINS, SPLINES
from bbgm.data.images.keypoints import Dataset
from bbgm.data.images.views import mirror_image
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.features.cache import Features, compute_maps, features_in_maps
from bbgm.graphs.delaunay import Graph
from bbgm.matching.blackbox import SolverLayer
from bbgm.matching.gradients.batch import GradientOptions
from bbgm.matching.instance import Instance
from bbgm.matching.joint_solvers import TimedJointSolver, make_joint_solver
from bbgm.matching.solvers import TimedSolver, make_solver
from bbgm.methods.base import PAIRS, Evidence, VisualMatcher, seeded
from bbgm.methods.batching import Side, incidence_matrices
from bbgm.methods.bbgm.affinity import Affinity, global_features
from bbgm.methods.bbgm.contrast.batch import Batch
from bbgm.methods.bbgm.contrast.loss import ContrastLoss
from bbgm.methods.bbgm.contrast.projection import Projection
from bbgm.methods.bbgm.contrast.teacher import LEFT_OUT, Teacher
from bbgm.methods.bbgm.count import CountHead, shift_to_counts
from bbgm.methods.bbgm.forward_pass import ForwardPass
from bbgm.methods.bbgm.geometry.adversary import Look, adversarial, buffers_kept
from bbgm.methods.bbgm.geometry.jitter import jittered
from bbgm.methods.bbgm.geometry.positions import PositionEncoder
from bbgm.methods.bbgm.geometry.pretraining import pretrained_encoder
from bbgm.methods.bbgm.geometry.refinement import SplineCNN
from bbgm.methods.bbgm.geometry.transformer import KeypointTransformer
from bbgm.methods.bbgm.margins import centred, normalised
from bbgm.methods.bbgm.nonzero import NonzeroGradients
from bbgm.methods.bbgm.settings import BBGMRun, SolverConfig
from bbgm.methods.bbgm.unmatched import UnmatchedCosts
from bbgm.methods.losses import true_matches
from bbgm.methods.spline.convolution import SplineConv


class BBGM(VisualMatcher):
    """The paper's network, with its ablations: fixed affinity, unary costs only, frozen backbone, Sinkhorn.

    Args:
        config: of the run; `seed` decides the initial parameters, torch's global generator is left as it was.
    """

    def __init__(self, config: BBGMRun) -> None:
        network, self._settings, self._config = config.network, config.solver, config
        with seeded(config.seed):
            super().__init__(network)
            channels, global_channels = self.backbone.node_channels, 2 * self.backbone.global_channels
            affinity: Callable[[int, int], Affinity] = AFFINITIES[network.affinity]
            spline: type[SplineConv] = SPLINES[network.spline]
            self.refinement = (
                SplineCNN(channels, network.refine_weight, spline, network.root_init) if network.refine else None
            )
            matched = network.transformer.width if network.transformer.layers else network.projection or channels
            self.vertex_affinity = affinity(matched, global_channels)
            self.edge_affinity = affinity(matched, global_channels) if network.quadratic else None
            # Below what the paper has, so that its parameters start as they would without these.
            self.unmatched_costs = (
                UnmatchedCosts(matched, global_channels, network.unmatched_gated)
                if network.unmatched == "learned"
                else None
            )
            self.count_head = CountHead() if network.count == "predicted" else None
            self.positions = PositionEncoder(channels, network.positions) if network.positions.kind != "none" else None
            self.transformer = (
                KeypointTransformer(channels, self.backbone.global_channels, network.transformer)
                if network.transformer.layers
                else None
            )
            self.projection = Projection(channels, network.projection) if network.projection else None
        self._positions_first = network.positions.place == "before"
        self.contrast = ContrastLoss(config.contrast) if config.contrast.terms else None
        teacher = config.contrast.teacher if config.contrast.terms else None
        self.teacher = Teacher(self, teacher) if teacher else None
        self.solver = make_solver(config.solver.method, full=config.solver.full)
        self.layer = SolverLayer(self.solver, config.solver.gradient, _gradient_options(config.solver))
        self._margin, self._loss_of_layer = MARGINS[config.solver.margin_kind], LAYERS[config.solver.layer]
        self._moved = NonzeroGradients([])

    @property
    def solver_seconds(self) -> float:
        """Time spent in the solver so far, forward and backward, s."""
        return self.solver.seconds

    def costs(self, pairs: Sequence[KeypointPair]) -> list[Instance[Tensor]]:
        """The instances of pairs, in the order of their kept keypoints, without margin; differentiable."""
        return [instance for part in self.forward_passes(*self.sides_of(pairs)) for instance in part.instances()]

    def prepare(self, dataset: Dataset) -> None:
        """Pre-train the encoder of positions, if the settings say so; see `Matcher.prepare`.

        The first values of its other layers, and of the rest of the network, do not depend on it.
        """
        settings = self._config.network.positions
        if self.positions is None or settings.pretrain is None:
            return
        channels = self.backbone.node_channels
        encoder = pretrained_encoder(channels, settings, dataset, self._config.protocol, self._config.seed)
        learned = {name: value for name, value in encoder.state_dict().items() if not name.startswith("last.")}
        self.positions.load_state_dict({**self.positions.state_dict(), **learned})
        if self.teacher is not None:
            self.teacher.start_from(self)

    def loss(self, pairs: Sequence[KeypointPair]) -> Tensor:
        """Distance of the matchings, with the cost margin, to the true ones, averaged over the batch.

        With an adversary, `batch_accuracy` and `batch_numbers` are those of the keypoints that it has moved.
        """
        if not self.training:
            return self._loss(pairs, *self.sides_of(pairs))
        if self.contrast is not None:
            self.contrast.clamp()
        if self.teacher is not None:
            self.teacher.follow(self)
        adversary, jitter = self._config.adversary, self._config.jitter
        sides, features, look = self._sides_to_move(pairs) if adversary.on else (*self.sides_of(pairs), None)
        if jitter.on:
            sides = jittered(sides, jitter)
        if not adversary.on:
            return self._loss(pairs, sides, features)
        clean = self._loss(pairs, sides, features) if adversary.weight < 1 else 0.0
        with buffers_kept(self, LEFT_OUT):
            moved = adversarial(sides, partial(self._loss, pairs, features=features), adversary, look)
        return adversary.weight * self._loss(pairs, moved, features) + (1 - adversary.weight) * clean

    def _sides_to_move(
        self, pairs: Sequence[KeypointPair]
    ) -> tuple[list[tuple[Side, Side]], dict[str, Features], Look | None]:
        """As `sides_of`, and what keypoints look like elsewhere, unless the backbone is frozen."""
        if self.backbone.frozen:
            return *self.sides_of(pairs), None
        sides = [(Side.make(pair.source, pair.kept1), Side.make(pair.target, pair.kept2)) for pair in pairs]
        images = list({side.image.image_id: side.image for both in sides for side in both}.values())
        maps, pooled = compute_maps(self.backbone, images)
        seen = zip(features_in_maps(maps, images, self.unit), pooled, strict=True)
        return sides, dict(zip((image.image_id for image in images), seen, strict=True)), Look(maps, images, self.unit)

    def _loss(
        self, pairs: Sequence[KeypointPair], sides: Sequence[tuple[Side, Side]], features: Mapping[str, Features]
    ) -> Tensor:
        """The loss of pairs with these sides; see `forward_passes`."""
        settings = self._settings
        passes = list(self.forward_passes(sides, features))
        costs = [instance for part in passes for instance in part.instances()]
        truth, unary = true_matches(pairs, costs[0].unary), [cost.unary for cost in costs]
        if settings.centre:
            costs = [centred(cost) for cost in costs]
        if settings.normalise:
            costs = [normalised(cost) for cost in costs]
        raised = [
            replace(cost, unary=self._margin(cost.unary, true, settings.margin))
            for cost, true in zip(costs, truth, strict=True)
        ]
        self._moved = NonzeroGradients(raised)
        with torch.set_grad_enabled(torch.is_grad_enabled() and settings.weight > 0):
            loss, self.batch_accuracy = self._loss_of_layer(raised, truth, settings, self.layer)
        loss = settings.weight * loss + self._batch_loss(pairs, passes, sides, features)
        if self.count_head is not None:
            loss = loss + self.count_head.loss(unary, truth)
        return cast(Tensor, loss)

    def forward(
        self, pairs: Sequence[KeypointPair], sides: Sequence[tuple[Side, Side]], features: Mapping[str, Features]
    ) -> Batch:
        """What the losses of a whole batch look at, for a network that has such losses; see `forward_passes`."""
        if self.contrast is None:
            raise ValueError("the network has no loss of a whole batch: set contrast.terms")
        return self.contrast.batch(pairs, list(self.forward_passes(sides, features)), self.vertex_affinity)

    def _batch_loss(
        self,
        pairs: Sequence[KeypointPair],
        passes: Sequence[ForwardPass],
        sides: Sequence[tuple[Side, Side]],
        features: Mapping[str, Features],
    ) -> Tensor | float:
        """The sum of `contrast.terms`, with the opinion of the teacher, if there is one."""
        if self.contrast is None:
            return 0.0
        batch = self.contrast.batch(pairs, passes, self.vertex_affinity)
        if self.teacher is not None:
            with torch.no_grad():
                seen = functional_call(self, self.teacher.state(self), (pairs, sides, features))
            batch = batch.taught_by(seen, self.teacher.alpha)
        return cast(Tensor, self.contrast(batch))

    @property
    def batch_numbers(self) -> dict[str, float]:
        """See `Matcher.batch_numbers`: ``nonzero``, the share of pairs whose costs got a gradient other than zero."""
        return {"nonzero": self._moved.share}

    def predict(self, pairs: Sequence[KeypointPair]) -> list[np.ndarray]:
        """See `Matcher.predict`. Put the network into evaluation mode before."""
        return [assignment for part in self._instances(pairs) for assignment in self.solver(part)]

    def instances(self, pairs: Sequence[KeypointPair]) -> list[Instance]:
        """See `Matcher.instances`. Put the network into evaluation mode before."""
        return [instance for part in self._instances(pairs) for instance in part]

    def evidence(self, pairs: Sequence[KeypointPair]) -> list[Evidence]:
        """See `Matcher.evidence`: the similarities of keypoints; those of edges are not shown."""
        return [Evidence(-instance.unary) for instance in self.instances(pairs)]

    def set_solvers(self) -> tuple[TimedSolver, TimedJointSolver]:
        """See `Matcher.set_solvers`."""
        # Effort beyond "fast" goes into the bound, which nobody reads here.
        return make_solver(self._settings.method), make_joint_solver(self._settings.multi, effort="fast")

    def forward_passes(
        self, sides: Sequence[tuple[Side, Side]], features: Mapping[str, Features]
    ) -> Iterator[ForwardPass]:
        """From visual features to costs, for some hundred pairs at a time.

        Args:
            sides: of each pair, source and target.
            features: visual features by the image's id; see `VisualMatcher.sides_of`.
        """
        if not sides:
            return
        refined = self.node_rows(sides, features, self._refine, next(self.vertex_affinity.parameters()))
        for start in range(0, len(sides), PAIRS):
            chunk = sides[start : start + PAIRS]
            (x, g1, graphs1), (y, g2, graphs2) = (
                (
                    refined.gather(part),
                    torch.stack([features[side.image.image_id][1] for side in part]).to(refined.rows),
                    refined.shuffled(part),
                )
                for part in zip(*chunk, strict=True)
            )
            if self.transformer is not None:
                x, y = self.transformer((x, y), (g1, g2), (graphs1, graphs2))
            g = global_features(g1, g2)
            unary = -self.vertex_affinity(x, y, g)
            if self.unmatched_costs is not None:
                unary = self.unmatched_costs.subtract(unary, x, y, g)
            if self.edge_affinity is None:
                graphs1, graphs2 = (
                    [Graph(one.xy, one.edge_index[:, :0]) for one in part] for part in (graphs1, graphs2)
                )
                quadratic = unary.new_zeros(len(chunk), 0, 0)
            else:
                incidence = (incidence_matrices(part).to(x) for part in (graphs1, graphs2))
                # Half, because each undirected edge is there in both directions and is paid twice.
                quadratic = -0.5 * self.edge_affinity(x, y, g, *incidence)
            yield ForwardPass((graphs1, graphs2), (x, y), g, unary, quadratic)

    @torch.no_grad()
    def _instances(self, pairs: Sequence[KeypointPair]) -> Iterator[list[Instance]]:
        """The instances of some hundred pairs at a time, without gradients; all their costs go to the CPU together."""
        for part in self._passes_at_test(pairs):
            on_cpu = replace(part, unary=part.unary.cpu(), quadratic=part.quadratic.cpu())
            instances = [instance.numpy() for instance in on_cpu.instances()]
            if self.count_head is not None:
                # The shifted costs, so that sets of images get them too.
                counts = self.count_head.counts([instance.unary for instance in part.instances()])
                instances = shift_to_counts(instances, counts, self.solver).instances
            yield instances

    def _passes_at_test(self, pairs: Sequence[KeypointPair]) -> Iterator[ForwardPass]:
        """As `forward_passes`; with ``network.mirrored`` the vertex costs are a mean of two."""
        passes = self.forward_passes(*self.sides_of(pairs))
        if not self._config.network.mirrored:
            return passes
        images = {image.image_id: image for pair in pairs for image in (pair.source, pair.target)}
        seen = {name: mirror_image(image) for name, image in images.items()}
        reverse = [replace(p, source=seen[p.source.image_id], target=seen[p.target.image_id]) for p in pairs]
        others = self.forward_passes(*self.sides_of(reverse))
        return (replace(part, unary=(part.unary + other.unary) / 2) for part, other in zip(passes, others, strict=True))

    def _refine(self, x: Tensor, graphs: Sequence[Graph]) -> Tensor:
        if self.positions is not None and self._positions_first:
            x = x + self.positions(graphs, x)
        if self.refinement is not None:
            x = self.refinement(x, graphs)
        if self.positions is not None and not self._positions_first:
            x = x + self.positions(graphs, x)
        return x if self.projection is None else self.projection(x)


def _gradient_options(settings: SolverConfig) -> GradientOptions:
    """What the settings tell the estimator of the gradient."""
    noise = settings.noise
    return GradientOptions(settings.lambda_, settings.rho, noise.samples, noise.sigma, noise.sigma_edges)
