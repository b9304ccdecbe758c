"""The widgets as a user meets them: in JupyterLab, with a mouse, offline."""

import json
from pathlib import Path

import nbformat
import pytest
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Lab, Seen

pytestmark = pytest.mark.slow

TRIANGLE = [(0.3, 0.3), (0.7, 0.35), (0.5, 0.75)]
"""Where three keypoints are clicked, as shares of an image's width and height."""
COARSE = {"points": 5, "stops": 5, "fineness": 9}
"""Parameters with which notebook 01 is quick."""


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


def test_keypoints_are_clicked_dragged_and_hidden(page: Page, lab: Lab, seen: Seen, pictures: Path) -> None:
    open_and_run(page, lab, "14_your_images.ipynb")
    editor = page.locator(".bbgm-editor")
    stage, status = editor.locator(".bbgm-stage"), editor.locator(".bbgm-status")
    matches, points = stage.locator(".bbgm-match"), stage.locator(".bbgm-point")
    expect(matches).to_have_count(10)
    expect(status).to_contain_text("10 of 10 right")
    expect(status).to_contain_text("proved optimal")
    stage.scroll_into_view_if_needed()
    editor.screenshot(path=pictures / "14-named.png")
    editor.get_by_label("Solver").select_option("unary")
    expect(status).to_contain_text("a cheaper matching may exist")
    editor.screenshot(path=pictures / "14-unary.png")
    editor.get_by_label("Solver").select_option("best")

    for side in (0, 1):
        editor.get_by_role("button", name="Clear keypoints").nth(side).click()
    expect(points).to_have_count(0)
    expect(status).to_contain_text("3 more on the left and 3 more on the right")
    for side in (0, 1):
        for place in TRIANGLE:
            page.mouse.click(*spot(stage, side, *place))
    expect(points).to_have_count(6)
    expect(matches).to_have_count(3)
    expect(status).to_contain_text("3 matches")
    page.screenshot(path=pictures / "14-three.png")

    before = status.text_content()
    x, y = spot(stage, 0, *TRIANGLE[0])
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y + 60, steps=5)
    page.mouse.up()
    expect(status).not_to_have_text(str(before))
    expect(matches).to_have_count(3)

    cells, before = page.locator(".jp-Cell").count(), status.text_content()
    stage.press("Shift+ArrowDown")
    expect(status).not_to_have_text(str(before))
    editor.get_by_role("button", name="Hide").click()
    expect(status).to_contain_text("1 more on the left")
    expect(stage.locator(".bbgm-hidden")).to_have_count(1)
    stage.press("h")
    expect(matches).to_have_count(3)
    with page.expect_download() as download:
        editor.get_by_role("button", name="Download keypoints").first.click()
    stored = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert [len(xy) for xy in stored] == [2, 2, 2]
    stage.press("Delete")
    expect(points).to_have_count(5)
    assert page.locator(".jp-Cell").count() == cells, "the key was taken for the cell"
    assert seen.errors == []
    assert seen.outside == []


def test_an_image_is_uploaded(page: Page, lab: Lab, seen: Seen, pictures: Path, project: Path) -> None:
    """In the kernel of the test before, if that ran."""
    open_and_run(page, lab, "14_your_images.ipynb")
    editor = page.locator(".bbgm-editor")
    expect(editor.locator(".bbgm-match")).to_have_count(10)
    chosen = pictures / "14-chosen.png"
    editor.screenshot(path=chosen)
    editor.locator("input[type=file]").nth(1).set_input_files(chosen)
    expect(editor.locator(".bbgm-name").nth(1)).to_contain_text("14-chosen.png")
    expect(editor.locator(".bbgm-point")).to_have_count(10)
    expect(editor.locator(".bbgm-status")).to_contain_text("3 more on the right")
    editor.screenshot(path=pictures / "14-upload.png")
    assert seen.errors == []


def test_the_slider_moves_the_landscape(page: Page, lab: Lab, seen: Seen, pictures: Path) -> None:
    path = lab.folder / "01_loss_landscape.ipynb"
    nbformat.write(parameterize_notebook(load_notebook_node(str(path)), COARSE), path)
    open_and_run(page, lab, path.name)
    frames = page.locator(".bbgm-frames")
    slider, picture = frames.get_by_label("λ"), frames.locator("img")
    expect(slider).to_have_value("2")
    sources = {picture.get_attribute("src")}
    for key in ("ArrowRight", "ArrowRight", "Home"):
        label = picture.get_attribute("alt")
        slider.press(key)
        expect(picture).not_to_have_attribute("alt", str(label))
        sources.add(picture.get_attribute("src"))
        frames.screenshot(path=pictures / f"01-{slider.input_value()}.png")
    assert len(sources) == 4
    frames.get_by_role("button").click()
    expect(slider).to_have_value("4")
    expect(page.get_by_text("def blackbox(").first).to_be_visible()
    assert seen.errors == []
    assert seen.outside == []
