"""The loss landscape (paper Fig. 2) as surfaces above contours, and the gradients that estimators see in it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.plotting.cells import frame_cell
from bbgm.plotting.matching import diagonal_order
from bbgm.plotting.style import WIDTH, WRONG, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bbgm.data.sampling.pairs import KeypointPair
    from bbgm.methods.bbgm.descent import Descent
    from bbgm.methods.bbgm.landscape import Section

LEVELS, COLUMNS = 12, 4
PATH: dict[str, Any] = {"color": "white", "linewidth": 1.3, "linestyle": "-"}
START: dict[str, Any] = {"markersize": 3.5, "color": "white", "markeredgecolor": "black", "markeredgewidth": 0.6}
"""How the network's own costs are marked."""


@styled
def plot_loss_landscape(
    x: np.ndarray,
    y: np.ndarray,
    panels: Mapping[str, np.ndarray],
    *,
    point: tuple[float, float] | None = None,
    label: str = "Hamming loss",
    width: float = WIDTH,
) -> "Figure":
    """Draw sections of the loss and its interpolations side by side, on one scale.

    Args:
        x, y: (X,), (Y,) positions s and t along the two directions, increasing.
        panels: title -> (Y, X) values, e.g. the loss, f_lambda for a small and for a large lambda.
        point: marked in the contours, e.g. the costs that the network gave.
        label: of the values.

    Raises:
        ValueError: no panel, or values of another shape.
    """
    from mpl_toolkits.mplot3d import Axes3D  # noqa: F401  (registers the projection)

    if not panels:
        raise ValueError("no panel to draw: give at least one")
    for title, values in panels.items():
        if np.shape(values) != (len(y), len(x)):
            raise ValueError(
                f"panel {title!r} has the shape {np.shape(values)}, not (len(y), len(x)) = {(len(y), len(x))}"
            )
    low = min(float(np.min(values)) for values in panels.values())
    high = max(float(np.max(values)) for values in panels.values())
    high = high if high > low else low + 1.0  # a constant loss still needs a scale
    # Placed by hand, in inches: automatic layout leaves wide margins around 3-D axes.
    left, right, bottom, gap, top = 0.5, 0.62, 0.4, 0.12, 0.2
    side = (width - left - right - gap * (len(panels) - 1)) / len(panels)
    height = bottom + 2 * side + gap + top
    figure = new_figure(height, width, alt=f"{label} as a surface above its contours: {'; '.join(panels)}.")
    figure.set_layout_engine("none")
    for k, (title, values) in enumerate(panels.items()):
        x0 = left + k * (side + gap)
        upper = (x0 / width, (bottom + side + gap) / height, side / width, side / height)
        lower = (x0 / width, bottom / height, side / width, side / height)
        draw_surface(figure.add_axes(upper, projection="3d"), x, y, values, low, high)
        figure.text((x0 + side / 2) / width, 1 - 0.5 * top / height, title, ha="center", va="center")
        ax = figure.add_axes(lower)
        image = _draw_contours(ax, x, y, values, low, high)
        ax.set_xlabel("$s$")
        if k == 0:
            ax.set_ylabel("$t$", labelpad=1)
        ax.tick_params(labelleft=k == 0)
        if point is not None:
            ax.plot(*point, marker="o", **START)
    bar = figure.add_axes(((width - right + gap) / width, bottom / height, 0.09 / width, side / height))
    figure.colorbar(image, cax=bar, label=label)
    return figure


def _draw_contours(ax: "Axes", x: np.ndarray, y: np.ndarray, values: np.ndarray, low: float, high: float) -> Any:
    """Values as colour on the common scale; contours at the panel's own levels, so that a flat one shows its shape."""
    image = ax.pcolormesh(x, y, values, vmin=low, vmax=high, shading="nearest", rasterized=True)
    if np.ptp(values) > 0:
        levels = np.linspace(np.min(values), np.max(values), LEVELS)[1:-1]
        ax.contour(x, y, values, levels, colors="white", linestyles="solid", linewidths=0.4, alpha=0.8)
    ax.locator_params(nbins=4, prune="both")  # ticks at the edges would run into the next panel's
    return image


