"""What matching two pictures gives: the matches, what each costs, and how good the matching is proved to be."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.graphs.delaunay import Graph
from bbgm.matching.instance import Instance
from bbgm.photos.picture import Picture
from bbgm.photos.points import Points

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Match:
    """A matching of the keypoints of two pictures. Keypoints have the order in which they were given.

    Attributes:
        pictures: both, with the boxes that the network saw.
        points: the keypoints of each, px of the picture.
        assignment: (n1,) int64, for each keypoint of the first picture its partner in the second, or -1.
        instance: the problem that was solved: unary (n1, n2) and quadratic costs (E1, E2), and the edges.
        objective: cost of the matching.
        lower_bound: no matching that is allowed costs less.
        optimal: the bound meets the objective: the matching is proved to be the cheapest.
        partial: whether keypoints of the smaller set could stay unmatched.
        model: name of the model that gave the costs.
    """

    pictures: tuple[Picture, Picture]
    points: tuple[Points, Points]
    assignment: np.ndarray
    instance: Instance
    objective: float
    lower_bound: float
    optimal: bool
    partial: bool
    model: str

    @property
    def pairs(self) -> np.ndarray:
        """(m, 2) int64: the matches, as indices of the first and of the second picture's keypoints."""
        matched = np.flatnonzero(self.assignment >= 0)
        return np.stack([matched, self.assignment[matched]], axis=1)

    @property
    def names(self) -> list[tuple[str, str]]:
        """The same by name; keypoints without a name are called by their index."""
        one, two = self.points
        return [(one.name(i), two.name(j)) for i, j in self.pairs.tolist()]

    @property
    def unary_costs(self) -> np.ndarray:
        """(m,): what the keypoints of each match cost; negative: they look alike."""
        return np.asarray(self.instance.unary[tuple(self.pairs.T)])

    @property
    def edge_costs(self) -> np.ndarray:
        """(m,): what the edges at each match cost. An edge counts half at either end: the sum over all matches is the
        edges' part of the objective."""
        e = self.instance.solution(self.assignment)[1]
        paid = (self.instance.quadratic * e).sum(axis=1)
        at_node = np.zeros(len(self.assignment))
        for end in self.instance.edges1.T:
            np.add.at(at_node, end, paid / 2)
        return at_node[self.pairs[:, 0]]

    @property
    def graphs(self) -> tuple[Graph, Graph]:
        """The Delaunay graphs that were matched, with the keypoints in px of the pictures."""
        one, two = self.points
        return Graph(one.xy, self.instance.edges1.T), Graph(two.xy, self.instance.edges2.T)

    @property
    def truth(self) -> np.ndarray | None:
        """(n1,) int64: the keypoint of the second picture with the same name, or -1; None without names in both."""
        one, two = (points.names for points in self.points)
        if one is None or two is None:
            return None
        place = {name: j for j, name in enumerate(two)}
        return np.array([place.get(name, -1) for name in one], dtype=np.int64)

    @property
    def right(self) -> np.ndarray | None:
        """(m,) bool: whether the keypoints of each match have the same name; None without names in both pictures."""
        truth = self.truth
        return None if truth is None else np.asarray(self.pairs[:, 1] == truth[self.pairs[:, 0]])

    def draw(self, path: str | Path | None = None, *, edges: bool = False) -> "Figure":
        """The matching drawn on the pictures: right matches green, wrong ones red and dashed; without names, each match
        in another colour.

        Args:
            path: a .png or .pdf file to write as well.
            edges: draw the graphs too.

        Raises:
            ValueError: the file has another suffix.
            bbgm.base.atomic.WriteError: it cannot be written.
        """
        from bbgm.photos.drawing import plot_match
        from bbgm.plotting import write_figure

        figure = plot_match(self, edges=edges)
        if path is not None:
            write_figure(figure, Path(path))
        return figure

    def record(self) -> dict[str, Any]:
        """The result as plain values, for JSON; positions in px."""
        right = self.right
        matches = [
            {
                "index": [i, j],
                "names": list(names),
                "unary": float(unary),
                "edges": float(edges),
                **({} if right is None else {"right": bool(right[k])}),
            }
            for k, ((i, j), names, unary, edges) in enumerate(
                zip(self.pairs.tolist(), self.names, self.unary_costs, self.edge_costs, strict=True)
            )
        ]
        truth = self.truth
        return {
            "model": self.model,
            "pictures": [
                {
                    "name": picture.name,
                    "size": list(picture.size),
                    "box": list(picture.box),
                    "points": points.xy.tolist(),
                    "names": None if points.names is None else list(points.names),
                    "edges": graph.edges.tolist(),
                }
                for picture, points, graph in zip(self.pictures, self.points, self.graphs, strict=True)
            ],
            "matches": matches,
            "unmatched": [
                np.flatnonzero(self.assignment < 0).tolist(),
                np.setdiff1d(np.arange(len(self.points[1])), self.assignment).tolist(),
            ],
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "optimal": self.optimal,
            "partial": self.partial,
            **({} if truth is None or right is None else {"right": int(right.sum()), "true": int((truth >= 0).sum())}),
            "unary": self.instance.unary.tolist(),
            "quadratic": self.instance.quadratic.tolist(),
        }

    def __str__(self) -> str:
        proof = "proved optimal" if self.optimal else f"lower bound {self.lower_bound:.4f}, not proved optimal"
        lines = [f"{a:<24}{b:<24}" for a, b in self.names]
        if (right := self.right) is not None:
            lines = [f"{line}{'right' if ok else 'wrong'}" for line, ok in zip(lines, right, strict=True)]
            truth = self.truth
            assert truth is not None
            lines.append(f"{right.sum()} of {(truth >= 0).sum()} right")
        lines.append(f"cost {self.objective:.4f}, {proof}")
        return "\n".join([*(line.rstrip() for line in lines), f"model {self.model}"])
