"""The widgets as a user meets them: in JupyterLab, with a mouse, offline."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Lab, Seen

pytestmark = pytest.mark.slow


def open_and_run(page: Page, lab: Lab, notebook: str) -> None:
    """Open a notebook and run all of its cells."""
    page.goto(lab.page_of(notebook))
    page.locator(".jp-Notebook").wait_for()
    page.get_by_text("| Idle").wait_for()  # what is asked of a kernel that starts may be lost
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def spot(stage: Locator, side: int, x: float, y: float) -> tuple[float, float]:
    """Where on the page a point of one of the two images is; x and y are shares of its width and height."""
    box = stage.locator("image").nth(side).bounding_box()
    assert box is not None
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


TRIANGLE = [(0.3, 0.3), (0.7, 0.35), (0.5, 0.75)]


def test_keypoints_are_clicked_dragged_and_hidden(page: Page, lab: Lab, seen: Seen, pictures: Path) -> None:
    open_and_run(page, lab, "14_your_images.ipynb")
    editor = page.locator(".bbgm-editor")
    editor.wait_for()
    stage, status = editor.locator(".bbgm-stage"), editor.locator(".bbgm-status")
    matches, points = stage.locator(".bbgm-match"), stage.locator(".bbgm-point")
    expect(matches).to_have_count(10)
    expect(status).to_contain_text("10 of 10 right")
    stage.scroll_into_view_if_needed()
    page.screenshot(path=pictures / "14-start.png")

    editor.get_by_label("Solver").select_option("unary")
    expect(status).to_contain_text("a cheaper matching may exist")
    page.screenshot(path=pictures / "14-unary.png")
    editor.get_by_label("Solver").select_option("best")

    for side in (0, 1):
        editor.get_by_role("button", name="Clear keypoints").nth(side).click()
    expect(points).to_have_count(0)
    for side in (0, 1):
        for place in TRIANGLE:
            page.mouse.click(*spot(stage, side, *place))
    expect(points).to_have_count(6)
    expect(matches).to_have_count(3)
    expect(status).to_contain_text("3 matches")
    page.screenshot(path=pictures / "14-three.png")
