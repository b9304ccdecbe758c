"""Accuracy by the share of wrong labels."""

import numpy as np
import pandas as pd
import pytest

from bbgm import plotting

SCORES = pd.DataFrame(
    [
        ("BB-GM", 10, 80.0, 1.0),
        ("BB-GM", 0, 85.0, 0.5),
        ("I-MLE", 0, 84.0, 0.5),
        ("I-MLE", 10, 83.0, np.nan),  # a single run
        ("Hinge", 0, 86.0, 0.5),
        ("Hinge", 10, 79.0, 2.0),
    ],
    columns=["method", "share", "value", "std"],
)


def test_each_method_has_a_panel_with_the_baseline_in_the_order_of_shares() -> None:
    figure = plotting.plot_wrong_labels(SCORES, "BB-GM")
    panels = [ax for ax in figure.axes if ax.axison]
    assert [ax.get_title() for ax in panels] == ["I-MLE", "Hinge"]
    for ax, own in zip(panels, ([84, 83], [86, 79]), strict=True):
        drawn = [(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()) for line in ax.lines]
        assert drawn == [([0, 10], [85, 80]), ([0, 10], own)]
    bands = [path.get_extents() for path in (collection.get_paths()[0] for collection in panels[0].collections)]
    np.testing.assert_allclose([(b.y0, b.y1) for b in bands], [(79, 85.5), (83, 84.5)])


def test_a_missing_baseline_names_the_methods() -> None:
    with pytest.raises(ValueError, match=r"methods \['I-MLE'\]: expected 'BB-GM' and at least one other"):
        plotting.plot_wrong_labels(SCORES[SCORES["method"] == "I-MLE"], "BB-GM")
    with pytest.raises(ValueError, match=r"methods \['BB-GM'\]"):
        plotting.plot_wrong_labels(SCORES[SCORES["method"] == "BB-GM"], "BB-GM")
