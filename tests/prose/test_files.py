"""The prose of this checkout quotes the numbers that are kept, and no others."""

import json
import re
from pathlib import Path

import pytest

from bbgm.cli import main
from bbgm.prose import fill_files, filled, quoting_files
from bbgm.prose.markers import MARKER


def prose(file: Path) -> str:
    """Markdown of a README or notebook."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


@pytest.mark.parametrize("file", quoting_files(), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_prose_and_kept_numbers_agree(file: Path) -> None:
    assert filled(file) == file.read_text(encoding="utf-8"), "run 'bbgm prose'"


def test_the_files_are_found(project: Path) -> None:
    found = {file.relative_to(project).as_posix() for file in quoting_files()}
    assert found >= {"README.md", "config/README.md", "bbgm/data/README.md", "notebooks/08_willow.ipynb"}


@pytest.mark.parametrize("file", quoting_files(), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_no_result_is_typed_by_hand(file: Path) -> None:
    """A mean with its deviation stands between markers only, and so does every decimal number of the results."""
    text = MARKER.sub("", prose(file))
    assert re.findall(r".*\d ± \d.*", text) == []
    results = re.search(r"^## Results\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    assert re.findall(r".*\d\.\d.*", results[1] if results else "") == []


def test_every_marker_is_closed(project: Path) -> None:
    text = (project / "docs/results.md").read_text(encoding="utf-8")
    starts = re.findall(r"<!-- (?:measured|published): ", text)
    assert len(starts) == len(MARKER.findall(text)) == text.count("<!-- end -->") > 5


@pytest.fixture
def copy(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one README, one notebook and one kept table."""
    for name in ("Snakefile", "README.md", "notebooks/05_keypoint_filtering.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((project / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "measured").symlink_to(project / "measured")
    monkeypatch.setenv("BBGM_ROOT", str(tmp_path))
    return tmp_path


def test_changed_numbers_are_put_back(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fill_files() == []
    files = [copy / "README.md", copy / "notebooks" / "05_keypoint_filtering.ipynb"]
    before = [file.read_bytes() for file in files]
    for file, old in zip(files, ("| 78.4 | 5 |", "-->73.2<!-- end"), strict=True):
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, old.replace("7", "9")), encoding="utf-8")
    assert main(["prose"]) == 0
    assert capsys.readouterr().out.splitlines() == list(map(str, files))
    assert [file.read_bytes() for file in files] == before


def test_a_wrong_marker_is_named_and_nothing_is_written(copy: Path) -> None:
    (copy / "README.md").write_text("<!-- measured: demo/Willow method=Mine --><!-- end -->", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"README\.md: <!-- measured: demo/Willow method=Mine -->: no method is 'Mine'"
    ):
        fill_files()
