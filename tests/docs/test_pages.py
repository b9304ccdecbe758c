"""Notebooks as pages: nothing is loaded from elsewhere, and formulas have what sets them."""

import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

from tests.support.notebooks import NOTEBOOKS
from tests.support.scripts import load_script

pages = load_script("workflow/scripts/pages.py")


class Loaded(HTMLParser):
    """Addresses of what a browser loads with a page, and the text of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.pictures = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "img", "link", "iframe", "source", "video"):
            self.addresses += [value for key in ("src", "href") if (value := values.get(key))]
        self.pictures += tag == "img"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_page_needs_no_network(notebook: Path) -> None:
    content = nbformat.read(notebook, as_version=4)
    drawn = sum("image/png" in output.get("data", {}) for cell in content.cells for output in cell.get("outputs", []))
    formulas = any("$" in cell.source for cell in content.cells if cell.cell_type == "markdown")
    page = pages.make_page(content)
    loaded = Loaded(page)
    assert [address[:80] for address in loaded.addresses if not address.startswith("data:")] == []
    assert re.findall(r"(?:import|url)\([\"']?https?://[^)]*\)", page) == []
    assert loaded.pictures >= drawn > 0
    program = pages.MATHJAX.read_text(encoding="utf-8")[:200]
    assert ("MathJax = {" in page) == (program in page) == formulas
    assert re.findall(r"href=\"\d\d_\w+\.ipynb", page) == []


def test_pages_are_written_with_their_titles(tmp_path: Path) -> None:
    pages.main(str(tmp_path / "pages"), str(NOTEBOOKS[0]))
    page = (tmp_path / "pages" / f"{NOTEBOOKS[0].stem}.html").read_text(encoding="utf-8")
    assert "<title>Start here</title>" in page
    assert 'href="01_loss_landscape.html"' in page
