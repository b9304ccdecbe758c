""".dd files as other programs write them: read as meant, or refused with every line that is wrong."""

import lzma
from pathlib import Path

import bbgm_solver as gm
import numpy as np
import pytest
from support.problems import same

NOBODY = 18446744073709551615
PLAIN = "p 2 2 3 1\na 0 0 0 -1\na 1 0 1 -2\na 2 1 0 0.5\ne 1 2 -4\n"


def read(path: Path, text: str | bytes) -> gm.Problem:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    problem = gm.read_dd(path)
    assert isinstance(problem, gm.Problem)
    return problem


@pytest.mark.parametrize(
    "content",
    [
        "cby hand\nc\ncost of a match: -1\n" + PLAIN,
        "# by hand\n#\n" + PLAIN.replace("-2\n", "-2 # as measured\n"),
        "c Köln, 東京\n" + PLAIN,
        "c Köln\n".encode("latin-1") + PLAIN.encode(),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.encode("utf-16"),
        PLAIN.replace("\n", "\r\n"),
        "p 2 2 3 1\ne 1 2 -4\na 2 1 0 0.5\na 1 0 1 -2\na 0 0 0 -1\n",
        "n0 0 12.5 3\ni1 1 4 4\n" + PLAIN,
    ],
)
def test_the_same_problem_in_other_words(tmp_path: Path, content: str | bytes) -> None:
    assert same(read(tmp_path / "a.dd", content), read(tmp_path / "plain.dd", PLAIN))


@pytest.mark.parametrize("counted", [5, 3])
def test_costs_of_staying_unmatched(tmp_path: Path, counted: int) -> None:
    """Whether 'p' counts them or not; the optimum is that of all matchings."""
    text = PLAIN.replace("p 2 2 3 1", f"p 2 2 {counted} 1") + f"a 7 1 {NOBODY} 3\na 8 {NOBODY} 0 -0.25\n"
    problem = read(tmp_path / "a.dd", text)
    assert (problem.unmatched1.tolist(), problem.unmatched2.tolist()) == ([0, 3], [-0.25, 0])
    assert problem.n_assignments == 3
    assert gm.evaluate(problem, [-1, -1]) == 2.75
    assert gm.evaluate(problem, [0, -1]) == -1 + 3
    assert gm.solve(problem).objective == -2 + 0.5 - 4
    for name in ("b.dd", "b.dd.xz"):
        gm.write_dd(tmp_path / name, problem)
        again = gm.read_dd(tmp_path / name)
        assert isinstance(again, gm.Problem)
        assert same(again, problem)
        assert again.unmatched1.tolist() == [0, 3]
        assert again.unmatched2.tolist() == [-0.25, 0]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (PLAIN.replace("-2", "inf"), [r"line 3: the cost of a match is inf: .* leave its line out and count the rest"]),
        (PLAIN.replace("-4", "inf"), [r"line 5: the cost of a term is inf: .* larger than the sum of all others"]),
        (PLAIN.replace("-4", "-inf"), [r"line 5: the cost of a term is -inf: costs must be finite"]),
        (PLAIN.replace("-2", "1e200"), [r"line 3: .* is 1e200: costs must be finite, at most 1e\+150"]),
        (
            PLAIN + f"a 3 0 {NOBODY} inf\n",
            [r"line 6: the cost of staying unmatched is inf: .* leave the line out and solve with full=True"],
        ),
        (
            PLAIN.replace("p 2 2 3 1", "p 2 2 4 1") + "a 3 0 1 -2\n",
            [r"line 6: assignment 3 is of the same nodes, 0 and 1, as assignment 1 in line 3: remove one"],
        ),
        (PLAIN.replace("p 2 2 3 1", "p 2 2 4 1") + f"a 3 {NOBODY} {NOBODY} 1\n", [r"line 6: both nodes are 1844674"]),
        (
            PLAIN.replace("p 2 2 3 1", "p 2 2 4 2") + f"a 3 0 {NOBODY} 1\ne 2 3 1\n",
            [r"line 7: a term with assignment 3, which leaves a node unmatched: .* Add its cost"],
        ),
        (PLAIN.replace("p 2 2", "p 2 20000"), [r"line 1: n2 is 20000, which is out of range: expected 0 to 10000"]),
        (
            "p 2 2 3 2\na 0 0 0 inf\na 1 0 0 2\na 1 1 1 nan\ne 0 9 1\nz\ne 0 1\n",
            [r"line 2: .*inf", r"line 3: .*same nodes", r"line 4: .*id 1 occurs twice \(first in line 3\)"]
            + [r"line 5: .*id 9", r"line 6: .*starts with 'z'", r"line 7: 3 words, expected 'e id id cost'"],
        ),
        ("<!DOCTYPE html>\n<html><p>Sign in</p></html>\n", [r"line 1: .*web page \(HTML\), download the file again$"]),
    ],
)  # fmt: skip
def test_every_fault_is_named_with_its_line(tmp_path: Path, text: str, faults: list[str]) -> None:
    (tmp_path / "other.dd").write_text(text)
    with pytest.raises(ValueError, match=r"other\.dd: not a graph .*" + ".*; ".join(faults)):
        gm.read_dd(tmp_path / "other.dd")