def draw_surface(ax: Any, x: np.ndarray, y: np.ndarray, values: np.ndarray, low: float, high: float) -> None:
    """Values (Y, X) as a surface in 3-D axes, coloured from ``low`` to ``high``; call it under the project's style."""
    ax.plot_surface(
        *np.meshgrid(x, y), values, cmap="cividis", vmin=low, vmax=high, rcount=len(y), ccount=len(x),
        linewidth=0, antialiased=False, rasterized=True,
    )  # fmt: skip
    ax.set(zlim=(low, high), xticklabels=[], yticklabels=[], zticklabels=[])
    ax.set_box_aspect((1, 1, 0.7), zoom=1.08)
    ax.view_init(elev=35, azim=-60)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((1, 1, 1, 0))
        axis.set_tick_params(length=0)
    ax.grid(False)


@styled
def plot_gradients(
    truth: np.ndarray, gradients: Mapping[str, np.ndarray], assignment: np.ndarray, *, width: float = WIDTH
) -> "Figure":
    """The gradient of the vertex costs by each estimator, with the true matches on the diagonal.

    Red raises a cost, blue lowers it (a step goes against the gradient); each picture has its own scale, as estimators
    measure in different units. Squares: the matches that the solver makes.

    Args:
        truth: (n1,), index of the partner, -1 = none.
        gradients: by title, (n1, n2).
        assignment: (n1,), the solver's matching.

    Raises:
        ValueError: no gradient.
    """
    if not gradients:
        raise ValueError("there is no gradient to draw: give one at least")
    lines = -(-len(gradients) // COLUMNS)
    alt = f"Gradients of the vertex costs as matrices, red raises and blue lowers a cost: {', '.join(gradients)}."
    figure = new_figure((width / COLUMNS + 0.08) * lines, width, alt=alt)
    axes = figure.subplots(lines, COLUMNS, squeeze=False)
    n2 = next(iter(gradients.values())).shape[1]
    rows, columns = diagonal_order(truth, n2)
    place = np.argsort(columns)
    for ax in axes.flat[len(gradients) :]:
        ax.set_axis_off()
    for ax, (title, values) in zip(axes.flat, gradients.items(), strict=False):
        limit = float(np.abs(values).max()) or 1.0
        ax.imshow(-values[np.ix_(rows, columns)], cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        for i, row in enumerate(rows):
            if assignment[row] >= 0:
                j = place[assignment[row]]
                frame_cell(ax, i, j, "0.3", linewidth=0.7)
        ax.set(xticks=[], yticks=[], aspect="equal")
        ax.set_title(literal(title), pad=3)
    return figure


@styled
def plot_slopes(t: np.ndarray, loss: np.ndarray, slopes: Mapping[str, np.ndarray], *, width: float = WIDTH) -> "Figure":
    """The loss along a line of costs, and the slope that each estimator reports there, in a panel of its own scale.

    Estimators measure in different units, so only the sign and the place of a slope can be compared. Shaded: where the
    loss is not zero.

    Args:
        t: positions (T,). loss: (T,).
        slopes: by title, (T,).
    """
    panels = {"loss": loss, **slopes}
    lines = -(-len(panels) // COLUMNS)
    alt = f"The loss along a line of costs, and the slope that each estimator reports: {', '.join(slopes)}."
    figure = new_figure(0.2 * width * lines + 0.25, width, alt=alt)
    axes = figure.subplots(lines, COLUMNS, squeeze=False, sharex=True)
    wrong = np.asarray(loss) > 0
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, (title, values) in zip(axes.flat, panels.items(), strict=False):
        ax.fill_between(t, 0, 1, where=wrong, step="mid", transform=ax.get_xaxis_transform(), color="0.92", lw=0)
        ax.axhline(0, color="0.6", linewidth=0.5, zorder=1)
        limit = float(np.abs(values).max()) or 1.0
        ax.plot(t, np.asarray(values) / limit, linewidth=1, linestyle="-", color="0.2" if title == "loss" else "C0")
        ax.set(yticks=[], ylim=(-1.15, 1.15), xlim=(t[0], t[-1]))
        ax.set_title(literal(title), pad=3)
    for ax in axes[-1]:
        ax.set_xlabel("$t$")
    return figure


@styled
def plot_descent(
    section: "Section", descent: "Descent", pair: "KeypointPair", *, levels: tuple[float, float], width: float = WIDTH
) -> "Figure":
    """Gradient descent of f_lambda from the network's costs: surface, contours, and the two matchings of its gradient.

    Above, f_lambda on the plane, with the start (dot), the first step's direction (arrow) and the path; below, y(w) and
    y(w_lambda) at the start, whose difference is the gradient.

    Args:
        section: with the descent's lambda among its interpolations.
        pair: whose costs were changed.
        levels: smallest and largest value of the scale, so that pictures of several lambdas can be compared.
    """
    from matplotlib.patheffects import Normal, Stroke
    from mpl_toolkits.mplot3d import Axes3D  # noqa: F401  (registers the projection)

    from bbgm.plotting.matching import plot_matching

    s, t, values = section.s, section.t, section.interpolations[descent.lambda_]
    wrong = [int(np.sum(found != pair.truth)) for found in (descent.y, descent.y_lambda)]
    alt = (
        f"f_lambda for lambda = {descent.lambda_:.2g} as a surface and as contours, with the path of gradient descent; "
        f"below, y(w) with {wrong[0]} wrong matches and y(w_lambda) with {wrong[1]}."
    )
    figure = new_figure(0.78 * width, width, alt=alt)
    figure.set_layout_engine("none")  # which would move the panels from picture to picture
    surface = figure.add_axes((-0.02, 0.38, 0.48, 0.62), projection="3d")
    contours = figure.add_axes((0.58, 0.46, 0.32, 0.45))
    draw_surface(surface, s, t, values, *levels)
    # A little above the surface, which would hide half of each line.
    lift = 0.03 * (levels[1] - levels[0])
    column, row = (
        np.abs(axis[:, None] - place).argmin(axis=0) for axis, place in zip((s, t), descent.path.T, strict=True)
    )
    surface.plot(*descent.path.T, values[row, column] + lift, **PATH, zorder=9)
    surface.plot(*descent.path[:1].T, values[row[:1], column[:1]] + lift, "o", **START, zorder=10)
    image = _draw_contours(contours, s, t, values, *levels)
    contours.plot(*descent.path.T, **PATH, path_effects=[Stroke(linewidth=2.4, foreground="black"), Normal()], zorder=4)
    contours.plot(*descent.path[:1].T, "o", **START, zorder=5)
    if (size := float(np.linalg.norm(descent.gradient))) > 0:
        arrow = -0.35 * s[-1] * descent.gradient / size
        contours.annotate(
            "", descent.path[0] + arrow, descent.path[0], zorder=3,
            arrowprops={"arrowstyle": "-|>", "color": WRONG, "linewidth": 1.4, "shrinkA": 2, "shrinkB": 0},
        )  # fmt: skip
    contours.set(
        xlabel="$s$", title=rf"$f_\lambda$, $\lambda$ = {descent.lambda_:.2g}", xlim=s[[0, -1]], ylim=t[[0, -1]]
    )
    contours.set_ylabel("$t$", labelpad=1)
    bar = figure.add_axes((0.915, 0.46, 0.018, 0.45))
    figure.colorbar(image, cax=bar)
    for k, (name, found) in enumerate((("$y(w)$", descent.y), (r"$y(w_\lambda)$", descent.y_lambda))):
        ax = figure.add_axes((0.01 + 0.5 * k, 0.0, 0.48, 0.31))
        plot_matching(ax, pair, found, title=f"{name}: {wrong[k]} wrong")
    return figure
