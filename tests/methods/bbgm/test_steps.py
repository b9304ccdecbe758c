"""The steps of one pair are the network's own; and what is drawn of them."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bbgm import plotting
from bbgm.base.reproducible import reproducible
from bbgm.config import load_run
from bbgm.data import open_dataset, test_pairs
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.methods.bbgm.network import BBGM
from bbgm.methods.bbgm.settings import BBGMRun
from bbgm.methods.bbgm.steps import PairSteps, follow_pair


def make_network(**network: bool) -> BBGM:
    config = load_run("bbgm", "smoke", 0, network=network)
    assert isinstance(config, BBGMRun)
    return BBGM(config)


@pytest.fixture(scope="module")
def network() -> BBGM:
    return make_network().eval()


@pytest.fixture(scope="module")
def pair() -> KeypointPair:
    """Nine and ten keypoints, one of them without a partner."""
    config = load_run("bbgm", "smoke", 0)
    whole = test_pairs(open_dataset(config.data, config.protocol), config.protocol, "Duck")[0]
    return KeypointPair(whole.source, whole.target, whole.kept1[:-1], whole.kept2)


@pytest.fixture(scope="module")
def steps(network: BBGM, pair: KeypointPair) -> PairSteps:
    return follow_pair(network, pair)


def test_the_costs_are_the_networks_to_the_last_bit(network: BBGM, pair: KeypointPair) -> None:
    """Of a network whose features no cache holds, on the one thread that the steps are computed on."""
    free = make_network(freeze_backbone=False).eval()
    free.load_state_dict(network.state_dict())
    steps = follow_pair(free, pair)
    with reproducible(threads=1):
        (costs,) = free.costs([pair])
    assert torch.equal(steps.costs.unary, costs.unary)
    assert torch.equal(steps.costs.quadratic, costs.quadratic)
    for ours, theirs in ((steps.source, costs.edges1), (steps.target, costs.edges2)):
        np.testing.assert_array_equal(ours.graph.edges, theirs)


def test_the_number_of_threads_changes_no_bit(network: BBGM, pair: KeypointPair) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = follow_pair(network, pair)
        torch.set_num_threads(2)
        two = follow_pair(network, pair)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    for left, right in zip(one.source.maps + [one.costs.unary], two.source.maps + [two.costs.unary], strict=True):
        assert torch.equal(left, right)


def test_coefficients_and_features_give_the_costs(steps: PairSteps) -> None:
    inner = (steps.source.refined * steps.a_vertex) @ steps.target.refined.T
    torch.testing.assert_close(steps.costs.unary, 0.5 - torch.nn.functional.softplus(inner))
    ends = [side.refined[torch.from_numpy(side.graph.edge_index)] for side in (steps.source, steps.target)]
    edges = [source - target for source, target in ends]
    inner = (edges[0] * steps.a_edge) @ edges[1].T
    torch.testing.assert_close(steps.costs.quadratic, 0.5 * (0.5 - torch.nn.functional.softplus(inner)))


def test_sizes_are_those_of_the_tensors(steps: PairSteps) -> None:
    sizes = steps.shapes()["size"]
    assert sizes["features after SplineCNN"] == f"9 x {steps.a_vertex.shape[0]}"
    assert sizes["vertex costs, n1 x n2"] == "9 x 10"
    assert sizes["edge costs, E1 x E2"] == f"{len(steps.source.graph.edges)} x {len(steps.target.graph.edges)}"


def test_training_mode_and_ablations_are_refused(pair: KeypointPair) -> None:
    with pytest.raises(ValueError, match="training mode"):
        follow_pair(make_network(), pair)
    with pytest.raises(ValueError, match="no edge costs"):
        follow_pair(make_network(quadratic=False).eval(), pair)


def test_the_map_is_most_alike_where_the_keypoint_is(steps: PairSteps, pair: KeypointPair) -> None:
    node = 2
    figure = plotting.plot_extraction(steps, node)
    fine = figure.axes[1].images[0]
    values = np.asarray(fine.get_array())
    row, column = np.unravel_index(values.argmax(), values.shape)
    place = (np.array([column, row]) + 0.5) * 256 / values.shape[0]
    assert np.abs(place - pair.source.xy[pair.kept1[node]]).max() <= 1.5 * 256 / values.shape[0]
    with pytest.raises(ValueError, match="keypoint 9 is not one of the 9 of the source"):
        plotting.plot_extraction(steps, 9)


def test_dots_mark_the_true_entries(steps: PairSteps, pair: KeypointPair) -> None:
    figure = plotting.plot_construction(steps, pair.truth)
    drawn = np.asarray(figure.axes[2].images[0].get_array())
    (dots,) = figure.axes[2].lines
    unary = steps.costs.unary.numpy()
    places = np.asarray(dots.get_xydata()).astype(int)
    for column, row in places:
        assert drawn[row, column] == unary[row, pair.truth[row]]
    assert len(places) == np.sum(pair.truth >= 0) == 9
    assert any("9 of 9 right" in ax.get_title() for ax in figure.axes)


def test_signs_of_the_gradient_are_written(pair: KeypointPair) -> None:
    true = pair.truth_matrix.astype(float)
    wrong = np.roll(true, 1, axis=1)
    figure = plotting.plot_layer(-true, 1 - true, wrong, true, (true - wrong) / 10, pair.truth)
    signs = [text.get_text() for text in figure.axes[4].texts]
    assert signs.count("+") == signs.count("\N{MINUS SIGN}") == 9


def test_files_are_byte_identical(steps: PairSteps, pair: KeypointPair, tmp_path: Path) -> None:
    for draw in (lambda: plotting.plot_extraction(steps, 0), lambda: plotting.plot_construction(steps, pair.truth)):
        first, second = (plotting.save_figure(draw(), tmp_path / name) for name in ("first", "second"))
        assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
