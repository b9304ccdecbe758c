"""What a keypoint filter keeps of a pair of images (the paper's figure of Sec. 4, 'Keypoint filtering')."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.data.sampling.pairs import KeypointPair
from bbgm.plotting.matching import draw_match, draw_pair, row_heights
from bbgm.plotting.style import RIGHT, WIDE, WRONG, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS: dict[str, dict[str, Any]] = {
    "kept, has a partner": {"marker": "o", "markersize": 3.4, "color": RIGHT, "markeredgewidth": 0.4},
    "kept, has none": {"marker": "D", "markersize": 3.6, "color": WRONG, "markeredgewidth": 0.4},
    "left out": {"marker": "X", "markersize": 4.2, "color": "black", "markeredgewidth": 0.5},
}


@styled
def plot_filters(pairs: Mapping[str, KeypointPair], *, columns: int = 2, width: float = WIDE) -> "Figure":
    """Pairs after a filter, one per cell: each annotated keypoint of both images is kept or left out; true matches.

    Args:
        pairs: title -> pair.

    Raises:
        ValueError: no pairs.
    """
    if not pairs:
        raise ValueError("no pair to draw: give at least one")
    columns = min(columns, len(pairs))
    heights = row_heights(list(pairs.values()), columns, width)
    titles = [f"{title}: {len(pair.kept1)} and {len(pair.kept2)} keypoints" for title, pair in pairs.items()]
    figure = new_figure(sum(heights) + 0.25, width, alt=f"Keypoints kept by filters. {'; '.join(titles)}.")
    axes = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights).ravel()
    for ax in axes[len(pairs) :]:
        ax.axis("off")
    for ax, title, pair in zip(axes, titles, pairs.values(), strict=False):
        _draw_filtered(ax, pair)
        ax.set_title(title, pad=2)
    for name, look in MARKS.items():
        axes[0].plot([], [], linestyle="", markeredgecolor="white", label=name, **look)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(MARKS))
    return figure


def _draw_filtered(ax: "Axes", pair: KeypointPair) -> None:
    truth = pair.truth
    matched = truth >= 0
    one, two = draw_pair(ax, pair)
    xy1, xy2 = one(pair.source.xy[pair.kept1]), two(pair.target.xy[pair.kept2])
    for i in np.flatnonzero(matched):
        draw_match(ax, xy1[i], xy2[truth[i]], right=True)
    sides = (
        (pair.source, pair.kept1, matched, one),
        (pair.target, pair.kept2, np.isin(np.arange(len(xy2)), truth), two),
    )
    for image, kept, with_partner, place in sides:
        dropped = np.setdiff1d(np.arange(len(image.names)), kept)
        groups = kept[with_partner], kept[~with_partner], dropped
        for look, group in zip(MARKS.values(), groups, strict=True):
            x, y = place(image.xy[group]).T
            ax.plot(x, y, linestyle="", markeredgecolor="white", zorder=6, **look)
