"""HARG-SSVM (VGG): one model graph for each class, learned as a structured support vector machine.

A model graph is complete, with a node for each of the class's K keypoint names. An image with n keypoints is matched
with it by an injective y from keypoints to nodes, the one with the largest score

    S(x, y) = sum_i w_{y(i)} . phi_i + sum_{i != j} w_{y(i) y(j)} . psi_ij = w . Phi(x, y),

where phi_i (C,) are the features of keypoint i and psi_ij (27,) are those of the edge i -> j
(`bbgm.methods.harg.attributes`). That is a graph matching problem with the costs -w . phi (n, K) and -w . psi
(n (n - 1), K (K - 1)), in which all keypoints are matched (`full`). The weights w, (K, C) and (K (K - 1), 27), start as
the prototype graph, the means of the training images' attributes, or from 0 (`start`), and minimise, by the run's
optimiser,

    1/2 |w|^2 / C + mean over images of max_y (Delta(y) + w . Phi(x, y)) - w . Phi(x, y*),

with Delta the share of the keypoints that are matched wrongly. The maximum is again a graph matching problem, with
1/n less at each wrong match; its y is a constant for the gradient.

A pair of images is matched through the model graph of its class: keypoint i of the source goes with keypoint j of the
target if both are matched with the same node. So both have to be right, and the accuracy of pairs is lower than that of
images (`HargSSVM.match_images`). Names of keypoints are read in training alone. Without a keypoint filter it works too:
a keypoint whose node nothing in the other image is matched with has no partner.

Source: Cho, Alahari, Ponce, "Learning Graphs to Match", ICCV 2013. It differs from theirs:

1. Keypoints have VGG features, as in BB-GM, in place of SIFT, or principal components of them (`components`).
2. The candidates of an image are its annotated keypoints, without further detections. The printed row HARG-SSVM has
   another choice of them and is not comparable.
3. Inference is exact wherever our solver proves its matching, which on Willow is everywhere. Theirs is approximate.
4. The objective is minimised by subgradients of batches, not by cutting planes over all images. Where the solver does
   not reach the score of y*, the hinge counts as 0.
5. Images need not have all keypoints of their class (Pascal VOC): the means and the scores are of those they have.
6. They match a model graph with an image; pairs of images are this project's, to compare with the other methods.
   The class of a pair is known, as in all rows of the tables, but no other method has weights of its own for it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bbgm.base.reading.untrusted import parse_json
from bbgm.data.images.keypoints import Dataset, KeypointImage
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.graphs.delaunay import complete_edges
from bbgm.matching.instance import Instance
from bbgm.matching.solvers import make_solver
from bbgm.methods.base import GRAPHS, Evidence, VisualMatcher, seeded
from bbgm.methods.batching import Side
from bbgm.methods.harg.attributes import (
    BINS,
    edge_attributes,
    length_range,
    log_lengths,
    principal_axes,
)
from bbgm.methods.harg.graphs import ImageGraph, Place
from bbgm.methods.harg.settings import HargRun
from bbgm.scoring.metrics import batch_accuracy


def _sides(pair: KeypointPair) -> tuple[Side, Side]:
    return Side.make(pair.source, pair.kept1), Side.make(pair.target, pair.kept2)


class HargSSVM(VisualMatcher):
    """The complete method. Its model graphs exist after `prepare` or `load_state_dict`.

    Args:
        config: of the run.

    Attributes:
        nodes: (sum of K, C), w of the nodes of all classes, one class after another.
        edges: (sum of K (K - 1), 27), w of the edges, in the order of `complete_edges`.
        ranges: (classes, 2) float64, the range of the bins of lengths, from the training images.
        centre, axes: (F,) and (F, components) float64: phi = (f - centre) axes for the features f (F,); without
            components they are empty and phi = f.
        labels: the names of the classes and of their nodes as JSON, uint8.
    """

    nodes: nn.Parameter
    edges: nn.Parameter
    ranges: Tensor
    centre: Tensor
    axes: Tensor
    labels: Tensor

    def __init__(self, config: HargRun) -> None:
        with seeded(config.seed):
            super().__init__(config.network)
        self.settings = config.harg
        self.solver = make_solver("best", full=True)
        self.places: dict[str, Place] = {}

    @property
    def solver_seconds(self) -> float:
        """Time spent in the solver so far, s."""
        return self.solver.seconds

    def prepare(self, dataset: Dataset) -> None:
        """Make the model graphs of the classes of a data set: see `Matcher.prepare`."""
        self._lay_out(
            {cls: sorted({name for x in images for name in x.names}) for cls, images in dataset.train.items()}
        )
        if self.settings.components:
            self._fit_components([image for images in dataset.train.values() for image in images])
        for cls, images in dataset.train.items():
            low, high = length_range(np.concatenate([log_lengths(image.xy) for image in images]))
            self.ranges[self.places[cls].number] = torch.tensor([low, high], dtype=torch.float64)
            if self.settings.start == "prototype":
                self._average(cls, images)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """As in `nn.Module`; the model graphs become those of the stored classes.

        Raises:
            RuntimeError: it is not the state of this method.
        """
        if "labels" not in state_dict:
            raise RuntimeError("there are no labels of model graphs in it")
        names = parse_json(bytes(state_dict["labels"].tolist()))
        if names != {cls: list(place.names) for cls, place in self.places.items()}:
            self._lay_out(names)
        return super().load_state_dict(state_dict, strict, assign)

    def parameter_groups(self, lr: float, backbone_factor: float) -> list[dict[str, Any]]:
        """See `Matcher.parameter_groups`.

        Raises:
            ValueError: there are no model graphs yet.
        """
        if not self.places:
            raise ValueError("there are no model graphs to train: call prepare(dataset) first")
        return super().parameter_groups(lr, backbone_factor)

    def loss(self, pairs: Sequence[KeypointPair]) -> Tensor:
        """The objective on the images of the batch, each with its kept keypoints; see `Matcher.loss`.

        The regulariser is that of the mean over the classes of their objectives.
        """
        graphs = [self._graph(side, f) for side, f in self._distinct(pairs)]
        instances, truth = self._instances(graphs), [graph.true_nodes() for graph in graphs]
        solutions = [x.solution(nodes) for x, nodes in zip(instances, truth, strict=True)]
        found = self.solver(
            [
                replace(x, unary=x.unary - (1 - true) / len(true))
                for x, (true, _) in zip(instances, solutions, strict=True)
            ]
        )
        # The mean over the images of Phi(x, y) - Phi(x, y*), and of Delta.
        nodes, edges, delta = np.zeros(self.nodes.shape), np.zeros(self.edges.shape), 0.0
        matches = [x.solution(y) for x, y in zip(instances, found, strict=True)]
        for graph, x, y, y_true, match, true in zip(graphs, instances, found, truth, matches, solutions, strict=True):
            wrong = float(np.mean(y != y_true))
            if wrong + x.cost(true) - x.cost(match) <= 0:
                continue
            delta += wrong / len(graphs)
            for sign, own in ((1, y), (-1, y_true)):
                graph.add_features(own, sign / len(graphs), nodes, edges)
        self.batch_accuracy = batch_accuracy(*([torch.from_numpy(v) > 0 for v, _ in z] for z in (matches, solutions)))
        hinge = sum(
            (weights * torch.from_numpy(difference).to(weights)).sum()
            for weights, difference in ((self.nodes, nodes), (self.edges, edges))
        )
        squares = self.nodes.square().sum() + self.edges.square().sum()
        return squares / (2 * self.settings.c * len(self.places)) + hinge + delta

    def predict(self, pairs: Sequence[KeypointPair]) -> list[np.ndarray]:
        """See `Matcher.predict`: keypoints that are matched with the same node of the model graph.

        Raises:
            ValueError: a pair of a class that has no model graph.
        """
        sides = self._distinct(pairs)
        found = {side.key: y for (side, _), y in zip(sides, self._match(sides), strict=True)}
        assignments = []
        for pair in pairs:
            source, target = (found[side.key][side.rank] for side in _sides(pair))
            same = (source[:, None] == target) & (source >= 0)[:, None]
            assignments.append(np.where(same.any(axis=1), same.argmax(axis=1), -1).astype(np.int32))
        return assignments

    def evidence(self, pairs: Sequence[KeypointPair]) -> list[Evidence]:
        """See `Matcher.evidence`: for each match the score of the node that suits both best, without edges."""
        sides = self._distinct(pairs)
        instances = self._instances([self._graph(*one) for one in sides])
        of_side = {side.key: -instance.unary for (side, _), instance in zip(sides, instances, strict=True)}
        scores = [tuple(of_side[side.key][side.rank] for side in _sides(pair)) for pair in pairs]
        return [Evidence((one[:, None] + two[None]).max(axis=2)) for one, two in scores]

    def match_images(self, images: Sequence[KeypointImage]) -> list[np.ndarray]:
        """For each image the node of its class's model graph that each keypoint is matched with, (n,) int32, or -1."""
        sides = [Side.make(image, np.arange(len(image.xy))) for image in images]
        features = [f for f, _ in self.visual_features(list(images))]
        return self._match(list(zip(sides, features, strict=True)))

    def image_accuracy(self, images: Sequence[KeypointImage]) -> float:
        """Share of the keypoints of some images that are matched with the node of their name, in [0, 1]."""
        right = [
            node >= 0 and self._place(image.cls).names[node] == name
            for image, y in zip(images, self.match_images(images), strict=True)
            for node, name in zip(y, image.names, strict=True)
        ]
        return float(np.mean(right))

    def _match(self, sides: Sequence[tuple[Side, Tensor]]) -> list[np.ndarray]:
        return [
            y
            for start in range(0, len(sides), GRAPHS)
            for y in self.solver(self._instances([self._graph(*one) for one in sides[start : start + GRAPHS]]))
        ]

    def _instances(self, graphs: Sequence[ImageGraph]) -> list[Instance]:
        """The problem of matching each image with its model graph: n keypoints, K nodes."""
        w_nodes, w_edges = (weights.detach().cpu().double().numpy() for weights in (self.nodes, self.edges))
        with np.errstate(invalid="ignore"):  # weights that diverged: the solver refuses the costs
            return [
                Instance(
                    unary=-graph.phi @ w_nodes[graph.place.nodes].T,
                    edges1=complete_edges(len(graph.phi)),
                    edges2=complete_edges(len(graph.place.names)),
                    quadratic=-graph.psi @ w_edges[graph.place.edges].T,
                )
                for graph in graphs
            ]

    def _distinct(self, pairs: Sequence[KeypointPair]) -> list[tuple[Side, Tensor]]:
        """Each image of some pairs with its kept keypoints, once, and the features of all its keypoints."""
        sides, features = self.sides_of(pairs)
        distinct = {side.key: side for both in sides for side in both}
        return [(side, features[side.image.image_id][0]) for side in distinct.values()]

    def _graph(self, side: Side, features: Tensor) -> ImageGraph:
        place = self._place(side.image.cls)
        low, high = self.ranges[place.number].tolist()
        phi = features.cpu().numpy()[side.kept].astype(np.float64)
        if len(self.centre):
            phi = (phi - self.centre.cpu().numpy()) @ self.axes.cpu().numpy()
        names = tuple(side.image.names[k] for k in side.kept)
        return ImageGraph(place, names, phi, edge_attributes(side.image.xy[side.kept], low, high))

    def _place(self, cls: str) -> Place:
        if cls not in self.places:
            raise ValueError(
                f"there is no model graph of class {cls!r}: there are those of the training images, {list(self.places)}"
            )
        return self.places[cls]

    def _lay_out(self, names: Mapping[str, Sequence[str]]) -> None:
        """Weights of 0 for these classes and the names of their nodes."""
        self.places, nodes, edges = {}, 0, 0
        for number, (cls, own) in enumerate(names.items()):
            k = len(own)
            ends = nodes + k, edges + k * (k - 1)
            self.places[cls] = Place(number, tuple(own), slice(nodes, ends[0]), slice(edges, ends[1]))
            nodes, edges = ends
        device = next(self.backbone.parameters()).device
        total, kept = self.backbone.node_channels, self.settings.components
        self.nodes = nn.Parameter(torch.zeros(nodes, kept or total, device=device))
        self.edges = nn.Parameter(torch.zeros(edges, BINS, device=device))
        text = json.dumps({cls: place.names for cls, place in self.places.items()}).encode()
        buffers = {
            "ranges": torch.zeros(len(self.places), 2, dtype=torch.float64),
            "centre": torch.zeros(total if kept else 0, dtype=torch.float64),
            "axes": torch.zeros(total if kept else 0, kept, dtype=torch.float64),
            "labels": torch.tensor(list(text), dtype=torch.uint8),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value.to(device))

    @torch.no_grad()
    def _fit_components(self, images: Sequence[KeypointImage]) -> None:
        rows = torch.cat([f for f, _ in self.visual_features(list(images))]).cpu().double().numpy()
        centre, axes = principal_axes(rows, self.settings.components)
        self.centre.copy_(torch.from_numpy(centre))
        self.axes.copy_(torch.from_numpy(axes))

    @torch.no_grad()
    def _average(self, cls: str, images: Sequence[KeypointImage]) -> None:
        """Set the weights of a class to the prototype graph; pairs of names that no image has keep weights of 0."""
        nodes, edges = np.zeros(self.nodes.shape), np.zeros(self.edges.shape)
        seen_nodes, seen_edges = np.zeros((len(nodes), 1)), np.zeros((len(edges), 1))
        for image, (f, _) in zip(images, self.visual_features(list(images)), strict=True):
            graph = self._graph(Side.make(image, np.arange(len(image.xy))), f)
            y = graph.true_nodes()
            graph.add_features(y, 1.0, nodes, edges)
            ones = replace(graph, phi=np.ones((len(graph.phi), 1)), psi=np.ones((len(graph.psi), 1)))
            ones.add_features(y, 1.0, seen_nodes, seen_edges)
        self.nodes.add_(torch.from_numpy(nodes / seen_nodes.clip(min=1)).to(self.nodes))
        self.edges.add_(torch.from_numpy(edges / seen_edges.clip(min=1)).to(self.edges))
