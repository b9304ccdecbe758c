"""The pages of the Python reference, one per folder, and docstrings as reStructuredText.

Docstrings are written to be read in an editor. Three things in them mean something else to Sphinx: a block that is set
off by spaces is a formula or an example, whose lines must stay as they are; so is a table in Markdown; and a bar is an
absolute value.
"""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, walk_packages
from typing import Any

PACKAGES = ("bbgm", "bbgm_solver", "bbgm_demo")
BEGIN, INDENT = "    ", re.compile(r" *")


def write_pages(folder: Path) -> None:
    """Write a page for each package, and for each folder of `bbgm` with all modules in it; only pages that change."""
    pages = {name: [name] for name in PACKAGES}
    for name in PACKAGES:
        path = import_module(name).__path__
        for module in iter_modules(path, f"{name}."):
            if not module.name.rpartition(".")[2].startswith("_"):
                inside = import_module(module.name).__path__ if module.ispkg else []
                names = [module.name, *(one.name for one in walk_packages(inside, f"{module.name}."))]
                pages.setdefault(module.name if name == "bbgm" else name, []).extend(names)
    folder.mkdir(exist_ok=True)
    for title, modules in pages.items():
        lines = [title, "=" * len(title), ""]
        for name in modules:
            lines += [] if name == title else [name, "-" * len(name), ""]
            lines += [f".. automodule:: {name}", ""]
        file, text = folder / f"{title}.rst", "\n".join(lines)
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def prepare(lines: list[str]) -> list[str]:
    """A docstring with literal blocks marked as such, and bars escaped."""
    done: list[str] = []
    literal: int | None = None  # the indentation of the text around a literal block
    for number, line in enumerate(lines):
        indent = len(INDENT.match(line)[0])  # type: ignore[index]
        if literal is not None and line.strip() and indent <= literal and not line.startswith("|"):
            literal = None
            done += [""] * bool(done[-1])
        if literal is None and line.startswith("| "):
            literal = 0
            done += ["::", ""]
        last = next((text for text in reversed(done) if text.strip()), "")
        around = len(INDENT.match(last)[0])  # type: ignore[index]
        set_off = number > 0 and not lines[number - 1].strip() and indent >= around + len(BEGIN)
        if literal is None and set_off and not re.match(r" *(\d+\.|[-*] |\.\. )", last):
            literal = around
            if not last.rstrip().endswith("::"):
                done += [" " * around + "::", ""]
        if literal is not None:
            done.append(BEGIN + line if line.startswith("|") else line)
        else:
            parts = re.split(r"(``.*?``|`.*?`)", line)
            done.append("".join(part if k % 2 else part.replace("|", r"\|") for k, part in enumerate(parts)))
    return done


def prepare_docstring(_app: Any, what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """For Sphinx's event ``autodoc-process-docstring``."""
    lines[:] = prepare(lines)
    if what in ("attribute", "data", "property"):
        lines.insert(0, "")  # in a first line, napoleon takes what is before a colon for a type
