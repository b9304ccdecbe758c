"""The files whose markers are filled in."""

import json
from pathlib import Path

from bbgm.base.atomic import write_text
from bbgm.base.paths import project_root
from bbgm.base.reading.untrusted import parse_json
from bbgm.prose.markers import fill


def quoting_files() -> list[Path]:
    """Every README, page of the documentation and notebook of the checkout."""
    root = project_root()
    return sorted(
        file
        for pattern in ("README.md", "docs/*.md", "*/README.md", "bbgm/*/README.md", "notebooks/*.ipynb")
        for file in root.glob(pattern)
    )


def filled(file: Path) -> str:
    """The text of a README or notebook with its markers filled in; what does not change stays byte for byte.

    Raises:
        ValueError: a marker asks for what is not there; names the file and the marker.
    """
    text = file.read_text(encoding="utf-8")
    try:
        return _fill_notebook(text) if file.suffix == ".ipynb" else fill(text)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def fill_files() -> list[Path]:
    """Fill in the markers of all `quoting_files`.

    Returns:
        The files that changed.
    """
    changed = {file: text for file in quoting_files() if (text := filled(file)) != file.read_text(encoding="utf-8")}
    for file, text in changed.items():
        write_text(file, text)
    return list(changed)


def _fill_notebook(text: str) -> str:
    notebook = parse_json(text)
    changed = False
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and (after := fill(source)) != source:
            cell["source"] = after.splitlines(keepends=True)
            changed = True
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n" if changed else text
