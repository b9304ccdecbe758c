r"""A table for a LaTeX document, with a macro for each class, so that it can show icons as the paper does.

``\icon{bicycle}`` prints the name unless the document defines it before, e.g. with fontawesome5::

    \newcommand{\icon}[1]{\csname icon@#1\endcsname}
    \expandafter\newcommand\csname icon@bicycle\endcsname{\faBicycle}

Greek letters and common signs are written as commands. Other signs that pdfLaTeX's fonts lack, e.g. Chinese, stay as
they are: LuaLaTeX or XeLaTeX print them in a font that has them.
"""

import re
import unicodedata

from bbgm.tables.render import Table

_NO_CLASS = {"mean", "all", "easy", "medium", "hard"}


def to_latex(table: Table) -> str:
    r"""A ``table`` environment; the notes go into the caption. A table wider than the text is scaled to its width."""
    head = [
        rf"\icon{{{tex(name)}}}" if name in table.columns and name not in _NO_CLASS else tex(name)
        for name in table.head
    ]
    lines = [
        r"% made by bbgm; needs \usepackage{booktabs,graphicx}",
        r"\providecommand{\icon}[1]{#1} % define it before to show something else for a class",
        "\\begin{table}",
        "\\centering",
        "\\footnotesize",
        f"\\caption{{{tex(f'{table.title}. ' + ' '.join(table.notes))}}}",
        f"\\label{{tab:{table.name}-{table.frame['budget'].iloc[0]}}}",
        r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
        f"\\begin{{tabular}}{{lll{'r' * (len(table.columns) + 2)}}}",
        "\\toprule",
        " & ".join(head) + r" \\",
    ]
    for row in table.shown_rows():
        if row.first:
            lines.append("\\midrule")
        cells = [
            rf"\textbf{{{tex(cell)}}}" if bold else tex(cell) for cell, bold in zip(row.cells, row.bold, strict=True)
        ]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}}", "\\end{table}", ""])


_SIGNS = {character: "\\" + character for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "*": "$^*$",
    "−": "$-$",
    "×": r"$\times$",
    "→": r"$\to$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
}
_SMALL = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu "
    "nu xi pi rho varsigma sigma tau upsilon phi chi psi omega"
)
_SIGNS |= {letter: f"$\\{name}$" for letter, name in zip("αβγδεζηθικλμνξπρςστυφχψω", _SMALL.split(), strict=True)}
_CAPITALS = "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
_SIGNS |= {letter: f"$\\{name}$" for letter, name in zip("ΓΔΘΛΞΠΣΥΦΨΩ", _CAPITALS.split(), strict=True)}
_SIGNS |= dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo", strict=True))  # LaTeX has no others for them


def tex(text: str) -> str:
    """Plain text as LaTeX, in one line; the minus of a number is a minus sign."""
    printed = filter(str.isprintable, unicodedata.normalize("NFC", " ".join(text.split())))
    latex = re.sub(r"^[+-]\d[\d.]*", r"$\g<0>$", "".join(_SIGNS.get(character, character) for character in printed))
    return re.sub(r"^\[", "{[}", latex)  # at the beginning of a row it would be an option of the command before
