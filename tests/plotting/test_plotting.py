"""Figures: what is drawn, and the same bytes each time. How they look is judged by eye."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.text import Text

from bbgm import plotting
from bbgm.config import ProtocolConfig, make_data
from bbgm.data import open_dataset
from bbgm.data import test_pairs as draw_test_pairs
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.tables import Table
from tests.support.images import grey_image

N = 6


@pytest.fixture
def pair(tmp_path: Path) -> KeypointPair:
    """Two grey images with six common keypoints, and one more that only the source has."""
    generator = np.random.default_rng(0)
    images = [
        grey_image(tmp_path, name, generator.uniform(10, 246, (count, 2))) for name, count in (("a", N + 1), ("b", N))
    ]
    return KeypointPair(images[0], images[1], generator.permutation(N + 1), generator.permutation(N))


def match_lines(ax: Axes) -> list[Line2D]:
    """The lines between keypoints; the others are markers."""
    return [line for line in ax.lines if len(heights(line)) == 2 and line.get_linestyle() != "None"]


def heights(line: Line2D) -> np.ndarray:
    return np.asarray(line.get_ydata(), dtype=float)


def table(published: bool = True) -> Table:
    frame = pd.DataFrame(
        {
            "method": "BB-GM",
            "setting": "Pt=no;Wt=yes",
            "row": ["obtained", "std", "published", "difference"],
            "cup": [90.0, 1.0, np.nan, np.nan],
            "mean": [90.0, np.nan, 97.0, -7.0],
            "n": pd.array([1, 1, 20, None], dtype="Int64"),
        }
    )
    runs = pd.DataFrame({"method": ["BB-GM"], "setting": "Pt=no;Wt=yes", "seed": 0, "cup": 90.0, "mean": 90.0})
    title = "Accuracy (%), budget demo"
    return Table("Willow", title, ("cup", "mean"), frame if published else frame[:2], (), runs=runs)


def history(length: int, seed: int) -> pd.DataFrame:
    iterations = np.arange(1, length + 1)
    values = np.random.default_rng(seed).uniform(size=length)
    epochs = 1 + (iterations > length // 2)
    return pd.DataFrame({"epoch": epochs, "iteration": iterations, "loss": values, "accuracy": values})


def test_right_is_green_and_solid_and_wrong_red_and_dashed(pair: KeypointPair) -> None:
    assignment = pair.truth.copy()
    first, second = np.flatnonzero(assignment >= 0)[:2]
    assignment[[first, second]] = assignment[[second, first]]
    figure = plotting.plot_matchings([pair], [assignment])
    styles = [(to_hex(line.get_color()).upper(), line.is_dashed()) for line in match_lines(figure.axes[0])]
    assert styles.count((plotting.RIGHT, False)) == N - 2
    assert styles.count((plotting.WRONG, True)) == 2
    assert figure.axes[0].get_title() == f"Cup: {N - 2} of {N}"


def test_lines_end_at_the_keypoints(pair: KeypointPair) -> None:
    ax = plotting.plot_matchings([pair], [pair.truth]).axes[0]
    ends = np.array([line.get_xydata() for line in match_lines(ax)])
    matched = pair.truth >= 0
    # The pictures are 60 x 40 px: squeezed to a square for the network, drawn as wide as they are.
    np.testing.assert_allclose(ends[:, 0], pair.source.xy[pair.kept1][matched] * [1.5, 1])
    target = pair.target.xy[pair.kept2][pair.truth[matched]] * [1.5, 1]
    np.testing.assert_allclose(ends[:, 1] - target, np.tile([1.5 * 256 + 16, 0], (N, 1)))


def test_a_part_of_a_picture_has_its_own_shape_and_a_view_is_square(pair: KeypointPair) -> None:
    upright = replace(pair.source, box=(10, 0, 30, 40))
    turned = replace(pair.target, view=(1, 0, 0, 0, 1, 0))
    ax = plotting.plot_matchings([replace(pair, source=upright, target=turned)], [pair.truth]).axes[0]
    extents = [tuple(image.get_extent()) for image in ax.images]
    assert extents == [(0, 128, 256, 0), (144, 400, 256, 0)]


def test_no_match_at_all_and_edges_can_be_drawn(pair: KeypointPair) -> None:
    figure = plotting.plot_matchings([pair], [np.full(N + 1, -1)], edges=True)
    assert not match_lines(figure.axes[0])
    assert figure.axes[0].get_title() == f"Cup: 0 of {N}"
    assert len(figure.axes[0].collections) == 4


@pytest.mark.parametrize("assignment", [[0], [99] * (N + 1), [-2] * (N + 1)])
def test_an_assignment_that_does_not_fit_is_refused(pair: KeypointPair, assignment: list[int]) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        plotting.plot_matchings([pair], [np.array(assignment)])


def test_a_gallery_needs_as_many_assignments_as_pairs(pair: KeypointPair) -> None:
    with pytest.raises(ValueError, match="2 pairs, 1 assignments"):
        plotting.plot_matchings([pair, pair], [pair.truth])
    with pytest.raises(ValueError, match="edges has 3 values for 2 pairs"):
        plotting.plot_matchings([pair, pair], [pair.truth] * 2, edges=[True, False, True])


def test_edges_are_drawn_in_the_cells_that_ask_for_them(pair: KeypointPair) -> None:
    figure = plotting.plot_matchings([pair, pair], [pair.truth] * 2, edges=[False, True])
    assert [any(isinstance(drawn, LineCollection) for drawn in ax.collections) for ax in figure.axes] == [False, True]


def test_files_are_byte_identical_and_undated(pair: KeypointPair, tmp_path: Path) -> None:
    def draw(name: str) -> list[bytes]:
        figure = plotting.plot_matchings([pair, pair, pair], [pair.truth] * 3, edges=True)
        return [path.read_bytes() for path in plotting.save_figure(figure, tmp_path / "folder" / name)]

    first = draw("one.v1")  # a dot in the name is no suffix
    time.sleep(1.1)  # file formats count in seconds
    second = draw("two")
    assert first == second
    assert b"CreationDate" not in first[0]
    assert b"atplotlib" not in first[1][:200]
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == [
        "one.v1.pdf",
        "one.v1.png",
        "two.pdf",
        "two.png",
    ]


def test_other_suffixes_are_refused_and_leave_nothing(pair: KeypointPair, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'.jpg': use one of \['.pdf', '.png'\]"):
        plotting.draw_matching(pair, pair.truth, tmp_path / "x" / "match.jpg")
    assert not (tmp_path / "x").exists()


def test_showing_a_figure_in_a_notebook_does_not_change_its_file(pair: KeypointPair, tmp_path: Path) -> None:
    figure = plotting.plot_matchings([pair], [pair.truth])
    saved = plotting.save_figure(figure, tmp_path / "first")[1].read_bytes()
    shown, described = figure._repr_png_()
    assert shown.startswith(b"\x89PNG")
    assert described == {"alt": "A matching drawn on two images. Cup: 6 of 6."}
    assert plotting.save_figure(figure, tmp_path / "second")[1].read_bytes() == saved

    other = plotting.plot_matchings([pair], [pair.truth])
    assert other._repr_png_()[0] == shown
    assert plotting.save_figure(other, tmp_path / "third")[1].read_bytes() == saved


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


def test_labels_stay_within_the_figure() -> None:
    x = np.linspace(-0.85, 0.85, 9)
    values = np.add.outer(x**2, x**2)
    matrix = np.eye(N)
    for figure in (
        plotting.plot_loss_landscape(x, x, {f"$f_\\lambda$, {k}": values for k in range(4)}),
        plotting.plot_layer(matrix, matrix, matrix, matrix, matrix, np.arange(N)),
    ):
        figure.draw_without_rendering()
        texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        boxes = {text.get_text(): text.get_window_extent() for text in texts}
        width, height = figure.bbox.size
        outside = {name for name, b in boxes.items() if b.x0 < 0 or b.y0 < 0 or b.x1 > width or b.y1 > height}
        assert len(boxes) > 5
        assert not outside


def test_section_breaks_the_line_at_jumps() -> None:
    t = np.linspace(0, 1, 10)
    loss = np.where(t < 0.5, 2.0, 4.0)
    figure = plotting.plot_loss_section(t, loss, {2.0: 2 + 2 * t})
    drawn = heights(figure.axes[0].lines[0])
    assert np.isnan(drawn).sum() == 1
    with pytest.raises(ValueError, match="lambda = 2 has the shape"):
        plotting.plot_loss_section(t, loss, {2.0: t[1:]})


def test_comparison_marks_obtained_and_published(tmp_path: Path) -> None:
    figure = plotting.plot_table_comparison(table())
    expected = ["BB-GM, n = 1", "hollow: published"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == expected
    ax = figure.axes[0]
    assert "budget demo" in ax.get_title()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["cup", "mean"]
    marks = {line.get_markerfacecolor(): line for line in ax.lines if line.get_marker() == "o"}
    np.testing.assert_array_equal(np.asarray(marks.pop("white").get_xdata(), float), [np.nan, 97])
    (ours,) = marks.values()
    np.testing.assert_array_equal(np.asarray(ours.get_xdata(), float), [90, 90])
    plotting.save_figure(figure, tmp_path / "table")
    alone = plotting.plot_table_comparison(table(published=False))
    assert [text.get_text() for text in alone.legends[0].get_texts()] == ["BB-GM, n = 1"]
    plotting.save_figure(alone, tmp_path / "obtained")


def test_comparison_shows_each_run_their_mean_and_deviation(tmp_path: Path) -> None:
    """Three runs of one row and one of another, each in its lane of each column."""
    scores = {"cup": [80.0, 90.0, 94.0, 60.0], "mean": [70.0, 71.0, 72.0, 50.0]}
    runs = pd.DataFrame({"method": [*["BB-GM"] * 3, "Mine"], "setting": "Pt=no;Wt=yes", "seed": [0, 1, 2, 0], **scores})
    own = table().frame.query("row == 'obtained'")
    frame = pd.concat([own.assign(n=3), own.assign(method="Mine", n=1)], ignore_index=True)
    three = replace(table(), runs=runs, frame=frame)
    figures = [plotting.plot_table_comparison(three) for _ in range(2)]
    ax = figures[0].axes[0]
    dots = {tuple(np.round(dot, 6)) for lane in ax.collections for dot in np.asarray(lane.get_offsets())}
    assert dots == {
        *((80, -0.2), (90, -0.2), (94, -0.2), (60, 0.2)),
        *((70, 0.8), (71, 0.8), (72, 0.8), (50, 1.2)),
    }
    means = {line.get_marker(): np.round(np.asarray(line.get_xydata()), 6).tolist() for line in ax.lines}
    assert (means["o"], means["s"]) == ([[88, -0.2], [71, 0.8]], [[60, 0.2], [50, 1.2]])
    bars = [np.asarray(line.get_xdata()) for line in ax.lines if len(np.asarray(line.get_xdata())) == 8]
    ends = [[bar[0], bar[-1]] for bar in bars if not np.isnan(bar).all()]
    np.testing.assert_allclose(ends, [[88 - 52**0.5, 88 + 52**0.5], [70, 72]])  # one run alone has no deviation
    assert "pale: one run" in [text.get_text() for text in figures[0].legends[0].get_texts()]
    files = [plotting.save_figure(figure, tmp_path / str(k)) for k, figure in enumerate(figures)]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]


def test_comparison_shows_quoted_rows_as_ticks_and_leaves_counts_out() -> None:
    quoted = pd.DataFrame({"method": "NGM", "setting": "", "row": ["published"], "cup": [70.0], "mean": [80.0]})
    counts = pd.DataFrame({"method": "Unmatched (%)", "setting": "", "row": ["obtained"], "cup": [1.0], "mean": [2.0]})
    both = replace(table(), name="PascalVOCunfiltered", frame=pd.concat([table().frame, quoted, counts]))
    figure = plotting.plot_table_comparison(both)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["BB-GM, n = 1", "hollow: published", "quoted by the paper: 1"]
    ticks = [line for line in figure.axes[0].lines if line.get_marker() == "|" and line.get_color() == "0.6"]
    assert [np.asarray(line.get_xdata()).tolist() for line in ticks] == [[70, 80]]


def test_names_are_no_mathematics(pair: KeypointPair, tmp_path: Path) -> None:
    """What would be wrong as such is drawn as it is."""
    wrong = r"$\frac{$"
    odd = replace(pair, source=replace(pair.source, cls=wrong))
    named = replace(table(), frame=table().frame.assign(method=wrong), runs=table().runs.assign(method=wrong))
    figures = [
        plotting.plot_matchings([odd], [odd.truth]),
        plotting.plot_learning_curves({wrong: [history(3, 0)]}, window=1),
        plotting.plot_table_comparison(named),
    ]
    for k, figure in enumerate(figures):
        plotting.save_figure(figure, tmp_path / str(k))


def test_the_users_own_settings_change_nothing(pair: KeypointPair, tmp_path: Path) -> None:
    def draw(name: str) -> bytes:
        return plotting.save_figure(plotting.plot_matchings([pair], [pair.truth]), tmp_path / name)[1].read_bytes()

    plain = draw("plain")
    with mpl.rc_context({"font.size": 30, "savefig.dpi": 20, "axes.facecolor": "pink"}):
        assert draw("odd") == plain
        assert mpl.rcParams["font.size"] == 30


def test_importing_loads_no_matplotlib_and_drawing_no_pyplot(project: Path) -> None:
    code = (
        "import sys, bbgm.plotting as p; assert 'matplotlib' not in sys.modules; "
        "p.new_figure(1.0); assert 'matplotlib.pyplot' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_pairs_of_real_images_are_drawn(willow_folder: Path, tmp_path: Path) -> None:
    protocol = ProtocolConfig(test_pairs_per_class=2)
    dataset = open_dataset(make_data(source="original", classes=("Duck",)), protocol)
    pairs = draw_test_pairs(dataset, protocol, "Duck")
    figure = plotting.plot_matchings(pairs, [pair.truth for pair in pairs], edges=True)
    assert [ax.get_title() for ax in figure.axes] == ["Duck: 10 of 10"] * 2
    for path in plotting.save_figure(figure, tmp_path / "duck"):
        assert path.stat().st_size > 10_000
