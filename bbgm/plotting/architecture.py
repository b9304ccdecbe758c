"""A pair's way through the network: what is extracted, and what is built (the paper's two figures of Sec. 3.5)."""

from typing import TYPE_CHECKING

import numpy as np

from bbgm.data.images.keypoints import FRAME, KeypointImage
from bbgm.plotting.matching import draw_edges, plot_matching
from bbgm.plotting.style import WIDE, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from torch import Tensor

    from bbgm.methods.bbgm.steps import PairSteps

MARK = "#D55E00"


@styled
def plot_extraction(steps: "PairSteps", node: int, *, width: float = WIDE) -> "Figure":
    """Each image's graph, and how much each cell of its two maps resembles one keypoint of the source.

    Args:
        node: of the source, index into ``kept1``. Its features are compared by the cosine; its true partner is ringed.

    Raises:
        ValueError: the source has no such keypoint.
    """
    pair = steps.pair
    if not 0 <= node < len(pair.kept1):
        raise ValueError(f"keypoint {node} is not one of the {len(pair.kept1)} of the source")
    sizes = ["x".join(map(str, part.shape)) for part in steps.source.maps]
    alt = (
        f"Source above target, class {pair.source.cls}. Left the image with its graph; then the maps of {sizes[0]} and "
        f"{sizes[1]}, coloured by how much each cell resembles keypoint {node} of the source."
    )
    figure = new_figure(0.72 * width, width, alt=alt)
    axes = figure.subplots(2, 3)
    similar = [_similarity_to_keypoint(steps, level, node) for level in (0, 1)]
    ends = [(pair.source, pair.kept1, node), (pair.target, pair.kept2, int(pair.truth[node]))]
    for row, (ax_image, *ax_maps) in enumerate(axes):
        image, kept, marked = ends[row]
        _draw_image(ax_image, image, kept)
        for level, ax in enumerate(ax_maps):
            low = min(float(part.min()) for part in similar[level])
            drawn = ax.imshow(
                similar[level][row], extent=(0, FRAME, FRAME, 0), vmin=low, vmax=1, interpolation="nearest"
            )
            ax.plot(*image.xy[kept].T, "o", markersize=1.6, color="white", markeredgecolor="black", markeredgewidth=0.3)
            if row == 1:
                bar = figure.colorbar(drawn, ax=axes[:, level + 1], orientation="horizontal", shrink=0.8, pad=0.02)
                bar.set_label("cosine with the dot's")
                bar.outline.set_linewidth(0.4)
        for ax in (ax_image, *ax_maps):
            if marked >= 0:
                _ring(ax, image.xy[kept[marked]], solid=row == 0)
            ax.set(xlim=(0, FRAME), ylim=(FRAME, 0), xticks=[], yticks=[])
        ax_image.set_ylabel(("source", "target")[row])
    for ax, title in zip(axes[0], ("keypoints and graph", f"relu4_2, {sizes[0]}", f"relu5_1, {sizes[1]}"), strict=True):
        ax.set_title(title)
    return figure


def _similarity_to_keypoint(steps: "PairSteps", level: int, node: int) -> list[np.ndarray]:
    """Cosine of a source keypoint's part of a map with every cell of that map: of both images, (h, w) each."""
    start = 0 if level == 0 else steps.source.maps[0].shape[0]
    part = steps.source.visual[node, start : start + steps.source.maps[level].shape[0]]
    part = part / part.norm().clamp(min=1e-12)
    cells = (side.maps[level] for side in (steps.source, steps.target))
    return [
        ((part[:, None, None] * one).sum(dim=0) / one.norm(dim=0).clamp(min=1e-12)).detach().cpu().numpy()
        for one in cells
    ]


def _draw_image(ax: "Axes", image: KeypointImage, kept: np.ndarray) -> None:
    ax.imshow(image.crop(), extent=(0, FRAME, FRAME, 0), interpolation="antialiased")
    draw_edges(ax, image.xy[kept])
    ax.plot(*image.xy[kept].T, "o", markersize=3, color="white", markeredgecolor="black", markeredgewidth=0.5)


def _ring(ax: "Axes", xy: np.ndarray, solid: bool) -> None:
    """A keypoint made visible on any picture: a dot, or the ring where it should be found."""
    for width, colour in ((1.8, "white"), (0.9, MARK)):
        ax.plot(*xy, "o", markersize=8.4, markerfacecolor="none", markeredgecolor=colour, markeredgewidth=width)
    if solid:
        ax.plot(*xy, "o", markersize=4, color=MARK, markeredgecolor="white", markeredgewidth=0.4)


