"""Docstrings as Sphinx needs them: formulas keep their lines, and a bar is a bar."""

from pathlib import Path

import pytest

from tests.support.scripts import load_script

reference = load_script("docs/reference.py")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("of |w| and `|d|` or ``|d|``", r"of \|w\| and `|d|` or ``|d|``"),
        ("Minimise:\n\n    a |x|\n    b\n\nwith x.", "Minimise:\n\n::\n\n    a |x|\n    b\n\nwith x."),
        ("As::\n\n    a\n\nso |b|.", "As::\n\n    a\n\nso \\|b\\|."),
        ("Kinds:\n\n| a | b |\n|---|---|\nEnd.", "Kinds:\n\n::\n\n    | a | b |\n    |---|---|\n\nEnd."),
        ("Args:\n    x: |x|.\n        More.", "Args:\n    x: \\|x\\|.\n        More."),
        ("1. one\n\n   still one\n2. two", "1. one\n\n   still one\n2. two"),
    ],
)
def test_literal_blocks_are_marked_and_bars_escaped(given: str, expected: str) -> None:
    assert "\n".join(reference.prepare(given.splitlines())) == expected


def test_every_module_is_on_one_page(project: Path, tmp_path: Path) -> None:
    reference.write_pages(tmp_path)
    text = [line for page in tmp_path.glob("*.rst") for line in page.read_text(encoding="utf-8").splitlines()]
    shown = [line.removeprefix(".. automodule:: ") for line in text if line.startswith(".. automodule:: ")]
    files = [
        file.relative_to(folder.parent).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
        for folder in (project / "bbgm", project / "demo_src/bbgm_demo", project / "solver_src/python/bbgm_solver")
        for file in folder.rglob("*.py")
        if file.name != "__main__.py"
    ]
    assert sorted(shown) == sorted(files)
    before = {page: page.stat().st_mtime_ns for page in tmp_path.iterdir()}
    reference.write_pages(tmp_path)
    assert {page: page.stat().st_mtime_ns for page in tmp_path.iterdir()} == before
