"""A table as HTML and LaTeX."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bbgm import tables
from bbgm.tables.latex import tex

AddRun = Callable[..., Path]
WILLOW = {"Car": 0.9, "Duck": 0.8}
TEN = dict.fromkeys(("aeroplane", "bird", "bus", "dog", "cat", "cow", "boat", "sofa", "train", "person"), 0.7)


@pytest.fixture
def narrow(tmp_path: Path, add_run: AddRun) -> tables.Table:
    for seed in range(3):
        add_run(WILLOW, seed)
        add_run({"Car": 0.5, "Duck": 0.8}, seed, method="odd", title="<b>A_B & 50%</b>")
    return tables.make_table("Willow", "willow", tmp_path)


@pytest.fixture
def wide(tmp_path: Path, add_run: AddRun) -> tables.Table:
    for seed in (0, 1):
        add_run(TEN, seed, budget="paper", data={"dataset": "voc"})
    return tables.make_table("PascalVOCBig", "paper", tmp_path)


def body(latex: str) -> list[str]:
    return [line for line in latex.splitlines() if line.endswith(r"\\")]


def test_latex_is_balanced_and_escaped(narrow: tables.Table, wide: tables.Table) -> None:
    for table in (narrow, wide):
        latex = table.to_latex()
        # method, setting, row, numbers, n, pairs
        assert {line.replace(r"\&", "").count("&") for line in body(latex)} == {len(table.columns) + 4}
        for name in ("toprule", "bottomrule", "caption", f"label{{tab:{table.name}-"):
            assert latex.count(f"\\{name}") == 1
        begun, ended = (re.findall(rf"\\{word}{{(\w+)}}", latex) for word in ("begin", "end"))
        assert begun == ended[::-1] == ["table", "tabular"]
        assert latex.count("{") - latex.count(r"\{") == latex.count("}") - latex.count(r"\}")
        assert latex.replace(r"\$", "").count("$") % 2 == 0
        assert latex.isascii()
        commands = set(re.findall(r"\\([a-zA-Z]+)", "\n".join(latex.splitlines()[1:])))  # the first line is a comment
        own = {"providecommand", "icon"}
        known = {"begin", "end", "centering", "footnotesize", "caption", "label", "toprule", "midrule", "bottomrule"}
        scaled = {"resizebox", "ifdim", "width", "textwidth", "else", "fi"}
        assert commands <= own | known | scaled | {"textbf", "pm", "textless", "textgreater"}
    assert r"\textless{}b\textgreater{}A\_B \& 50\%\textless{}/b\textgreater{}" in narrow.to_latex()


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no pdflatex")
def test_latex_compiles_and_no_line_leaves_the_text(
    tmp_path: Path, add_run: AddRun, narrow: tables.Table, wide: tables.Table
) -> None:
    """Without an error, whatever a title has, and no line leaves the text: tables are scaled, captions are broken."""
    add_run(WILLOW, method="third", title="[é ü] λ=80 Ω \\ | < > % _ # ~ ^ & $ {\n\n} ≥ ± × → −")
    titled = tables.make_table("Willow", "willow", tmp_path)
    document = [
        r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}",
        r"\newcommand{\icon}[1]{\csname icon@#1\endcsname}\expandafter\newcommand\csname icon@bird\endcsname{$\ast$}",
        *(table.to_latex() for table in (narrow, wide, titled)),
        r"\end{document}",
    ]
    (tmp_path / "all.tex").write_text("\n".join(document), encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert (tmp_path / "all.pdf").stat().st_size > 5000


def test_classes_are_macros_that_print_their_names(wide: tables.Table) -> None:
    latex = wide.to_latex()
    assert r"\providecommand{\icon}[1]{#1}" in latex
    assert set(re.findall(r"\\icon{(\w+)}", latex)) == set(TEN)
    assert r"& mean &" in body(latex)[0]


def test_wide_tables_show_the_deviation_of_the_mean_only(wide: tables.Table, narrow: tables.Table) -> None:
    obtained = wide.shown()[wide.shown()[""] == "obtained"].iloc[0]
    assert "±" in obtained["mean"]
    assert "±" not in obtained["bird"]
    assert "±" in narrow.shown()[narrow.shown()[""] == "obtained"].iloc[0]["car"]


def test_best_entries_are_bold(narrow: tables.Table) -> None:
    assert [line.count(r"\textbf") for line in body(narrow.to_latex()) if "obtained" in line] == [3, 1]
    assert narrow.to_html().count("<b>") == 4
    assert any(note.startswith("Bold, by our own rule") for note in narrow.notes)


def test_html_is_deterministic_and_escaped(narrow: tables.Table) -> None:
    html = narrow._repr_html_()
    assert html == narrow._repr_html_()
    assert "&lt;b&gt;A_B" in html
    assert "budget willow" in html
    assert "obtained" in str(narrow)


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("-3.0 ± 3.5", r"$-3.0$ $\pm$ 3.5"),
        ("+0.5", "$+0.5$"),
        ("61.4 ± 1.0", r"61.4 $\pm$ 1.0"),
        ("-", "-"),
        ("DGMC*", "DGMC$^*$"),
        ("5 % of $1", r"5 \% of \$1"),
        (r"a\b~c^d", r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d"),
        ("λ ≥ 1", r"$\lambda$ $\geq$ 1"),
        ("ΔΧο", r"$\Delta$Xo"),
        ("[1] [2]", "{[}1] [2]"),
        ("one\n\ntwo\a\u200b", "one two"),
        ("e\u0301é", "éé"),
    ],
)
def test_a_cell_is_escaped_without_mathematics_within_mathematics(text: str, latex: str) -> None:
    """Mathematics is never within mathematics."""
    assert tex(text) == latex
