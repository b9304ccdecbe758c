"""Sphinx: the README files, the notebooks as they are stored, and the docstrings, as one site. `make docs` builds it.

The root of the checkout is the source folder, so that pages and their links are the ones that GitHub shows. Nothing on
the site is loaded from elsewhere: MathJax is copied from the package django-static-mathjax.
"""

import os
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("BBGM_ROOT", str(ROOT))  # before bbgm is imported: `sphinx-build` may be started elsewhere
sys.path.insert(0, str(ROOT))

sys.path.insert(0, str(ROOT / "docs"))

from reference import prepare_docstring, write_pages  # noqa: E402

import bbgm  # noqa: E402

project = "BB-GM companion"
author = copyright = "BB-GM companion contributors"
version = release = bbgm.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]

root_doc = "docs/index"
include_patterns = ["docs/**", "notebooks/*.ipynb", "*.md", "*/README.md", "bbgm/*/README.md"]
exclude_patterns = [
    *(".*", "**/.*", "build", "cache", "data", "results", "weights", "figures/*/**", "tests", "docs/templates"),
    "**/requirements.*",
]
templates_path = [str(ROOT / "docs" / "templates")]  # a relative one would be sought in two places
suppress_warnings = ["ref.python"]  # bbgm and bbgm_demo both have a WriteError

# Markdown. Headings down to the fourth level are targets of links, with the names that GitHub gives them.
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the outputs are those in the files, which tests compare with new ones
nb_merge_streams = True

# Docstrings: Google's sections; a name in single backquotes is a link where there is such a name.
default_role = "py:obj"
autodoc_default_options = {"members": True, "ignore-module-all": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = [str(files("mathjax") / "static" / "mathjax" / "es5" / "tex-svg-full.js"), "style.css"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sphinx = False
html_additional_pages = {"index": "redirect.html"}  # the root of the site leads to docs/index.html
mathjax_path = "tex-svg-full.js"

linkcheck_anchors = False
linkcheck_timeout = 20


def leave_out_what_only_github_has(_app: Any, _name: str, source: list[str]) -> None:
    """The badges of the README that show how its workflows ended."""
    source[0] = re.sub(r"^\[!\[.*\]\(\.\./\.\./actions/.*\)\n", "", source[0], flags=re.MULTILINE)


def setup(app: Any) -> None:
    write_pages(ROOT / "docs" / "api")
    app.connect("source-read", leave_out_what_only_github_has)
    app.connect("autodoc-process-docstring", prepare_docstring, priority=100)  # before napoleon
