"""Neural Graph Matching Network (Wang, Yan and Yang, TPAMI 2021, arXiv 1911.11308): learned vertex classification of
the association graph.

The vertices of the association graph are the n1 n2 matches (i, a), with the affinities M_p (n1, n2) as inputs; its
edges are the pairs of matches that form a pair of edges, weighted by K (`bbgm.methods.soft.association`). Three layers
embed the vertices in 16 channels:

    m = (A * K) f_m(v) + f_v(v)            A: 1 / number of neighbours for each neighbour, * entry by entry
    v <- [m ; Sinkhorn(w^T m)]             16 + 1 channels: the Sinkhorn embedding
    S = Sinkhorn(w^T v)                    after the last layer, (n1, n2)

f_m and f_v are Linear - ReLU - Linear - ReLU. Sinkhorn has the temperature 0.05. The loss is the permutation loss.

*NGM with edge embedding* (``edge_embedding``) also embeds the edges of the association graph, in W, of first one
channel (K), then 16. In each layer, for the edge from the match (i, a) to its neighbour (j, b),

    W <- MLP([W ; v_jb]),   m_c = (A * W_c) f_m(v)_c + f_v(v)_c   for each channel c.

The paper's tables have a row "NGM+" of an early version of the NGM paper. Its text is not available to us, and the
published version has no NGM+. Edge embeddings are part of the public code, where no configuration uses them: the
likeliest meaning of the name, but not certain. So our row has a name of its own.

Differs from the paper:

1. The association matrix is never formed: a layer costs products of (n1, n1) and (n2, n2) with (n1, n2) matrices. With
   edge embedding only the E1 E2 pairs of edges are kept.
2. Neighbours are the pairs of edges that exist; the public code takes those of positive affinity. They are the same
   unless two features have no channel in common.
3. Graphs of different sizes: slacks for the larger one (`bbgm.methods.soft.sinkhorn`). The text pads with 1e-3, the
   public code with rows whose scores are -100.
4. A backbone whose two maps differ in width is halved by its channels: the second half compares edges.
"""

import torch
from torch import Tensor, nn

from bbgm.methods.base import seeded
from bbgm.methods.ngm.settings import NGMRun
from bbgm.methods.soft.association import Association, AssociationLayer, on_sources, on_targets
from bbgm.methods.soft.batch import PairBatch
from bbgm.methods.soft.matcher import SoftMatcher

EDGE_PAIRS = 16
"""How many pairs are matched at once at test if pairs of edges are embedded, which takes some 10 MB for each."""


def mlp(channels: int, width: int) -> nn.Sequential:
    """Two linear layers, each with ReLU."""
    return nn.Sequential(nn.Linear(channels, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())


class NGMLayer(nn.Module):
    """One layer, without the Sinkhorn embedding.

    Args:
        channels: of the matches.
        width: of the output.
        edge_channels: of the pairs of edges, which are embedded, too; None: they are not, and weigh K.
    """

    def __init__(self, channels: int, width: int, edge_channels: int | None = None) -> None:
        super().__init__()
        self.message, self.own = mlp(channels, width), mlp(channels, width)
        self.edge = None if edge_channels is None else mlp(edge_channels + channels, width)

    def forward(self, association: Association, v: Tensor, edges: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """m, (P, n1, n2, width), and the new embeddings of pairs of edges.

        Args:
            v: (P, n1, n2, channels).
            edges: (P, E1, E2, edge channels), or None.
        """
        message = self.message(v)
        if self.edge is None or edges is None:
            total = association.edge_product(message)
        else:
            (starts1, ends1), (starts2, ends2) = association.incidence1, association.incidence2
            beyond = on_targets(ends2, on_sources(ends1, torch.cat([v, message], dim=3)))  # at the neighbours
            edges = self.edge(torch.cat([edges, beyond[..., : v.shape[3]]], dim=3))
            total = on_sources(starts1.mT, on_targets(starts2.mT, edges * beyond[..., v.shape[3] :]))
        return total / association.neighbours().clamp(min=1)[..., None] + self.own(v), edges


class NGM(SoftMatcher):
    """The complete method.

    Args:
        config: of the run; `seed` decides the initial parameters, torch's global generator is left as it was.
    """

    def __init__(self, config: NGMRun) -> None:
        width, count = config.ngm.channels, config.ngm.layers
        channels = [1] + [width + 1] * (count - 1)
        edge_channels = [1] + [width] * (count - 1) if config.ngm.edge_embedding else [None] * count
        with seeded(config.seed):
            super().__init__(config)
            self.association = AssociationLayer(self.backbone.node_channels)
            self.layers = nn.ModuleList(
                NGMLayer(mine, width, edges) for mine, edges in zip(channels, edge_channels, strict=True)
            )
            self.classify = nn.ModuleList(nn.Linear(width, 1) for _ in range(count))
            self.last = nn.Linear(width + 1, 1)
        self.edge_embedding = config.ngm.edge_embedding
        if self.edge_embedding:
            self.at_once = EDGE_PAIRS

    def scores(self, batch: PairBatch) -> Tensor:
        """See `SoftMatcher.scores`."""
        association: Association = self.association(batch)
        v = association.vertices[..., None]
        edges = association.edges()[..., None] if self.edge_embedding else None
        for layer, classify in zip(self.layers, self.classify, strict=True):
            m, edges = layer(association, v, edges)
            v = torch.cat([m, self.soft_matches(batch, classify(m).squeeze(3))[..., None]], dim=3)
        scores: Tensor = self.last(v).squeeze(3)
        return scores
