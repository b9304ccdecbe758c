"""The files of figures, their text and their style."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.text import Text

from bbgm import plotting
from bbgm.data.sampling.pairs import KeypointPair
from tests.support.figures import history, table


def test_labels_stay_within_the_figure() -> None:
    x = np.linspace(-0.85, 0.85, 9)
    values = np.add.outer(x**2, x**2)
    matrix = np.eye(6)
    for figure in (
        plotting.plot_loss_landscape(x, x, {f"$f_\\lambda$, {k}": values for k in range(4)}),
        plotting.plot_layer(matrix, matrix, matrix, matrix, matrix, np.arange(6)),
    ):
        figure.draw_without_rendering()
        texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        boxes = {text.get_text(): text.get_window_extent() for text in texts}
        width, height = figure.bbox.size
        outside = {name for name, b in boxes.items() if b.x0 < 0 or b.y0 < 0 or b.x1 > width or b.y1 > height}
        assert len(boxes) > 5
        assert not outside


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
