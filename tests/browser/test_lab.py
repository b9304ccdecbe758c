"""The widgets as a user meets them: in JupyterLab, with a mouse, offline."""

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Lab, Seen

pytestmark = pytest.mark.slow

TRIANGLE = [(0.3, 0.3), (0.7, 0.35), (0.5, 0.75)]
"""Where three keypoints are clicked, as shares of an image's width and height."""
SMOKE = {"budget": "smoke"}
COARSE = {"points": 5, "stops": 5, "fineness": 9}
"""Parameters with which notebook 01 is quick."""


def open_and_run(page: Page, lab: Lab, notebook: str, parameters: dict[str, Any] | None = None) -> None:
    """Open a notebook of this JupyterLab, with other parameters if any are given, and run all of its cells."""
    if parameters is not None:
        path = lab.folder / notebook
        nbformat.write(parameterize_notebook(load_notebook_node(str(path)), parameters), path)
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
    open_and_run(page, lab, "01_loss_landscape.ipynb", COARSE)
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


def test_the_matching_of_a_pair_is_played(page: Page, lab: Lab, seen: Seen, pictures: Path) -> None:
    open_and_run(page, lab, "04_training.ipynb", SMOKE)
    frames = page.locator(".bbgm-frames")
    slider, picture = frames.get_by_label("training"), frames.locator("img")
    expect(slider).to_have_value("0")
    expect(picture).to_have_attribute("alt", re.compile("^training: after 0 iterations: "))
    frames.screenshot(path=pictures / "04-first.png")
    frames.get_by_role("button").click()
    expect(slider).to_have_value("5")
    expect(picture).to_have_attribute("alt", re.compile("^training: after 10 iterations: "))
    expect(frames.get_by_title("Play")).to_be_visible()
    frames.screenshot(path=pictures / "04-last.png")
    assert seen.errors == []
    assert seen.outside == []


LAZY = """
from bbgm.widgets import matchings
matchings.MANY = 0
gallery("voc", budget=budget, methods=["bbgm", "dgmc"]).save("matchings.html")
"""
"""Only the images that are shown are sent to the gallery after this, whose page has all of them."""


def caption(gallery: Locator, place: int) -> tuple[str, int, int]:
    """Method, right matches and true ones of a picture."""
    found = re.fullmatch(r"(.+?)(\d+) of (\d+) right", gallery.locator("figcaption").nth(place).text_content() or "")
    assert found
    return found[1], int(found[2]), int(found[3])


def use(gallery: Locator, pictures: Path, name: str) -> None:
    """Choose, sort and turn pages as a user does."""
    status, cells = gallery.locator(".bbgm-status"), gallery.locator(".bbgm-cell")
    expect(status).to_have_text("Pairs 1 to 5 of 100")
    expect(cells).to_have_count(10)
    expect(gallery.locator("image[href^=blob]")).to_have_count(20)
    gallery.screenshot(path=pictures / f"{name}-worst.png")
    title, right, total = caption(gallery, 0)
    gallery.get_by_role("button", name="▶").click()
    expect(status).to_have_text("Pairs 6 to 10 of 100")
    expect(gallery.locator("image[href^=blob]")).to_have_count(20)
    assert total - right >= caption(gallery, 0)[2] - caption(gallery, 0)[1]
    gallery.get_by_label("Class", exact=True).select_option("person")
    expect(status).to_have_text("Pairs 1 to 5 of 20")
    gallery.get_by_label("to", exact=True).fill("1")
    expect(status).to_have_text(re.compile(r"of 1?\d$"))  # some of them
    gallery.get_by_label("Sort by").select_option("better than all others")
    expect(gallery.locator("h4").first).to_contain_text("person/")
    for place in range(0, cells.count(), 2):
        method, right, total = caption(gallery, place)
        assert method == title
        assert total - right <= 1
    margins = [caption(gallery, k)[1] - caption(gallery, k + 1)[1] for k in range(0, cells.count(), 2)]
    assert margins == sorted(margins, reverse=True)
    gallery.get_by_role("checkbox", name="DGMC").uncheck()
    count = int((status.text_content() or "").rpartition(" ")[2])
    expect(status).to_have_text(f"Pairs 1 to {min(15, count)} of {count}")  # beside each other
    cells.first.get_by_role("button").click()
    expect(cells.first).to_have_class(re.compile("bbgm-large"))
    gallery.screenshot(path=pictures / f"{name}-person.png")


def test_the_matchings_of_all_pairs_are_searched(page: Page, lab: Lab, seen: Seen, pictures: Path) -> None:
    """In a notebook with all images, with those that are shown, and on the page that is written, without a kernel."""
    content = nbformat.read(lab.folder / "06_pascal_voc.ipynb", as_version=4)
    (cell,) = [cell for cell in content.cells if cell.id == "gallery"]
    lazy = nbformat.v4.new_code_cell(LAZY + cell.source)
    content.cells.insert(content.cells.index(cell) + 1, lazy)
    nbformat.write(content, lab.folder / "06_pascal_voc.ipynb")
    open_and_run(page, lab, "06_pascal_voc.ipynb", SMOKE)
    galleries = page.locator(".bbgm-gallery")
    expect(galleries).to_have_count(2)
    for place, name in enumerate(("06-gallery", "06-gallery-lazy")):
        use(galleries.nth(place), pictures, name)
    assert seen.errors == []
    assert seen.outside == []
    page.goto((lab.folder / "matchings.html").as_uri())
    use(page.locator(".bbgm-gallery"), pictures, "06-page")
    assert seen.errors == []
    assert [url for url in seen.outside if not url.startswith("file:")] == []