@styled
def plot_construction(steps: "PairSteps", assignment: np.ndarray, *, width: float = WIDE) -> "Figure":
    """From features to the matching: similarities before and after refinement, costs, coefficients, solution.

    In the matrices dark is what the solver likes. A row is a keypoint (or an edge) of the source, a column one of the
    target. Rows of keypoints are in the pair's order, columns in the order of their partners; a dot marks a true match.

    Args:
        assignment: (n1,), the solver's matching, -1 = unmatched.
    """
    right, true = int(np.sum((assignment >= 0) & (assignment == steps.pair.truth))), int(np.sum(steps.pair.truth >= 0))
    alt = (
        "Four matrices: the cosine of the keypoints' features before and after SplineCNN, the vertex costs and the "
        "edge costs. Below, the sorted coefficients a, and the solver's matching drawn on both images: "
        f"{right} of {true} right."
    )
    figure = new_figure(0.7 * width, width, alt=alt)
    grid = figure.add_gridspec(2, 12, height_ratios=(1, 1))
    tops = [figure.add_subplot(grid[0, 3 * k : 3 * k + 3]) for k in range(4)]
    visual, refined = (
        _cosine(getattr(steps.source, name), getattr(steps.target, name)) for name in ("visual", "refined")
    )
    n1, n2 = steps.costs.unary.shape
    e1, e2 = steps.costs.quadratic.shape
    order, truth = _diagonal(steps.pair.truth, n2)
    unary = steps.costs.unary.detach().cpu().numpy()
    _draw_matrix(figure, tops[0], visual[:, order], "visual features,\ncosine", truth, colours="cividis_r")
    _draw_matrix(figure, tops[1], refined[:, order], "after SplineCNN,\ncosine", truth, colours="cividis_r")
    _draw_matrix(figure, tops[2], unary[:, order], f"vertex costs $c^v$,\n{n1}x{n2}", truth)
    quadratic = steps.costs.quadratic.detach().cpu().numpy()
    _draw_matrix(figure, tops[3], quadratic, f"edge costs $c^e$,\n{e1}x{e2}", None)
    ax_a, ax_match = figure.add_subplot(grid[1, :4]), figure.add_subplot(grid[1, 4:])
    for k, (name, a) in enumerate((("vertices", steps.a_vertex), ("edges", steps.a_edge))):
        values = np.sort(a.detach().cpu().numpy())
        ax_a.plot(np.linspace(0, 100, len(values)), values, label=f"{name}, C = {len(values)}", color=f"C{k}")
    ax_a.axhline(0, color="0.7", linewidth=0.5, linestyle="-", zorder=0)
    ax_a.set(xlabel="share of the channels (%)", title="coefficients $a(g)$, sorted", xlim=(0, 100))
    ax_a.legend(loc="lower right")
    plot_matching(ax_match, steps.pair, assignment, edges=True, title=f"the solver's matching: {right} of {true} right")
    return figure


@styled
def plot_layer(
    costs: np.ndarray,
    margin: np.ndarray,
    match: np.ndarray,
    moved: np.ndarray,
    gradient: np.ndarray,
    truth: np.ndarray,
    *,
    width: float = WIDE,
) -> "Figure":
    """One training step of the solver layer on one pair, as matrices (n1, n2); dots mark the true matches.

    Args:
        costs, margin: c^v, and the same with the margin.
        match, moved: the solver's y, and its y_lambda on the perturbed costs, 0/1.
        gradient: what the vertex costs get, (y_lambda - y) / lambda.
        truth: (n1,), index into the target's keypoints, -1 = no partner.
    """
    changed, wrong = int(np.count_nonzero(gradient)), int(np.sum(match[truth >= 0].argmax(axis=1) != truth[truth >= 0]))
    alt = (
        "Five matrices of keypoints by keypoints: costs, costs with margin, the matching y, the matching on the moved "
        f"costs, and the gradient. y misses {wrong} of {np.sum(truth >= 0)} true matches; {changed} entries have one."
    )
    figure = new_figure(0.32 * width, width, alt=alt)
    axes = figure.subplots(1, 5)
    order, dots = _diagonal(truth, costs.shape[1])
    for ax, title, matrix in zip(axes, ("costs $c^v$", "with margin"), (costs, margin), strict=False):
        _draw_matrix(figure, ax, matrix[:, order], title, dots)
    for ax, title, matrix in zip(axes[2:], ("$y$", r"$y_\lambda$"), (match, moved), strict=False):
        _draw_matrix(figure, ax, matrix[:, order], title, dots, colours="Greys")
    title = r"$(y_\lambda - y)\;/\;\lambda$"
    limit = float(np.abs(gradient).max()) or 1.0
    _draw_matrix(figure, axes[4], gradient[:, order], title, None, colours="RdBu_r", limit=limit)
    for row, column in np.argwhere(gradient[:, order]):  # the sign, for eyes and printers without colours
        sign = "+" if gradient[row, order[column]] > 0 else "\N{MINUS SIGN}"
        axes[4].text(column, row, sign, color="white", fontsize=7, ha="center", va="center_baseline")
    return figure


def _diagonal(truth: np.ndarray, n2: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns in the order of the rows' true partners, then the others; and the true entries (row, column) there."""
    rows = np.flatnonzero(truth >= 0)
    order = np.concatenate([truth[rows], np.setdiff1d(np.arange(n2), truth[rows])]).astype(int)
    return order, np.stack([rows, np.arange(len(rows))], axis=1)


def _cosine(x: "Tensor", y: "Tensor") -> np.ndarray:
    x, y = (part / part.norm(dim=1, keepdim=True).clamp(min=1e-12) for part in (x, y))
    return np.asarray((x @ y.T).detach().cpu().numpy())


def _draw_matrix(
    figure: "Figure",
    ax: "Axes",
    matrix: np.ndarray,
    title: str,
    dots: np.ndarray | None,
    *,
    colours: str = "cividis",
    limit: float | None = None,
) -> None:
    """A matrix with its scale, from -limit to limit if that is given, and dots at its true entries (row, column)."""
    drawn = ax.imshow(matrix, cmap=colours, interpolation="nearest", vmin=-limit if limit else None, vmax=limit)
    if dots is not None:
        ax.plot(dots[:, 1], dots[:, 0], "o", markersize=2.2, color=MARK, markeredgecolor="white", markeredgewidth=0.3)
    ax.set(title=title, xticks=[], yticks=[])
    bar = figure.colorbar(drawn, ax=ax, orientation="horizontal", aspect=12, pad=0.03)
    bar.outline.set_linewidth(0.4)
    low, high = drawn.get_clim()
    bar.set_ticks([low, high], labels=[f"{low:.2g}", f"{high:.2g}"])
    first, last = bar.ax.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")
