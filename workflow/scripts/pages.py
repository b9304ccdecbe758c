"""Notebooks as HTML pages that need no network: `python workflow/scripts/pages.py FOLDER NOTEBOOK...`

nbconvert's own pages load MathJax and two other programs from elsewhere. Here MathJax, of the package
django-static-mathjax, is part of each page with formulas, as pictures are. Links between notebooks lead to the pages.
"""

import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import nbformat
from jinja2 import DictLoader
from nbconvert import HTMLExporter

from bbgm.base.atomic import write_text

MATHJAX = files("mathjax") / "static" / "mathjax" / "es5" / "tex-svg-full.js"  # with all fonts and extensions
TEMPLATE = """
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}<script id="mathjax"></script>{%- endblock -%}
"""
PLACE = '<script id="mathjax"></script>'
SETTINGS = r"""MathJax = {
  tex: {inlineMath: [["$", "$"], ["\\(", "\\)"]], processEscapes: true, tags: "ams"}, svg: {fontCache: "global"}
};"""


def make_page(notebook: Any) -> str:
    """The page of an executed notebook.

    Args:
        notebook: as nbformat reads it.
    """
    prose = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    for cell in prose:
        cell.source = re.sub(r"(\]\(\d\d_\w+)\.ipynb", r"\1.html", cell.source)
    notebook.metadata.title = prose[0].source.partition("\n")[0].lstrip("# ") if prose else ""
    exporter = HTMLExporter(
        extra_loaders=[DictLoader({"page.html.j2": TEMPLATE})], template_file="page.html.j2", embed_images=True
    )
    page, _ = exporter.from_notebook_node(notebook)
    mathjax = MATHJAX.read_text(encoding="utf-8").replace("</script", r"<\/script")
    scripts = f"<script>{SETTINGS}</script>\n<script>{mathjax}</script>"
    return str(page).replace(PLACE, scripts if any("$" in cell.source for cell in prose) else "")


def main(folder: str, *notebooks: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path in map(Path, notebooks):
        write_text(Path(folder) / f"{path.stem}.html", make_page(nbformat.read(path, as_version=4)))


if __name__ == "__main__":
    main(*sys.argv[1:])
