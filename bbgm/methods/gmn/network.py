"""Graph Matching Network: spectral matching as a layer.

GMN is of Zanfir and Sminchisescu ("Deep Learning of Graph Matching", CVPR 2018). GMN-PL is the same with the
permutation loss (Wang, Yan and Yang, "Learning Combinatorial Embedding Networks for Deep Graph Matching", ICCV 2019,
Sec. 5.1). With K, the affinities of all pairs of matches (`bbgm.methods.soft.association`),

    v <- K v / ||K v||_2,  from ones, 25 times       towards the leading eigenvector: (n1 n2), seen as (n1, n2)
    S = Sinkhorn(exp(v / tau)),  tau = 1 / 200       soft assignment (n1, n2)

The loss compares S with the truth (`bbgm.methods.soft.losses`: ``offset`` or ``permutation``). Gradients pass through
all iterations. Only L_1 and L_2, 512 x 512 each, and the backbone are trained. At test a linear assignment of S; or,
with ``rounding: solver``, the matching that maximises v^T K v, whose relaxation v is.

Differs from the papers:

1. S is the normalised exponential, which the losses take as it is: the order of the ICCV paper's code. CVPR 2018
   normalises v first, and then lets a softmax of 200 S vote.
2. All 25 iterations are done. (Later public code stops when the whole batch has converged, so that a pair depends on
   its company.)
3. Graphs of different sizes: slacks for the larger one, as everywhere here (`bbgm.methods.soft.sinkhorn`).
4. K is never formed, not even its entries of pairs of edges; results are equal.
5. A backbone whose two maps differ in width is halved by its channels: the second half compares edges.
"""

import torch
from torch import Tensor

from bbgm.matching.instance import Instance
from bbgm.methods.base import seeded
from bbgm.methods.gmn.settings import GMNConfig, GMNRun
from bbgm.methods.soft.association import Association, AssociationLayer
from bbgm.methods.soft.batch import PairBatch
from bbgm.methods.soft.matcher import SoftMatcher

TINY = 1e-12  # added to the norm: no edges and features that have nothing in common give K = 0


class GMN(SoftMatcher):
    """The complete method.

    Args:
        config: of the run; `seed` decides the initial parameters, torch's global generator is left as it was.
    """

    settings: GMNConfig

    def __init__(self, config: GMNRun) -> None:
        with seeded(config.seed):
            super().__init__(config)
            self.association = AssociationLayer(self.backbone.node_channels)

    def scores(self, batch: PairBatch) -> Tensor:
        """The eigenvector, (P, n1, n2); see `SoftMatcher.scores`."""
        real = batch.source.real[:, :, None] & batch.target.real[:, None]
        v = leading_vector(self.association(batch), real, self.settings.power_iterations)
        return v * real.to(v).sum(dim=(1, 2), keepdim=True).sqrt() if self.settings.rescale else v

    def costs(self, batch: PairBatch) -> list[Instance[Tensor]]:
        """-K of each pair: unary costs -M_p, and -M_e for each pair of directed edges."""
        association = self.association(batch)
        edges, vertices = association.edges(), batch.cut(association.vertices)
        return [
            Instance(
                unary=-unary, edges1=one.edges, edges2=two.edges, quadratic=-table[: len(one.edges), : len(two.edges)]
            )
            for unary, table, one, two in zip(vertices, edges, batch.source.graphs, batch.target.graphs, strict=True)
        ]


def leading_vector(association: Association, real: Tensor, iterations: int) -> Tensor:
    """v after some power iterations, of length 1 and not negative: (P, n1, n2), 0 for padding.

    Args:
        real: (P, n1, n2) bool, False for padding.
    """
    v = real.to(association.vertices)
    for _ in range(iterations):
        v = association.vertices * v + association.edge_product(v)
        v = v / (torch.linalg.vector_norm(v, dim=(1, 2), keepdim=True) + TINY)
    return v
