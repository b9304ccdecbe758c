"""The ``.dd`` text format of graph matching instances, plain or xz-compressed.

``p n1 n2 A T``, then ``a id left right cost``, then ``e a b cost``; nodes and ids count from 0. A file with several
graphs repeats the block behind ``gm p q``. Lines that start with ``c`` are comments.
"""

import lzma
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bbgm_solver._core import Problem

# Comments, and the coordinates that some files carry.
_IGNORED = {"c", "i0", "i1", "n0", "n1"}


class _Block:
    """One problem while it is read."""

    def __init__(self, n1: int, n2: int) -> None:
        self.n1, self.n2 = n1, n2
        self.ids: dict[int, int] = {}
        self.assignments: list[tuple[int, int]] = []
        self.costs: list[float] = []
        self.terms: list[tuple[int, int]] = []
        self.term_costs: list[float] = []

    def add(self, words: list[str]) -> None:
        if words[0] == "a":
            _, name, left, right, cost = words
            if int(name) in self.ids:
                raise ValueError(f"assignment id {name} occurs twice")
            self.ids[int(name)] = len(self.costs)
            self.assignments.append((int(left), int(right)))
            self.costs.append(float(cost))
        else:
            _, first, second, cost = words
            for name in (first, second):
                if int(name) not in self.ids:
                    raise ValueError(f"no assignment has the id {name}")
            self.terms.append((self.ids[int(first)], self.ids[int(second)]))
            self.term_costs.append(float(cost))

    def problem(self) -> Problem:
        return Problem.sparse(self.n1, self.n2, self.assignments, self.costs, self.terms, self.term_costs)


def _lines(path: Path) -> Iterator[str]:
    if path.suffix == ".xz":
        with lzma.open(path, "rt", encoding="ascii") as file:
            yield from file
    else:
        with path.open(encoding="ascii") as file:
            yield from file


def read_dd(path: str | os.PathLike[str]) -> Problem | dict[tuple[int, int], Problem]:
    """Reads a ``.dd`` or ``.dd.xz`` file.

    Returns:
        A Problem, or a dict of Problems keyed (p, q), p < q, where the file holds several graphs.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the content is not a graph matching instance; names file and line.
    """
    path = Path(path)
    blocks: list[tuple[tuple[int, int] | None, _Block]] = []
    key: tuple[int, int] | None = None
    number = 0
    try:
        for number, line in enumerate(_lines(path), 1):  # noqa: B007
            words = line.split()
            if not words or words[0] in _IGNORED:
                continue
            if words[0] in ("a", "e"):
                if not blocks:
                    raise ValueError(f"'{words[0]}' before the first 'p' line")
                blocks[-1][1].add(words)
            elif words[0] == "p":
                blocks.append((key, _Block(int(words[1]), int(words[2]))))
            elif words[0] == "gm":
                key = (int(words[1]), int(words[2]))
            else:
                raise ValueError(f"a line starts with {words[0]!r}, expected p, a, e, gm or c")
        problems = [(key, block.problem()) for key, block in blocks]
    except (ValueError, IndexError, EOFError, lzma.LZMAError) as error:
        raise ValueError(f"{path}, line {number}: not a graph matching instance in .dd format ({error})") from error
    if not problems:
        raise ValueError(f"{path}: not a graph matching instance in .dd format (no 'p' line)")
    if problems[0][0] is None:
        if len(problems) > 1:
            raise ValueError(f"{path}: several 'p' lines without 'gm p q' before each")
        return problems[0][1]
    named = {key: problem for key, problem in problems if key is not None}
    if len(named) != len(problems):
        raise ValueError(f"{path}: a pair of graphs occurs twice")
    return named


def _text(problem: Problem) -> Iterator[str]:
    yield f"p {problem.n1} {problem.n2} {problem.n_assignments} {problem.n_terms}\n"
    pairs, costs = problem.assignments.tolist(), problem.costs.tolist()
    yield from (f"a {k} {i} {j} {cost!r}\n" for k, ((i, j), cost) in enumerate(zip(pairs, costs, strict=True)))
    terms, costs = problem.terms.tolist(), problem.term_costs.tolist()
    yield from (f"e {a} {b} {cost!r}\n" for (a, b), cost in zip(terms, costs, strict=True))


def write_dd(path: str | os.PathLike[str], problem: Problem | Mapping[tuple[int, int], Problem]) -> None:
    """Writes a ``.dd`` file (``.xz`` in the name compresses it); reading it gives the same costs, bit by bit.

    The file appears under its name only when it is complete.

    Args:
        path: file to write.
        problem: a Problem, or a dict of Problems keyed (p, q) with p < q.

    Raises:
        ValueError: a key that is not a pair p < q.
    """
    path = Path(path)
    blocks: list[tuple[str, Problem]] = [("", problem)] if isinstance(problem, Problem) else []
    if not isinstance(problem, Problem):
        for key, single in problem.items():
            if not (isinstance(key, tuple) and len(key) == 2 and 0 <= key[0] < key[1]):
                raise ValueError(f"key {key!r} of the problems is not a pair (p, q) of graphs with 0 <= p < q")
            blocks.append((f"gm {key[0]} {key[1]}\n", single))
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
