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
from bbgm_solver.arguments import check_key, check_problem, graph_sizes

# Comments, and the coordinates that some files carry.
_IGNORED = {"c", "i0", "i1", "n0", "n1"}


def _count(word: str) -> int:
    value = int(word)
    if not 0 <= value < 2**31:
        raise ValueError(f"{value} is out of range: nodes, ids and counts are from 0 to {2**31 - 1}")
    return value


class _Block:
    """One problem while it is read."""

    def __init__(self, words: list[str]) -> None:
        _, n1, n2, n_assignments, n_terms = words
        self.n1, self.n2 = _count(n1), _count(n2)
        self.announced = _count(n_assignments), _count(n_terms)
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
            self.ids[_count(name)] = len(self.costs)
            self.assignments.append((_count(left), _count(right)))
            self.costs.append(float(cost))
        else:
            _, first, second, cost = words
            for name in (first, second):
                if int(name) not in self.ids:
                    raise ValueError(f"no assignment has the id {name}")
            self.terms.append((self.ids[int(first)], self.ids[int(second)]))
            self.term_costs.append(float(cost))

    def problem(self) -> Problem:
        found = len(self.costs), len(self.terms)
        if found != self.announced:
            raise ValueError(
                f"it has {found[0]} assignments and {found[1]} terms, but its 'p' line announces {self.announced[0]} "
                f"and {self.announced[1]}: it is incomplete, copy it again"
            )
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
    unused = False  # a 'gm' line that no 'p' line has followed yet
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
                blocks.append((key, _Block(words)))
                unused = False
            elif words[0] == "gm":
                if unused:
                    raise ValueError("two 'gm' lines without a 'p' line between them")
                unused = True
                _, first, second = words
                key = _count(first), _count(second)
                if key[0] >= key[1]:
                    raise ValueError(f"'gm {first} {second}' is not a pair p < q of graphs")
            else:
                raise ValueError(f"a line starts with {words[0][:20]!r}, expected p, a, e, gm or c")
    except (ValueError, EOFError, lzma.LZMAError) as error:
        raise ValueError(f"{path}, line {number}: not a graph matching instance in .dd format ({error})") from error
    try:
        problems = [(key, block.problem()) for key, block in blocks]
    except ValueError as error:
        raise ValueError(f"{path}: not a graph matching instance in .dd format ({error})") from error
    if not problems:
        raise ValueError(f"{path}: not a graph matching instance in .dd format (no 'p' line)")
    if unused:
        raise ValueError(f"{path}: no 'p' line after the last 'gm' line: it is incomplete, copy it again")
    if problems[0][0] is None:
        if len(problems) > 1:
            raise ValueError(f"{path}: several 'p' lines without 'gm p q' before each")
        return problems[0][1]
    named = {key: problem for key, problem in problems if key is not None}
    if len(named) != len(problems):
        raise ValueError(f"{path}: a pair of graphs occurs twice")
    try:
        graph_sizes(named)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
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
        ValueError: a key that is not p < q, a graph with two numbers of nodes, no problem at all, one with costs of
            unmatched nodes, or a path to something else than a file.
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
    if any(single.unmatched1.any() or single.unmatched2.any() for _, single in blocks):
        raise ValueError(
            "a .dd file has no place for unmatched1 and unmatched2: write the problem with the costs "
            "costs[a] - unmatched1[i] - unmatched2[j] of each assignment a = (i, j) instead; its objectives are "
            "lower by unmatched1.sum() + unmatched2.sum()"
        )
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
