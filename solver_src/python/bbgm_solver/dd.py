"""The ``.dd`` text format of graph matching instances, plain or xz-compressed.

``p n1 n2 A T``, then ``a id left right cost``, then ``e a b cost``; nodes and ids count from 0. A file with several
graphs repeats the block behind ``gm p q``. Lines that start with ``c`` or ``#`` are comments. An assignment to the node
18446744073709551615 (2^64 - 1) says what it costs that the other node stays unmatched. `bbgm_solver.dd_parse` has the
dialects.
"""

import io
import lzma
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bbgm_solver._core import Problem
from bbgm_solver.arguments import check_key, check_problem, graph_sizes
from bbgm_solver.dd_parse import NOBODY, Faults, parse

LONGEST_LINE, MOST_TIMES_LARGER = 2**16, 500
"""Characters; and how many times larger than its .xz file a text may be (the instances of the literature: 3 to 12)."""


def _text_of(file: io.BufferedReader | lzma.LZMAFile) -> io.TextIOWrapper:
    """Comments may be in any encoding; the rest is ASCII. A byte-order mark is left out."""
    wide = file.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff")
    return io.TextIOWrapper(file, encoding="utf-16" if wide else "utf-8-sig", errors="replace")


def _lines(text: io.TextIOWrapper, most: int) -> Iterator[str]:
    """The lines; a few kilobytes of .xz can hold gigabytes of them, or one line without end.

    Args:
        most: characters in all.
    """
    while line := text.readline(LONGEST_LINE):
        most -= len(line)
        if most < 0:
            raise ValueError(
                f"it unpacks to more than {MOST_TIMES_LARGER} times its size, which no instance does: unpack it, and "
                "read the .dd file"
            )
        if len(line) == LONGEST_LINE:
            raise ValueError(f"a line has more than {LONGEST_LINE} characters: it is of another format")
        yield line


def read_dd(path: str | os.PathLike[str]) -> Problem | dict[tuple[int, int], Problem]:
    """Reads a ``.dd`` or ``.dd.xz`` file.

    Returns:
        A Problem, or a dict of Problems keyed (p, q), p < q, where the file holds several graphs.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the content is not a graph matching instance; names the file, and all faults with their lines.
    """
    path = Path(path)
    faults = Faults()
    try:
        with lzma.open(path, "rb") if path.suffix == ".xz" else path.open("rb") as file, _text_of(file) as lines:
            packed = path.suffix == ".xz"
            most = MOST_TIMES_LARGER * path.stat().st_size + 2**20 if packed else sys.maxsize
            problems = parse(_lines(lines, most), faults)
        if len(problems) > 1 and problems[0][0] is None:
            faults.append((0, "several 'p' lines without 'gm p q' before each: name the graphs"))
        elif len({key for key, _ in problems}) < len(problems):
            faults.append((0, "a pair of graphs occurs twice: remove one"))
        elif problems and problems[0][0] is not None:
            graph_sizes({key: problem for key, problem in problems if key is not None})
    except (ValueError, EOFError, lzma.LZMAError) as error:
        faults.append((0, str(error)))
    if faults:
        hint = (
            f" ({path.name[2:]} is the file, {path.name} what a Mac adds to it)" if path.name.startswith("._") else ""
        )
        raise ValueError(f"{path}: not a graph matching instance in .dd format{hint}: {faults.text()}")
    if problems[0][0] is None:
        return problems[0][1]
    return {key: problem for key, problem in problems if key is not None}


def _text(problem: Problem) -> Iterator[str]:
    pairs, costs = problem.assignments.tolist(), problem.costs.tolist()
    assignments = [(i, j, cost) for (i, j), cost in zip(pairs, costs, strict=True)]
    assignments += [(i, NOBODY, cost) for i, cost in enumerate(problem.unmatched1.tolist()) if cost]
    assignments += [(NOBODY, j, cost) for j, cost in enumerate(problem.unmatched2.tolist()) if cost]
    yield f"p {problem.n1} {problem.n2} {len(assignments)} {problem.n_terms}\n"
    yield from (f"a {k} {i} {j} {cost!r}\n" for k, (i, j, cost) in enumerate(assignments))
    terms, costs = problem.terms.tolist(), problem.term_costs.tolist()
    yield from (f"e {a} {b} {cost!r}\n" for (a, b), cost in zip(terms, costs, strict=True))


def write_dd(path: str | os.PathLike[str], problem: Problem | Mapping[tuple[int, int], Problem]) -> None:
    """Writes a ``.dd`` file (``.xz`` in the name compresses it); reading it gives the same costs, bit by bit.

    The file appears under its name only when it is complete.

    Args:
        path: file to write.
        problem: a Problem, or a dict of Problems keyed (p, q) with p < q.

    Raises:
        ValueError: a key that is not p < q, a graph with two numbers of nodes, no problem at all, or a path to
            something else than a file.
        TypeError: a key that is not a pair of integers, or a value that is not a Problem.
        FileNotFoundError: no such folder.
    """
    path = Path(path)
    if not isinstance(problem, (Problem, Mapping)):
        raise TypeError(f"problem is a {type(problem).__name__}, expected a Problem or a dict of Problems keyed (p, q)")
    # The file takes the place of what is there: a folder, device or pipe must not go.
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file: give the name of a file to write")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a folder: make it, or write {path.name} elsewhere")
    if isinstance(problem, Problem):
        blocks = [("", problem)]
    else:
        named = {check_key(key): single for key, single in problem.items()}
        if not named:
            raise ValueError("there is no problem to write")
        for key, single in named.items():
            check_problem(f"problem {key}", single)
            if key[1] >= 2**31:
                raise ValueError(f"key {key} of the problems: a .dd file numbers graphs up to {2**31 - 1}")
        graph_sizes(named)
        blocks = [(f"gm {p} {q}\n", single) for (p, q), single in named.items()]
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        with lzma.open(name, "wt") if path.suffix == ".xz" else open(name, "w", encoding="ascii") as file:
            for head, single in blocks:
                file.write(head)
                file.writelines(_text(single))
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
