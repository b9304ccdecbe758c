"""The loss landscape (paper Fig. 2) as surfaces above contours, and the gradients that estimators see in it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bbgm.plotting.style import WIDTH, literal, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVELS, COLUMNS = 12, 4


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
    figure = new_figure(height, width)
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
            ax.plot(*point, marker="o", markersize=3.5, color="white", markeredgecolor="black", markeredgewidth=0.6)
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
    from matplotlib.patches import Rectangle

    if not gradients:
        raise ValueError("there is no gradient to draw: give one at least")
    lines = -(-len(gradients) // COLUMNS)
    figure = new_figure((width / COLUMNS + 0.08) * lines, width)
    axes = figure.subplots(lines, COLUMNS, squeeze=False)
    n2 = next(iter(gradients.values())).shape[1]
    rows = np.argsort(truth < 0, kind="stable")
    partners = truth[rows][truth[rows] >= 0]
    columns = np.concatenate([partners, np.setdiff1d(np.arange(n2), partners)])
    place = np.argsort(columns)
    for ax in axes.flat[len(gradients) :]:
        ax.set_axis_off()
    for ax, (title, values) in zip(axes.flat, gradients.items(), strict=False):
        limit = float(np.abs(values).max()) or 1.0
        ax.imshow(-values[np.ix_(rows, columns)], cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        for i, row in enumerate(rows):
            if assignment[row] >= 0:
                j = place[assignment[row]]
                ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="0.3", linewidth=0.7))
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
    figure = new_figure(0.2 * width * lines + 0.25, width)
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
