"""Cycle consistency: three images and the matchings between each two of them (paper Fig. 3)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bbgm.data.images.keypoints import FRAME, Dataset
from bbgm.plotting.matching import draw_match
from bbgm.plotting.style import WIDTH, new_figure, styled
from bbgm.scoring.cycles import contradicted
from bbgm.scoring.predictions import SetPrediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP = 70  # px between the images
CORNERS = np.array([[0, 0], [FRAME + GAP, 0], [(FRAME + GAP) / 2, FRAME + GAP]])
"""Upper left corners of the three images, px."""

Pair = tuple[int, int]


@styled
def plot_cycle(dataset: Dataset, triple: Sequence[SetPrediction], *, width: float = WIDTH) -> "Figure":
    """On the left the three pairs matched separately, on the right the joint solution.

    A match that is part of a broken cycle (i is matched with j and j with k, but i not with k) is red and dashed, the
    others are green, be they right or wrong; a keypoint that is matched in no image is a small white dot.

    Args:
        dataset: contains the images, in its test part.
        triple: the three pairs of three images of one test set, e.g. from :func:`bbgm.scoring.cycles.most_repaired`.

    Raises:
        ValueError: these are not the pairs of three images of one set, or an image is not in the data set.
    """
    numbers = sorted({number for one in triple for number in (one.p, one.q)})
    pairs = {(numbers.index(one.p), numbers.index(one.q)): one for one in triple}
    if sorted(pairs) != [(0, 1), (0, 2), (1, 2)] or len({(one.cls, one.number) for one in triple}) != 1:
        have = [(one.cls, one.number, one.p, one.q) for one in triple]
        raise ValueError(f"{have} (class, set, p, q) are not the three pairs of three images of one set")
    names = [pairs[0, 1].source, pairs[0, 1].target, pairs[0, 2].target]
    kept = [pairs[0, 1].kept1, pairs[0, 1].kept2, pairs[0, 2].kept2]
    images = {image.image_id: image for image in dataset.images(triple[0].cls, "test")}
    if absent := [name for name in names if name not in images]:
        raise ValueError(f"{absent[0]} is not a test image of this data set: open the one that the run was made with")
    figure = new_figure(width / 2 + 0.3, width)
    truth = {pair: one.truth for pair, one in pairs.items()}
    for ax, title, found in zip(
        figure.subplots(1, 2),
        ("each pair alone", "jointly"),
        ({pair: one.assignment for pair, one in pairs.items()}, {pair: one.joint for pair, one in pairs.items()}),
        strict=True,
    ):
        points = [images[name].xy[part] + corner for name, part, corner in zip(names, kept, CORNERS, strict=True)]
        for name, (left, top) in zip(names, CORNERS, strict=True):
            extent = (left, left + FRAME, top + FRAME, top)
            ax.imshow(images[name].crop(), extent=extent, interpolation="antialiased")
        _draw_matchings(ax, points, found)
        ax.set_title(f"{title}: {_describe(found, truth)}", pad=2)
        ax.set(xlim=(-4, 2 * FRAME + GAP + 4), ylim=(2 * FRAME + GAP + 4, -4), aspect="equal")
        ax.axis("off")
    return figure


def _draw_matchings(ax: "Axes", points: Sequence[np.ndarray], matchings: Mapping[Pair, np.ndarray]) -> None:
    broken = contradicted(matchings)
    matched = [np.zeros(len(part), dtype=bool) for part in points]
    for (p, q), match in matchings.items():
        for i in np.flatnonzero(match >= 0):
            draw_match(ax, points[p][i], points[q][match[i]], right=not broken[p, q][i])
            matched[p][i] = matched[q][match[i]] = True
    for part, used in zip(points, matched, strict=True):
        x, y = part[~used].T
        ax.plot(x, y, "o", color="white", markersize=2.4, markeredgecolor="black", markeredgewidth=0.4, zorder=5)


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
