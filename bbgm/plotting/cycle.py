"""Cycle consistency: a broken cycle of three images, and what the joint solution makes of it (paper Fig. 3)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bbgm.data.images.keypoints import FRAME, Dataset, KeypointImage
from bbgm.plotting.matching import BORDER, Placed, draw_line, own_width
from bbgm.plotting.style import AGREES, DEMANDS, WIDE, WRONG, new_figure, styled
from bbgm.scoring.cycles import BrokenCycle, contradicted, most_telling
from bbgm.scoring.predictions import SetPrediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP = 70  # between the images, in units of the axes

Pair = tuple[int, int]
Line = tuple[tuple[int, int], tuple[int, int], str]
"""Two keypoints, each (image, number), and the colour of the line between them."""


@styled
def plot_cycle(dataset: Dataset, triple: Sequence[SetPrediction], *, width: float = WIDE) -> "Figure":
    """One broken cycle: on the left the three pairs matched separately, on the right the joint solution.

    Dark: i is matched with j, and j with k. Dashed and orange: what i and k are matched with instead of each other.
    Light, on the right: the joint matches of these keypoints. Other keypoints are small white dots. Which cycle it is
    says :func:`bbgm.scoring.cycles.most_telling`.

    Args:
        dataset: contains the images, in its test part.
        triple: the three pairs of three images of one test set, e.g. from :func:`bbgm.scoring.cycles.most_repaired`.

    Raises:
        ValueError: these are not the pairs of three images of one set, they do not contradict each other, or an image
            is not in the data set.
    """
    numbers = sorted({number for one in triple for number in (one.p, one.q)})
    pairs = {(numbers.index(one.p), numbers.index(one.q)): one for one in triple}
    if sorted(pairs) != [(0, 1), (0, 2), (1, 2)] or len({(one.cls, one.number) for one in triple}) != 1:
        have = [(one.cls, one.number, one.p, one.q) for one in triple]
        raise ValueError(f"{have} (class, set, p, q) are not the three pairs of three images of one set")
    names = pairs[0, 1].source, pairs[0, 1].target, pairs[0, 2].target
    kept = [pairs[0, 1].kept1, pairs[0, 1].kept2, pairs[0, 2].kept2]
    images = {image.image_id: image for image in dataset.images(triple[0].cls, "test")}
    if absent := [name for name in names if name not in images]:
        raise ValueError(f"{absent[0]} is not a test image of this data set: open the one that the run was made with")
    cycle = BrokenCycle(*((numbers.index(graph), node) for graph, node in most_telling(triple)))
    alone, joint = ({pair: getattr(one, name) for pair, one in pairs.items()} for name in ("assignment", "joint"))
    truth = {pair: one.truth for pair, one in pairs.items()}
    ways = {"each pair alone": alone, "jointly": joint}
    titles = [f"{title}: {_describe(found, truth)}" for title, found in ways.items()]
    alt = f"Three images of the class {triple[0].cls} and a broken cycle of their matches. " + ". ".join(titles)
    shown = [images[name] for name in names]
    places = place_triple(shown)
    right, bottom = (max(corners) for corners in zip(*(place.extent[1:3] for place in places), strict=True))
    height = min(width / 2 * (bottom + 2 * BORDER) / (right + 2 * BORDER), 0.55 * width)
    figure = new_figure(height + 0.3, width, alt=alt.replace("\n", " "))
    for ax, title, lines in zip(
        figure.subplots(1, 2), titles, (_lines_alone(cycle, alone), _lines_joint(cycle, joint)), strict=True
    ):
        for image, place in zip(shown, places, strict=True):
            ax.imshow(image.crop(), extent=place.extent, interpolation="antialiased")
        points = [place(image.xy[part]) for image, part, place in zip(shown, kept, places, strict=True)]
        _draw_cycle(ax, points, cycle, lines)
        ax.set_title(title, pad=2)
        ax.set(xlim=(-BORDER, right + BORDER), ylim=(bottom + BORDER, -BORDER), aspect="equal")
        ax.axis("off")
    return figure


def place_triple(images: Sequence[KeypointImage]) -> list[Placed]:
    """Two of three images side by side, the third below in the middle, each in its own aspect ratio."""
    one, two, three = map(own_width, images)
    total = one + GAP + two
    left = max(0.0, (three - total) / 2)  # of the upper two, if the third is wider
    below = max(0.0, (total - three) / 2)
    return [Placed(left, one), Placed(left + one + GAP, two), Placed(below, three, FRAME + GAP)]


def _partner(matchings: Mapping[Pair, np.ndarray], node: tuple[int, int], graph: int) -> int:
    """What a keypoint (image, number) is matched with in another image, -1 = nothing."""
    image, number = node
    if image < graph:
        return int(matchings[image, graph][number])
    sources = np.flatnonzero(matchings[graph, image] == number)
    return int(sources[0]) if len(sources) else -1


def _lines_alone(cycle: BrokenCycle, matchings: Mapping[Pair, np.ndarray]) -> list[Line]:
    """The two matches of a broken cycle, and those of its ends that contradict them."""
    lines = [(cycle.start, cycle.middle, DEMANDS), (cycle.middle, cycle.end, DEMANDS)]
    for node, (graph, _) in ((cycle.start, cycle.end), (cycle.end, cycle.start)):
        if (other := _partner(matchings, node, graph)) >= 0:
            lines.append((node, (graph, other), WRONG))
    return lines


def _lines_joint(cycle: BrokenCycle, matchings: Mapping[Pair, np.ndarray]) -> list[Line]:
    """Every match of the keypoints of a cycle."""
    lines: dict[frozenset[tuple[int, int]], Line] = {}
    for node in cycle:
        for graph in {0, 1, 2} - {node[0]}:
            if (other := _partner(matchings, node, graph)) >= 0:
                lines[frozenset((node, (graph, other)))] = (node, (graph, other), AGREES)
    return list(lines.values())


def _draw_cycle(ax: "Axes", points: Sequence[np.ndarray], cycle: BrokenCycle, lines: Sequence[Line]) -> None:
    for xy in points:
        ax.plot(*xy.T, "o", color="white", markersize=2.4, markeredgecolor="black", markeredgewidth=0.4, zorder=3)
    for (p, i), (q, j), colour in lines:
        draw_line(ax, points[p][i], points[q][j], colour, dashed=colour == WRONG, width=1.8)
    for letter, (image, node) in zip("ijk", cycle, strict=True):
        x, y = points[image][node]
        ax.annotate(
            f"${letter}$", (x, y), xytext=(5, 4), textcoords="offset points", fontsize=8, zorder=6,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        )  # fmt: skip


def _describe(matchings: Mapping[Pair, np.ndarray], truth: Mapping[Pair, np.ndarray]) -> str:
    total, right = (
        sum(int(np.sum(part)) for part in parts)
        for parts in (
            [match >= 0 for match in matchings.values()],
            [(match >= 0) & (match == truth[pair]) for pair, match in matchings.items()],
        )
    )
    broken = sum(int(mask.sum()) for mask in contradicted(matchings).values())
    return f"{total} matches, {right} right,\n{broken or 'none'} in a broken cycle"
