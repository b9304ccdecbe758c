"""Tables as figures: what is drawn. How it looks is judged by eye."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from bbgm import plotting
from tests.support.figures import table


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
