"""Plain English: phrases of CONTRIBUTING.md's section "Words" that are never the right ones."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

AVOID = re.compile(
    r"\banew\b|\bdearer\b|\bone's own\b|\bones that there are\b|\bwhere is what\b|\b(what )?lies over\b|\bhas gone\b"
    r"|\b(are|is) told (by|for)\b|\btells? hours\b|\bmakes? little of\b|\bstands where\b|\bpassed over\b"
    r"|\bfilled up with\b|\b(go|goes|going|gone) on from\b|\b(one|a) (row|line|record|column) an? \w+",
    re.IGNORECASE,
)
SUFFIXES = {".md", ".py", ".yaml", ".smk", ".toml", ".ipynb"}
LEFT = ("CONTRIBUTING.md", "tests/repository/test_words.py", "tests/runs/stored/")
"""Files that quote the phrases, and results of earlier versions."""


def prose(path: Path) -> str:
    """The text of a file; of a notebook, that of its Markdown cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


def found(text: str) -> Iterator[str]:
    """Each phrase to avoid, on one line or broken over two lines of text or of a comment."""
    return (match[0] for match in AVOID.finditer(re.sub(r"\s*\n\s*(# |// )?", " ", text)))


def test_no_phrase_to_avoid(project: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=project, capture_output=True, text=True, check=False).stdout
    if not listed:
        pytest.skip("not a git checkout")
    names = [name for name in listed.split("\0") if Path(name).suffix in SUFFIXES and not name.startswith(LEFT)]
    assert len(names) > 100
    wrong = [
        f"{name}: {phrase}" for name in names if (project / name).is_file() for phrase in found(prose(project / name))
    ]
    assert wrong == [], "see CONTRIBUTING.md, Words"


@pytest.mark.parametrize(
    "text", ["doing it Anew", "one row a family", "it lies\n    # over", "a folder of\none's own", "goes on from there"]
)
def test_phrases_are_found(text: str) -> None:
    assert list(found(text))


def test_usual_phrases_are_not(project: Path) -> None:
    usual = (
        "A row or a column, one per run; a line at zero; what is told apart goes on, and one line has 120 characters."
    )
    assert list(found(usual)) == []
