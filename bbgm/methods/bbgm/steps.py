"""One pair's way through the network, kept step by step: all that lies between two pictures and their costs (Sec. 3.5).

The steps are those of `BBGM.costs`, which runs the same code and keeps the costs alone.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from bbgm.base.reproducible import reproducible
from bbgm.data.images.keypoints import FRAME
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.features.cache import compute_maps, features_in_maps
from bbgm.graphs.delaunay import Graph, pseudo_coordinates
from bbgm.matching.instance import Instance
from bbgm.methods.batching import Side
from bbgm.methods.bbgm.network import BBGM

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ImageSteps:
    """What is computed of one image, with its n kept keypoints in the pair's order.

    Attributes:
        maps: relu4_2 and relu5_1, (C1, h1, w1) and (C2, h2, w2).
        pooled: the image's global vector, (Cg,).
        visual: features at the keypoints, (n, C), C = C1 + C2.
        graph: Delaunay graph with E directed edges.
        pseudo: relative coordinates of its edges, (E, 2) in [0, 1].
        refined: the features after SplineCNN, (n, C).
    """

    maps: list[Tensor]
    pooled: Tensor
    visual: Tensor
    graph: Graph
    pseudo: np.ndarray
    refined: Tensor


@dataclass(frozen=True, eq=False)
class PairSteps:
    """What is computed of a pair.

    Attributes:
        pair: the pair. source, target: of its images.
        g: both global vectors, joined and normalised, (2 Cg,).
        a_vertex, a_edge: the coefficients of the two affinities, (C,).
        costs: the instance.
    """

    pair: KeypointPair
    source: ImageSteps
    target: ImageSteps
    g: Tensor
    a_vertex: Tensor
    a_edge: Tensor
    costs: Instance[Tensor]

    def shapes(self) -> "pd.DataFrame":
        """One row per step, in the order of computation: the paper's letter and the size (of the source)."""
        import pandas as pd

        one = self.source
        rows = [
            ("image", "", (FRAME, FRAME, 3)),
            ("map relu4_2", "", one.maps[0].shape),
            ("map relu5_1", "", one.maps[1].shape),
            ("visual features at n keypoints", "", one.visual.shape),
            ("graph: E directed edges", "", one.graph.edges.shape),
            ("relative coordinates of the edges", "", one.pseudo.shape),
            ("features after SplineCNN", "fᵛ", one.refined.shape),
            ("global vector of an image", "", one.pooled.shape),
            ("both global vectors", "g", self.g.shape),
            ("coefficients, of vertices and of edges", "a", self.a_vertex.shape),
            ("vertex costs, n1 x n2", "cᵛ", self.costs.unary.shape),
            ("edge costs, E1 x E2", "cᵉ", self.costs.quadratic.shape),
        ]
        sizes = [" x ".join(map(str, shape)) for _, _, shape in rows]
        frame = pd.DataFrame({"step": [row[0] for row in rows], "letter": [row[1] for row in rows], "size": sizes})
        return frame.set_index("step")


@torch.no_grad()
def follow_pair(network: BBGM, pair: KeypointPair) -> PairSteps:
    """Compute a pair's costs as ``network.costs([pair])`` does, and keep every step.

    One thread computes them, and nothing is read from the cache of features: float sums depend on the number of
    threads, and a figure should not.

    Raises:
        ValueError: the network is in training mode, where batch norm depends on the other images of a batch; or it is
            an ablation that leaves steps out.
    """
    if network.training:
        raise ValueError("the network is in training mode: call network.eval() first")
    if network.refinement is None or network.edge_affinity is None:
        raise ValueError("the network has no SplineCNN or no edge costs: follow a pair through the whole BB-GM")
    sides = Side.make(pair.source, pair.kept1), Side.make(pair.target, pair.kept2)
    with reproducible(threads=1):
        maps, features = {}, {}
        for side in sides:
            image = side.image
            both, pooled = compute_maps(network.backbone, [image])
            maps[image.image_id] = [one[0] for one in both]
            features[image.image_id] = features_in_maps(both, [image])[0], pooled[0]
        (computed,) = network.forward_passes([sides], features)
        a_vertex, a_edge = (one.coefficients(computed.g)[0] for one in (network.vertex_affinity, network.edge_affinity))
    source, target = (
        ImageSteps(
            maps=maps[side.image.image_id],
            pooled=features[side.image.image_id][1],
            visual=features[side.image.image_id][0][torch.from_numpy(side.kept[side.rank])],
            graph=graphs[0],
            pseudo=pseudo_coordinates(graphs[0], FRAME),
            refined=refined[0],
        )
        for side, graphs, refined in zip(sides, computed.graphs, computed.refined, strict=True)
    )
    return PairSteps(pair, source, target, computed.g[0], a_vertex, a_edge, computed.instances()[0])