def test_a_term_before_a_missing_assignment_says_so_once(tmp_path: Path) -> None:
    (tmp_path / "a.dd").write_text("p 1 1 1 1\ne 0 1 3\na 0 0 0 1\n")
    with pytest.raises(ValueError, match=r"format: line 2: no assignment has the id 1: [a-z, ]*$"):
        gm.read_dd(tmp_path / "a.dd")


def test_many_faults_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.dd").write_text("p 9 9 50 0\n" + "".join(f"a {k} 99 0 1\n" for k in range(50)))
    with pytest.raises(ValueError, match=r"line 2: the left node is 99.*line 21: .*; and 30 more$"):
        gm.read_dd(tmp_path / "a.dd")


def test_cut_files_of_unmatched_costs_are_noticed(tmp_path: Path) -> None:
    lines = (PLAIN.replace("p 2 2 3 1", "p 2 2 5 1") + f"a 7 1 {NOBODY} 3\na 8 {NOBODY} 0 -0.25\n").splitlines()
    for end in range(1, len(lines)):
        (tmp_path / "a.dd").write_text("\n".join(lines[:end]))
        with pytest.raises(ValueError, match=r"it is incomplete, copy it again"):
            gm.read_dd(tmp_path / "a.dd")


def test_the_companion_of_a_mac_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "._a.dd").write_bytes(b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X" + bytes(60))
    with pytest.raises(ValueError, match=r"\._a\.dd: .*\(a\.dd is the file, \._a\.dd what a Mac adds to it\)"):
        gm.read_dd(tmp_path / "._a.dd")


def test_cut_compression_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.dd.xz").write_bytes(lzma.compress(PLAIN.encode() * 1000)[:-20])
    with pytest.raises(ValueError, match=r"Compressed file ended .*: the file is damaged, copy it again"):
        gm.read_dd(tmp_path / "a.dd.xz")
    (tmp_path / "a.dd.xz").write_text(PLAIN)
    with pytest.raises(ValueError, match=r"a\.dd\.xz: not a graph .*not supported by decoder"):
        gm.read_dd(tmp_path / "a.dd.xz")


def test_what_is_read_is_solved_as_arrays_are(tmp_path: Path) -> None:
    unary, idle = np.array([[-1.0, 2.0], [0.5, 3.0]]), np.array([1.5, 0.0])
    costs = "".join(f"a {2 * i + j} {i} {j} {unary[i, j]}\n" for i in range(2) for j in range(2))
    problem = read(tmp_path / "a.dd", f"p 2 2 5 0\n{costs}a 4 0 {NOBODY} 1.5\n")
    dense = gm.Problem(unary, [], [], np.zeros((0, 0)), unmatched1=idle)
    assert gm.solve(problem).objective == gm.solve(dense).objective == -1.0
