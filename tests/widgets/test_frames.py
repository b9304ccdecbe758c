"""The slider over figures, and what stands for it without a kernel."""

import base64

import pytest

from bbgm.plotting import new_figure
from bbgm.widgets import Frames


def test_frames_are_pictures_in_order() -> None:
    figures = []
    for k in range(3):
        figure = new_figure(1, 1)
        figure.text(0.5, 0.5, str(k))
        figures.append((f"step {k}", figure))
    frames = Frames(figures, title="training", start=1)
    assert frames.labels == ["step 0", "step 1", "step 2"]
    assert len(set(frames.frames)) == 3
    assert all(one.startswith(b"\x89PNG") for one in frames.frames)
    data, _ = frames._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]) == frames.frames[1]
    assert data["text/plain"] == "training: step 1 (2 of 3 pictures)"


def test_another_figure_can_stand_for_them() -> None:
    still = new_figure(1, 2, alt="the first and the last")
    frames = Frames([(str(k), new_figure(1, 1)) for k in range(2)], title="training", still=still, pause=700)
    data, metadata = frames._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]) == still._repr_png_()[0] != frames.frames[0]
    assert metadata["image/png"]["alt"] == "the first and the last"
    assert frames.pause == 700


@pytest.mark.parametrize(("count", "start"), [(0, 0), (2, 2), (2, -1)])
def test_a_start_that_is_not_a_figure(count: int, start: int) -> None:
    with pytest.raises(ValueError, match=f"start is {start}, and there are {count} figures"):
        Frames([(str(k), new_figure(1, 1)) for k in range(count)], title="none", start=start)
