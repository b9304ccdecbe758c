"""What the network makes of a batch: features after the refinement, costs, and the instances that the solver gets."""

from dataclasses import dataclass

from torch import Tensor

from bbgm.graphs.delaunay import Graph
from bbgm.matching.instance import Instance


@dataclass(frozen=True, eq=False)
class ForwardPass:
    """What the network computes of P pairs, padded with zeros to the largest of them.

    Attributes:
        graphs: of the sources and of the targets, P each, in the order of the pairs' kept keypoints. Without quadratic
            costs they have no edges.
        refined: features of the sources' and of the targets' keypoints, (P, n1, C) and (P, n2, C).
        g: both global vectors of each pair, joined and normalised, (P, 2 Cg).
        unary: c^v, (P, n1, n2).
        quadratic: c^e, (P, E1, E2).
    """

    graphs: tuple[list[Graph], list[Graph]]
    refined: tuple[Tensor, Tensor]
    g: Tensor
    unary: Tensor
    quadratic: Tensor

    def instances(self) -> list[Instance[Tensor]]:
        """The combinatorial instance of each pair."""
        result = []
        for unary, quadratic, one, two in zip(self.unary, self.quadratic, *self.graphs, strict=True):
            edges1, edges2 = one.edges, two.edges
            result.append(
                Instance(
                    unary=unary[: len(one.xy), : len(two.xy)],
                    edges1=edges1,
                    edges2=edges2,
                    quadratic=quadratic[: len(edges1), : len(edges2)],
                )
            )
        return result
