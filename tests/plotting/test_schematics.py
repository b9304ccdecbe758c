"""Block diagrams: their sizes are those of the network, and no text overlaps another or leaves the figure."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from bbgm import plotting
from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.data import test_pairs as draw_test_pairs
from bbgm.methods.base import make_matcher
from bbgm.methods.bbgm.network import BBGM
from bbgm.methods.bbgm.steps import PairSteps, follow_pair

Drawn = tuple[PairSteps, BBGM, Any]


@pytest.fixture(scope="module")
def followed() -> Drawn:
    config: Any = load_run("bbgm", "smoke", 0)
    dataset = open_dataset(config.data, config.protocol)
    network = make_matcher(config)
    assert isinstance(network, BBGM)
    network.eval()
    return follow_pair(network, draw_test_pairs(dataset, config.protocol, "Car")[0]), network, config


def texts(figure: Figure) -> list[Text]:
    found = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    return [text for text in found if text.get_text() and text.get_visible()]


def check_layout(figure: Figure) -> None:
    figure.draw_without_rendering()
    width, height = figure.bbox.size
    boxes = {text.get_text(): text.get_window_extent() for text in texts(figure)}
    outside = [name for name, b in boxes.items() if b.x0 < 0 or b.y0 < 0 or b.x1 > width or b.y1 > height]
    assert outside == []
    overlaps = [names for names in combinations(boxes, 2) if boxes[names[0]].overlaps(boxes[names[1]])]
    assert overlaps == []


def test_sizes_of_one_image_are_those_of_the_network(followed: Drawn) -> None:
    steps, network, config = followed
    figure = plotting.plot_image_features(steps, network, config)
    written = " ".join(text.get_text() for text in texts(figure))
    nodes, channels = steps.source.refined.shape
    sizes = [" x ".join(map(str, part.shape)) for part in steps.source.maps]
    parameters = sum(part.numel() for part in network.backbone.parameters())
    for size in (*sizes, f"{nodes} x {channels}", f"graph, {len(steps.source.graph.edges)}\n", f"{parameters:,}"):
        assert size in written
    check_layout(figure)


def test_sizes_of_a_pair_are_those_of_its_costs(followed: Drawn) -> None:
    steps, network, config = followed
    assignment = network.predict([steps.pair])[0]
    figure = plotting.plot_pair_costs(steps, network, config, assignment)
    written = " ".join(text.get_text() for text in texts(figure))
    for matrix in (steps.costs.unary, steps.costs.quadratic):
        assert " x ".join(map(str, matrix.shape)) in written
    for name in ("lambda$ = 80", f"$g$: {len(steps.g)}", f"$a^e$: {len(steps.a_edge)}"):
        assert name in written
    check_layout(figure)
    meshes = [mesh.get_array().reshape(steps.costs.unary.shape) for mesh in figure.axes[0].collections
              if getattr(mesh, "get_array", lambda: None)() is not None
              and mesh.get_array().size == steps.costs.unary.numel()]  # fmt: skip
    np.testing.assert_allclose(meshes[0], steps.costs.unary)
    matched = np.flatnonzero(assignment >= 0)
    assert np.argwhere(meshes[1]).tolist() == [[i, assignment[i]] for i in matched]


def test_a_network_with_other_coefficients_is_refused(followed: Drawn) -> None:
    steps, network, _ = followed
    fixed: Any = load_run("fixed_affinity", "smoke", 0)
    with pytest.raises(ValueError, match="not those of the global vector"):
        plotting.plot_pair_costs(steps, network, fixed, network.predict([steps.pair])[0])


def test_a_broken_cycle_is_drawn_in_three_ways() -> None:
    figure = plotting.plot_consistency()
    check_layout(figure)
    long = [line for line in figure.axes[0].lines if line.get_linewidth() == 2.2]
    assert len(long) == 6 + 3  # with the legend
    assert sum(line.is_dashed() for line in long) == 1 + 1
