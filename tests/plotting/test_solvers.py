"""Figures of costs, bounds and solvers: what is drawn. How they look is judged by eye."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from bbgm import plotting
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.matching.synthetic import geometric_instance
from bbgm.plotting.solvers.scaling import growth
from bbgm.published import SOLVER_COLUMNS
from tests.support.images import grey_image

TRACE = np.array([[0.0, -12.0, 0.0], [1.0, -11.0, -9.0], [2.0, -10.5, -10.0]])


@pytest.fixture
def pair(tmp_path: Path) -> KeypointPair:
    generator = np.random.default_rng(0)
    source, target = (grey_image(tmp_path, name, generator.uniform(10, 246, (6, 2))) for name in "ab")
    return KeypointPair(source, target, generator.permutation(6), generator.permutation(6))


@pytest.fixture
def figures() -> pd.DataFrame:
    rows = [
        {"family": "one", "solver": "other", "gap_percent": 2.0, "gap_percent_to": 7.0},
        {"family": "one", "solver": "peer", "gap_percent": 0.5, "hits": 1, "runs": 3, "ms": 1200.0, "ms_to": 4000.0},
        {"family": "one", "solver": "mine", "gap_percent": 0.0, "hits": 3, "runs": 3, "ms": 0.25},
        {"family": "two", "solver": "peer", "gap_percent": 163.0, "ms": 112.0},
    ]
    return pd.DataFrame(rows).reindex(columns=list(SOLVER_COLUMNS)).astype(SOLVER_COLUMNS)


def heights(line: Line2D) -> np.ndarray:
    return np.asarray(line.get_ydata(), dtype=float)


def test_costs_colour_the_target_and_rim_the_truth(pair: KeypointPair) -> None:
    instance = geometric_instance(pair)
    figure = plotting.plot_costs(pair, instance, 2, 3)
    vertex, edge = figure.axes[:2]
    dots = vertex.collections[-1]
    np.testing.assert_array_equal(dots.get_array(), instance.unary[2])
    ring = vertex.collections[-2]
    assert to_hex(np.asarray(ring.get_facecolor())[0]).upper() == plotting.RIGHT
    np.testing.assert_allclose(np.asarray(ring.get_offsets()), np.asarray(dots.get_offsets())[[pair.truth[2]]])
    lines = edge.collections[-1]
    assert isinstance(lines, LineCollection)
    values = np.asarray(lines.get_array())
    np.testing.assert_array_equal(np.sort(values), np.sort(instance.quadratic[3]))
    assert values[-1] == instance.quadratic[3].min(), "the cheapest is not on top"


def test_vertex_costs_have_the_truth_on_the_diagonal(pair: KeypointPair) -> None:
    """Also where the cheapest of a row is another, which is framed as well."""
    instance = geometric_instance(pair)
    cheapest = instance.unary.argmin(axis=1)
    figure = plotting.plot_vertex_costs(pair, instance)
    ax = figure.axes[0]
    (image,) = ax.images
    np.testing.assert_array_equal(np.asarray(image.get_array()), instance.unary[:, pair.truth])
    frames = {(to_hex(one.get_edgecolor()).upper(), *np.round(np.array(one.get_center()))) for one in ax.patches}
    place = np.argsort(pair.truth)
    wrong = {(plotting.WRONG, place[j], i) for i, j in enumerate(cheapest) if j != pair.truth[i]}
    assert frames == {(plotting.RIGHT, k, k) for k in range(6)} | wrong
    assert f"In {len(wrong)} rows the true partner is not the cheapest" in figure._repr_png_()[1]["alt"]


def test_costs_of_another_pair_are_refused(pair: KeypointPair) -> None:
    other = KeypointPair(pair.source, pair.target, pair.kept1[:4], pair.kept2)
    with pytest.raises(ValueError, match=r"costs of the shape \(4, 6\) for 6 x 6 keypoints"):
        plotting.plot_costs(pair, geometric_instance(other), 0, 0)
    with pytest.raises(ValueError, match=r"costs of the shape \(4, 6\) for 6 x 6 keypoints"):
        plotting.plot_vertex_costs(pair, geometric_instance(other))


def test_bounds_are_in_per_cent_of_the_optimum() -> None:
    figure = plotting.plot_bounds(
        {"easy": {"dual": TRACE}, "hard": {"dual": TRACE[:2]}}, [-10.0, -20.0], {"dual": "it"}
    )
    easy, hard = figure.axes
    np.testing.assert_allclose(heights(easy.lines[0]), [100, 10, 0])
    np.testing.assert_allclose(heights(easy.lines[1]), [-20, -10, -5])
    np.testing.assert_allclose(heights(hard.lines[0]), [100, 55])
    assert easy.get_title() == "dual"
    assert hard.get_xlabel() == "it"
    assert sorted(text.get_text() for text in easy.texts) == ["-5.0 %", "0 %"]
    with pytest.raises(ValueError, match="1 instances and 2 optima"):
        plotting.plot_bounds({"easy": {"dual": TRACE}}, [-1.0, -1.0], {"dual": "it"})
    with pytest.raises(ValueError, match="must be below zero"):
        plotting.plot_bounds({"easy": {"dual": TRACE}}, [0.0], {"dual": "it"})


def test_relaxations_show_every_instance_and_the_mean() -> None:
    gaps = pd.DataFrame({"weak": [4.0, 8.0], "strong": [0.0, 1.0]})
    ax = plotting.plot_relaxations(gaps).axes[0]
    assert [text.get_text() for text in ax.texts] == ["6.0 %", "0.5 %"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["weak", "strong"]
    drawn = [line.get_xdata() for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(drawn, gaps.to_numpy().T)
    with pytest.raises(ValueError, match="no gaps to draw"):
        plotting.plot_relaxations(gaps[:0])


def test_solver_table_says_what_is_known(figures: pd.DataFrame) -> None:
    ax = plotting.plot_solver_table(figures, ["mine"]).axes[0]
    cells = {text.get_position(): text.get_text() for text in ax.texts}
    assert cells == {
        (0, 0): "0 %\n3 of 3\n0.25 ms",
        (1, 0): "2–7 %",
        (2, 0): "0.5 %\n1 of 3\n1.2–4 s",
        (2, 1): "163 %\n112 ms",
    }
    colours: np.ndarray = np.ma.filled(np.ma.asarray(ax.images[0].get_array()), np.nan)
    assert np.isnan(colours[1, :2]).all()
    assert colours[1, 2] > colours[0, 2] > colours[0, 0]


def test_time_and_gap_are_drawn_where_both_are_known(figures: pd.DataFrame, tmp_path: Path) -> None:
    figure = plotting.plot_time_and_gap(figures, ["mine"])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["mine", "peer"]
    one, two, hidden = figure.axes
    points = [line for line in one.lines if line.get_marker() != "None"]
    assert [(np.asarray(line.get_xdata())[0], heights(line)[0]) for line in points] == [
        (0.25, 0.01),
        (pytest.approx(np.sqrt(1200 * 4000)), 0.5),
    ]
    assert heights(two.lines[-1])[0] == 163
    assert not hidden.get_visible()
    first = [path.read_bytes() for path in plotting.save_figure(figure, tmp_path / "a")]
    again = plotting.save_figure(plotting.plot_time_and_gap(figures, ["mine"]), tmp_path / "b")
    assert [path.read_bytes() for path in again] == first


def test_nothing_to_draw_is_an_error(figures: pd.DataFrame) -> None:
    for plot in (plotting.plot_solver_table, plotting.plot_time_and_gap):
        with pytest.raises(ValueError, match="no figures to draw"):
            plot(figures[:0], ["mine"])


def test_a_matching_below_the_best_known_value_has_a_negative_gap(figures: pd.DataFrame) -> None:
    better = figures.assign(gap_percent=[2.0, 0.5, -0.0116, 163.0])
    texts = [text.get_text() for text in plotting.plot_solver_table(better, ours=["mine"]).axes[0].texts]
    assert any(text.startswith("−0.012 %\n3 of 3") for text in texts)
    assert not any(text.startswith(" %") for text in texts)


def test_scaling_shows_every_size_and_the_exponent() -> None:
    n = np.array([100, 300, 1000, 3000])
    rows = [pd.DataFrame({"kind": k, "n": n, "seconds": n**p / 1e6, "mib": 0.5 * n}) for k, p in (("a", 1.5), ("b", 2))]
    figures = pd.concat(rows, ignore_index=True)
    assert growth(n.astype(float), 7.0 * n**1.25) == pytest.approx((1.25, 7.0))
    time, memory = plotting.plot_scaling(figures).axes
    assert [text.get_text() for text in time.texts] == ["$n^{1.5}$", "$n^{2.0}$"]
    assert [text.get_text() for text in memory.texts] == ["$n^{1.0}$"] * 2
    drawn = [line for line in time.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(heights(drawn[0]), n**1.5 / 1e6)
    assert (time.get_xscale(), time.get_yscale()) == ("log", "log")
    for wrong, message in (
        (figures[:0], "bbgm bench scaling --record"),
        (figures.assign(effort=["fast", "default"] * 4), "several efforts"),
        (figures[:5], "'b' has a single size"),
    ):
        with pytest.raises(ValueError, match=message):
            plotting.plot_scaling(wrong)


def test_effort_shows_profiles_ends_proofs_and_peers(figures: pd.DataFrame) -> None:
    columns = ["family", "effort", "after_ms", "gap_percent", "proofs", "ms", "runs"]
    rows = [
        ("one", "fast", np.nan, 2.0, 1, 3.0, 2),
        ("one", "fast", 1.0, 8.0, 0, np.nan, 2),
        ("one", "fast", 4.0, 2.0, 1, np.nan, 2),
        ("one", "thorough", np.nan, 0.0, 2, 30.0, 2),
        ("one", "thorough", 32.0, 0.0, 2, np.nan, 2),
        ("two", "fast", np.nan, 5.0, 0, 3.0, 2),
    ]
    peers = figures[figures["solver"] == "peer"]
    figure = plotting.plot_effort(pd.DataFrame(rows, columns=columns), peers)
    one, two, hidden = figure.axes
    assert not hidden.get_visible()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["fast", "thorough", "peer"]
    profile = next(line for line in one.lines if line.get_drawstyle() == "steps-post")
    assert np.asarray(profile.get_xydata()).tolist() == [[1, 8], [4, 2]]
    ends = {
        (ax.get_title(), str(line.get_marker()), line.get_fillstyle(), *np.asarray(line.get_xydata())[0])
        for ax in (one, two)
        for line in ax.lines
        if np.size(line.get_xdata()) == 1 and line.get_drawstyle() == "default"
    }
    assert ends == {
        ("one", "o", "left", 3.0, 2.0),
        ("one", "s", "full", 30.0, 0.01),
        ("one", "x", "full", 1200.0, 0.5),
        ("two", "o", "none", 3.0, 5.0),
        ("two", "x", "full", 112.0, 163.0),
    }
    with pytest.raises(ValueError, match="bbgm bench effort --record"):
        plotting.plot_effort(pd.DataFrame(columns=columns), peers)
