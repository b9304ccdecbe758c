"""Steps from one row of a table to another."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bbgm import plotting
from bbgm.tables import Table

SCORES = {"BB-GM": [80.0, 82.0, 84.0], "Sinkhorn": [85.0, 86.0, 87.0], "Unary Costs": [81.0]}


def three_rows() -> Table:
    runs = [
        {"method": name, "setting": "", "seed": seed, "mean": score}
        for name, scores in SCORES.items()
        for seed, score in enumerate(scores)
    ]
    frame = pd.DataFrame(columns=["method", "setting", "row", "mean", "n", "pairs"])
    return Table("PascalVOCAblation", "T", ("mean",), frame, (), runs=pd.DataFrame(runs))


def test_each_step_starts_where_the_last_one_ended(tmp_path: Path) -> None:
    figure = plotting.plot_steps(three_rows(), ["BB-GM", "Unary Costs", "Sinkhorn"])
    ax = figure.axes[0]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    np.testing.assert_allclose(ends, [(82, 82), (82, 81), (81, 86)])
    assert [text.get_text() for text in ax.texts] == ["82.0", "81.0 (-1.0)", "86.0 (+5.0)"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["BB-GM", "Unary Costs", "Sinkhorn"]
    low, high = ax.get_xlim()
    assert low < 79.9  # room for the outermost marks
    assert high > 87.1
    plotting.save_figure(figure, tmp_path / "steps")


def test_intervals_are_those_of_the_mean_over_runs() -> None:
    """Of three runs with a deviation of 2: 4.303 * 2 / sqrt(3) each way; one run has none."""
    figure = plotting.plot_steps(three_rows(), ["BB-GM", "Unary Costs"])
    (bar,) = (container for container in figure.axes[0].containers if getattr(container, "has_xerr", False))
    (segment,) = bar.lines[2][0].get_segments()
    np.testing.assert_allclose(segment[:, 0], [82 - 4.3027 * 2 / 3**0.5, 82 + 4.3027 * 2 / 3**0.5], atol=1e-3)


def test_two_sets_are_joined_with_the_largest_difference_on_top() -> None:
    first = pd.Series({"bird": 80.0, "bus": 90.0, "boat": 50.0, "cow": 1.0}, name="once")
    second = pd.Series({"bird": 81.0, "bus": 90.0, "boat": 44.0}, name="again")
    ax = plotting.plot_two_sets(first, second).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["bus", "bird", "boat"]
    assert [text.get_text() for text in ax.texts] == ["+0.0", "+1.0", "-6.0"]
    assert [np.asarray(line.get_xdata()).tolist() for line in ax.lines] == [[90, 80, 50], [90, 81, 44]]
    with pytest.raises(ValueError, match="'once' and 'other' have no column in common"):
        plotting.plot_two_sets(first, second.rename({"bird": "x", "bus": "y", "boat": "z"}).rename("other"))


@pytest.mark.parametrize("steps", [[], ["BB-GM", "Nobody"]])
def test_unknown_steps_name_the_rows(steps: list[str]) -> None:
    with pytest.raises(ValueError, match=r"are not rows of PascalVOCAblation: \['BB-GM', 'Sinkhorn', 'Unary Costs'\]"):
        plotting.plot_steps(three_rows(), steps)
