"""The check of the documentation's links finds what is wrong, and nothing else."""

from pathlib import Path

import pytest

from tests.support.scripts import load_script

links = load_script("docs/links.py")
GOOD = """<h1 id="a">A</h1><a href="sub/b.html#x">b</a><a href="#a">up</a><a href="https://example.org/gone">elsewhere</a>
<img src="sub/p.png"><img src="data:image/png;base64,AA=="><script src="s.js?v=1"></script>"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "sub/b.html").write_text('<p id="x"><a href="../index.html">a</a></p>')
    for name in ("sub/p.png", "s.js"):
        (tmp_path / name).touch()
    return tmp_path


def test_a_whole_site_has_no_fault(site: Path) -> None:
    assert links.find_faults(site) == []
    assert links.main(str(site)) == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('<a href="sub/c.html">c</a>', "leads to sub/c.html, which does not exist"),
        ('<a href="sub/b.html#y">b</a>', "leads to sub/b.html#y, where there is no such anchor"),
        ('<a href="#y">y</a>', "leads to #y, where there is no such anchor"),
        ('<img src="q.png">', "leads to q.png, which does not exist"),
        ('<script src="https://example.org/s.js"></script>', "loads https://example.org/s.js"),
        ('<link rel="stylesheet" href="//example.org/s.css">', "loads //example.org/s.css"),
    ],
)
def test_each_kind_of_fault_is_named(site: Path, capsys: pytest.CaptureFixture[str], wrong: str, said: str) -> None:
    (site / "index.html").write_text(GOOD + wrong)
    assert links.find_faults(site) == [f"index.html {said}"]
    assert links.main(str(site)) == 1
    assert said in capsys.readouterr().out


def test_a_folder_without_pages_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert links.main(str(tmp_path)) == 1
    assert "make docs" in capsys.readouterr().err
