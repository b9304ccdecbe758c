"""Learning curves and landscapes: what is drawn. How it looks is judged by eye."""

import numpy as np
import pytest

from bbgm import plotting
from tests.support.figures import heights, history


def test_learning_curves_of_other_columns() -> None:
    run = history(4, 0).assign(nonzero=[1.0, 0.5, 0.25, 0.0])
    figure = plotting.plot_learning_curves({"A": [run]}, columns=("accuracy", "nonzero"), window=1)
    assert [ax.get_ylabel() for ax in figure.axes] == ["training accuracy (%)", "pairs with a gradient (%)"]
    np.testing.assert_allclose(np.asarray(figure.axes[1].lines[0].get_ydata()), [100, 50, 25, 0])
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim() == (0, 101)


def test_learning_curves_show_mean_and_band() -> None:
    runs = [history(40, seed) for seed in range(3)]
    figure = plotting.plot_learning_curves({"A": runs, "untrained": [history(0, 0)]}, window=1)
    loss, accuracy = figure.axes
    np.testing.assert_allclose(heights(loss.lines[0]), np.mean([run["loss"] for run in runs], axis=0))
    np.testing.assert_allclose(heights(accuracy.lines[0]), 100 * np.mean([run["loss"] for run in runs], axis=0))
    assert len(loss.collections) == 1
    legend = accuracy.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["A, n = 3"]


@pytest.mark.parametrize("window", [1, 2, 5, 100])
def test_the_running_mean_keeps_constants_and_length(window: int) -> None:
    run = history(7, 0).assign(loss=3.0)
    figure = plotting.plot_learning_curves({"A": [run]}, window=window)
    np.testing.assert_allclose(heights(figure.axes[0].lines[0]), np.full(7, 3.0))


def test_curves_without_a_step_or_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"none of .*'A'.* has a training step"):
        plotting.plot_learning_curves({"A": [history(0, 0)]})
    with pytest.raises(ValueError, match=r"runs of 'A' have \[3, 4\] iterations"):
        plotting.plot_learning_curves({"A": [history(3, 0), history(4, 1)]})


def test_landscapes_share_one_scale() -> None:
    x, y = np.linspace(-1, 1, 9), np.linspace(-1, 1, 7)
    smooth = np.add.outer(y**2, x**2)
    figure = plotting.plot_loss_landscape(
        x, y, {"loss": np.round(smooth), "f": smooth, "flat": np.ones((7, 9))}, point=(0, 0)
    )
    images = [ax.collections[0] for ax in figure.axes if ax.name == "rectilinear" and ax.get_xlabel()]
    assert [image.get_clim() for image in images] == [(0.0, 2.0)] * 3
    assert sum(ax.name == "3d" for ax in figure.axes) == 3
    with pytest.raises(ValueError, match=r"panel 'loss' has the shape \(9, 7\)"):
        plotting.plot_loss_landscape(x, y, {"loss": smooth.T})


def test_section_breaks_the_line_at_jumps() -> None:
    t = np.linspace(0, 1, 10)
    loss = np.where(t < 0.5, 2.0, 4.0)
    figure = plotting.plot_loss_section(t, loss, {2.0: 2 + 2 * t})
    drawn = heights(figure.axes[0].lines[0])
    assert np.isnan(drawn).sum() == 1
    with pytest.raises(ValueError, match="lambda = 2 has the shape"):
        plotting.plot_loss_section(t, loss, {2.0: t[1:]})
