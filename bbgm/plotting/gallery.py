"""Example matchings: a typical test pair of each class (paper Fig. 1), one pair by several methods."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bbgm.data.images.keypoints import FRAME, Dataset, KeypointImage
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.plotting.cells import frame_cell
from bbgm.plotting.matching import cell_height, diagonal_order, place_pair, plot_matching, plot_matchings
from bbgm.plotting.style import RIGHT, WIDE, WRONG, literal, new_figure, styled
from bbgm.scoring.predictions import Prediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bbgm.methods.base import Evidence


def typical_predictions(predictions: Sequence[Prediction]) -> list[Prediction]:
    """For each class the median of its test pairs, sorted by the share of right matches.

    Among equals the first is taken; pairs without a true match are left out. Classes come in the order of their first
    pairs.
    """
    found = []
    for cls in dict.fromkeys(one.cls for one in predictions):
        group = [one for one in predictions if one.cls == cls and (one.truth >= 0).any()]
        shares = np.array([np.mean((one.assignment == one.truth)[one.truth >= 0]) for one in group])
        if len(group):
            median = np.sort(shares)[(len(shares) - 1) // 2]
            found.append(group[int(np.flatnonzero(shares == median)[0])])
    return found


def plot_gallery(
    dataset: Dataset, predictions: Sequence[Prediction], *, columns: int = 2, width: float = WIDE
) -> "Figure":
    """Draw predictions, one per cell, as :func:`bbgm.plotting.plot_matchings` does.

    Args:
        dataset: contains the images, in its test part.
        predictions: e.g. those of :func:`typical_predictions`.

    Raises:
        ValueError: no predictions, or an image is not in the data set.
    """
    pairs = [_pair_of(dataset, one) for one in predictions]
    return plot_matchings(pairs, [one.assignment for one in predictions], columns=columns, width=width)


@styled
def plot_methods(
    pair: KeypointPair,
    evidence: Mapping[str, "Evidence"],
    assignments: Mapping[str, np.ndarray],
    *,
    width: float = WIDE,
) -> "Figure":
    """One row per method: the scores of all matches, the soft assignment, the matching drawn on the images.

    Keypoints of the target are put into the order of their partners, so that true matches are on the diagonal; those
    without a partner follow. Scores have their own scale in each picture, as methods measure them in different units.
    In the soft assignment, a green square is a right match that is made, an orange one a wrong match.

    Args:
        evidence: by the method's name; see `bbgm.methods.base.Evidence`.
        assignments: by the same names, (n1,) each, index into ``pair.kept2``, -1 = unmatched.

    Raises:
        ValueError: no method, or the names differ.
    """
    if not evidence or list(evidence) != list(assignments):
        raise ValueError(f"evidence of {list(evidence)} but assignments of {list(assignments)}: give the same methods")
    right = {name: int(np.sum((found >= 0) & (found == pair.truth))) for name, found in assignments.items()}
    total = int(np.sum(pair.truth >= 0))
    alt = "Scores and assignment as matrices, and the matching drawn on two images: " + "; ".join(
        f"{name} has {count} of {total} right" for name, count in right.items()
    )
    end = place_pair(pair)[1]
    ratios = [1, 1, (end.left + end.width) / FRAME]
    row = cell_height(pair, width * ratios[2] / sum(ratios)) * 0.95
    figure = new_figure(row * len(evidence) + 0.3, width, alt=alt)
    axes = figure.subplots(len(evidence), 3, squeeze=False, width_ratios=ratios)
    rows, columns = diagonal_order(pair.truth, len(pair.kept2))
    for (name, seen), line in zip(evidence.items(), axes, strict=True):
        assignment = np.asarray(assignments[name])
        made = np.zeros(seen.affinity.shape, dtype=bool)
        matched = np.flatnonzero(assignment >= 0)
        made[matched, assignment[matched]] = True
        _draw_matrix(line[0], seen.affinity[np.ix_(rows, columns)], None)
        soft = made.astype(float) if seen.soft is None else seen.soft
        _draw_matrix(line[1], soft[np.ix_(rows, columns)], (0.0, 1.0))
        true = pair.truth_matrix[np.ix_(rows, columns)]
        for i, j in zip(*np.nonzero(made[np.ix_(rows, columns)]), strict=True):
            frame_cell(line[1], i, j, RIGHT if true[i, j] else WRONG, linewidth=1.0)
        plot_matching(line[2], pair, assignment, title=f"{right[name]} of {total} right")
        line[0].set_ylabel(literal(name))
    for ax, title in zip(axes[0], ("scores", "assignment"), strict=False):
        ax.set_title(title, pad=2)
    return figure


@styled
def plot_images(images: Sequence[KeypointImage], *, columns: int = 5, width: float = WIDE) -> "Figure":
    """Images as the network gets them, with their keypoints, each keypoint in the same colour in all of them.

    Raises:
        ValueError: no images.
    """
    if not images:
        raise ValueError("there are no images to draw: give one or more")
    lines, side = -(-len(images) // columns), width / columns
    classes = ", ".join(dict.fromkeys(image.cls for image in images))
    alt = f"{len(images)} images with their keypoints, each keypoint in the same colour in all of them: {classes}."
    figure = new_figure(side * lines, width, alt=alt)
    axes = figure.subplots(lines, columns, squeeze=False)
    place = {name: k for k, name in enumerate(dict.fromkeys(name for image in images for name in image.names))}
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, image in zip(axes.flat, images, strict=False):
        ax.imshow(image.crop())
        colours = [f"C{place[name] % 8}" for name in image.names]
        ax.scatter(*image.xy.T, s=9, color=colours, edgecolor="white", linewidth=0.5)
        ax.set(xlim=(0, FRAME), ylim=(FRAME, 0))
    return figure


def _pair_of(dataset: Dataset, prediction: Prediction) -> KeypointPair:
    images = {image.image_id: image for image in dataset.images(prediction.cls, "test")}
    names = prediction.source, prediction.target
    if absent := [name for name in names if name not in images]:
        raise ValueError(f"{absent[0]} is not a test image of this data set: open the one that the run was made with")
    return KeypointPair(images[names[0]], images[names[1]], prediction.kept1, prediction.kept2, prediction.difficulty)


def _draw_matrix(ax: "Axes", values: np.ndarray, limits: tuple[float, float] | None) -> None:
    low, high = limits or (float(values.min()), float(values.max()))
    ax.imshow(values, cmap="Greys", vmin=low, vmax=high, interpolation="nearest")
    ax.set(xticks=[], yticks=[], aspect="equal")
