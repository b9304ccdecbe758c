"""The picture of one lambda: path, arrow and both matchings are those of the descent."""

import numpy as np
import pytest

from bbgm.config import load_run
from bbgm.data import open_dataset, test_pairs
from bbgm.methods.bbgm.descent import descend
from bbgm.methods.bbgm.landscape import loss_direction, loss_section, random_direction
from bbgm.plotting import plot_descent
from tests.support.draws import draw_instance


@pytest.mark.parametrize(("lambda_", "arrows"), [(1e-9, 0), (5.0, 1)])
def test_an_arrow_only_where_there_is_a_gradient(lambda_: float, arrows: int) -> None:
    config = load_run("bbgm", "smoke", 0, dataset="willow")
    pair = test_pairs(open_dataset(config.data, config.protocol), config.protocol, "Car")[0]
    rng = np.random.default_rng(0)
    instance, truth = draw_instance(rng, 10, 10), pair.truth_matrix
    plane = loss_direction(instance, truth), random_direction(instance, rng)
    grid = np.linspace(-1, 1, 3)
    section = loss_section(instance, truth, plane, grid, grid, [lambda_])
    found = descend(instance, truth, plane, lambda_, length=0.1, steps=5, limit=1.0)
    figure = plot_descent(section, found, pair, levels=(0.0, 20.0))
    (contours,) = [ax for ax in figure.axes if ax.get_xlabel() == "$s$"]
    assert len(contours.texts) == arrows
    np.testing.assert_array_equal(contours.lines[0].get_xydata(), found.path)
    titles = [ax.get_title() for ax in figure.axes]
    assert f"$y(w)$: {np.sum(found.y != pair.truth)} wrong" in titles
    assert rf"$y(w_\lambda)$: {np.sum(found.y_lambda != pair.truth)} wrong" in titles
    assert len(figure._repr_png_()[0]) > 10_000
