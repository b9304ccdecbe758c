"""The lines of a ``.dd`` file, in the dialects of the literature; every fault of a file is found, with its line.

Of what other programs write, this is read as it is meant: comments ``c...`` with or without a blank and ``# ...``, a
byte-order mark, terms before their assignments, and costs of staying unmatched, as assignments of a node to the node
2^64 - 1 (LPMP).
"""

import lzma
import math
from collections.abc import Iterable, Iterator, Sequence

from bbgm_solver._core import Problem

NOBODY = 2**64 - 1
"""In the place of a node: the line says what it costs that the other node stays unmatched."""
MOST_NODES, MOST_NODES_IN_ALL, LARGEST_COST = 10_000, 4_000_000, 1e150
SHOWN = 20
"""Faults of a file that its message lists."""

_IDLE, _FAULTY = -1, -2
_COORDINATES = {"i0", "i1", "n0", "n1"}
_FORMS = {"p": "p n1 n2 assignments terms", "a": "a id left right cost", "e": "e id id cost", "gm": "gm p q"}

Key = tuple[int, int]


class Faults(list[tuple[int, str]]):
    """Line (0: none) and reason of each fault."""

    def text(self) -> str:
        """All in one line, in the order of the file."""
        lines = [f"line {line}: {reason}" if line else reason for line, reason in sorted(self)]
        more = f"; and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
        return "; ".join(lines[:SHOWN]) + more


class _Block:
    """One problem while it is read; `line` is that of its 'p'."""

    def __init__(self, line: int, words: Sequence[str]) -> None:
        _exactly(words)
        self.line = line
        self.n1, self.n2 = _integer(words[1], "n1", MOST_NODES), _integer(words[2], "n2", MOST_NODES)
        self.announced = _integer(words[3]), _integer(words[4])
        self.seen = [0, 0]
        self.ids: dict[int, tuple[int, int]] = {}  # line, and row of the assignment, or _IDLE or _FAULTY
        self.pairs: dict[Key, tuple[int, int]] = {}  # line and id
        self.costs: list[float] = []
        self.terms: list[tuple[int, int, int, float]] = []  # line, both ids, cost
        self.unmatched: list[dict[int, float]] = [{}, {}]

    def add_assignment(self, line: int, words: Sequence[str]) -> None:
        self.seen[0] += 1
        _exactly(words)
        name = _integer(words[1], "id")
        if name in self.ids:
            raise ValueError(
                f"assignment id {name} occurs twice (first in line {self.ids[name][0]}): give it another id"
            )
        self.ids[name] = line, _FAULTY
        left, right = _node(words[2], "left", self.n1), _node(words[3], "right", self.n2)
        if left == right == NOBODY:
            raise ValueError(f"both nodes are {NOBODY}, which stands for none: remove the line")
        pair, idle = (left, right), NOBODY in (left, right)
        if pair in self.pairs:
            first, other = self.pairs[pair]
            raise ValueError(
                f"assignment {name} is of the same nodes, {left} and {right}, as assignment {other} in line {first}: "
                "remove one of the two, and count the rest in the 'p' line"
            )
        self.pairs[pair] = line, name
        cost = _cost(words[4], "of staying unmatched" if idle else "of a match")
        if idle:
            side = 0 if right == NOBODY else 1
            self.unmatched[side][pair[side]] = cost
            self.ids[name] = line, _IDLE
        else:
            self.ids[name] = line, len(self.costs)
            self.costs.append(cost)

    def add_term(self, line: int, words: Sequence[str]) -> None:
        self.seen[1] += 1
        try:  # a file has a million of these
            _, first, second, cost = words
            term = line, int(first), int(second), float(cost)
            good = abs(term[3]) <= LARGEST_COST
        except ValueError:
            good = False
        if not good:
            _exactly(words)
            term = line, _integer(words[1], "id"), _integer(words[2], "id"), _cost(words[3], "of a term")
        self.terms.append(term)

    def finish(self, faults: Faults) -> None:
        """Check what needs the block as a whole: its counts, and the assignments that the terms name."""
        if self.unmatched != [{}, {}] and self.seen[0] - sum(map(len, self.unmatched)) == self.announced[0]:
            self.seen[0] = self.announced[0]  # 'p' may count matches only
        if tuple(self.seen) != self.announced:
            faults.append(
                (
                    self.line,
                    f"it has {self.seen[0]} assignments and {self.seen[1]} terms, but its 'p' line announces "
                    f"{self.announced[0]} and {self.announced[1]}: it is incomplete, copy it again",
                )
            )
        rows = {name: row for name, (_, row) in self.ids.items() if row >= 0}
        for line, *names, _ in (term for term in self.terms if term[1] not in rows or term[2] not in rows):
            for name in dict.fromkeys(names):
                if name not in self.ids:
                    faults.append((line, f"no assignment has the id {name}: correct it, or remove the term"))
                elif self.ids[name][1] == _IDLE:
                    faults.append(
                        (
                            line,
                            f"a term with assignment {name}, which leaves a node unmatched: terms are of two matches. "
                            "Add its cost to the other assignment, and subtract it from that one's terms with each "
                            "match of the node",
                        )
                    )

    def problem(self) -> Problem:
        """Only after `finish` found no fault."""
        matches = [pair for pair in self.pairs if NOBODY not in pair]
        terms = [(self.ids[a][1], self.ids[b][1]) for _, a, b, _ in self.terms]
        idle = [[self.unmatched[k].get(i, 0.0) for i in range(n)] for k, n in enumerate((self.n1, self.n2))]
        costs = [cost for *_, cost in self.terms]
        return Problem.sparse(
            self.n1, self.n2, matches, self.costs, terms, costs, unmatched1=idle[0], unmatched2=idle[1]
        )


def parse(lines: Iterable[str], faults: Faults) -> list[tuple[Key | None, Problem]]:
    """The problems of a file, each with the graphs of the 'gm' line before it; none if there are faults, which are
    added to `faults`."""
    blocks: list[tuple[Key | None, _Block]] = []
    key: Key | None = None
    unused = 0  # line of a 'gm' that no 'p' line has followed yet
    nodes = 0
    for number, line in _numbered(lines, faults):
        words = (line.partition("#")[0] if "#" in line else line).split()
        kind = words[0] if words else "c"
        try:
            if kind == "e" and blocks:
                blocks[-1][1].add_term(number, words)
                continue
            if kind.startswith("c") or kind in _COORDINATES:
                continue
            if kind not in _FORMS:
                raise ValueError(f"a line starts with {kind[:20]!r}, expected p, a, e, gm, c or #{_foreign(line)}")
            if kind == "p":
                blocks.append((key, _Block(number, words)))
                unused = 0
                nodes += blocks[-1][1].n1 + blocks[-1][1].n2
                if nodes > MOST_NODES_IN_ALL:
                    raise ValueError(f"its problems have more than {MOST_NODES_IN_ALL} nodes in all: split the file")
            elif kind == "gm":
                if unused:
                    raise ValueError("two 'gm' lines without a 'p' line between them: remove one")
                unused, key = number, _graphs(words)
            elif not blocks:
                raise ValueError(f"'{kind}' before the first 'p' line: the file's beginning is missing, copy it again")
            else:
                blocks[-1][1].add_assignment(number, words)
        except ValueError as error:
            faults.append((number, str(error)))
            if kind in ("p", "gm") or not blocks:  # what follows cannot be understood
                break
    else:
        if unused:
            faults.append((unused, "no 'p' line after the last 'gm' line: the file is incomplete, copy it again"))
        if not blocks and not faults:
            faults.append((0, "no 'p' line: it is empty or of another format"))
    for _, block in blocks:
        block.finish(faults)
    return [] if faults else [(key, block.problem()) for key, block in blocks]


def _numbered(lines: Iterable[str], faults: Faults) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; what goes wrong in reading them ends them, and is a fault."""
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            yield number, line
    except (EOFError, lzma.LZMAError, OSError) as error:
        faults.append((number + 1, f"{error}: the file is damaged, copy it again"))


def _foreign(line: str) -> str:
    start = line.lstrip()[:9].lower()
    return (
        ": it is a web page (HTML), download the file again"
        if start.startswith(("<!doctype", "<html", "<?xml"))
        else ""
    )


def _exactly(words: Sequence[str]) -> None:
    form = _FORMS[words[0]]
    if len(words) != len(form.split()):
        raise ValueError(f"{len(words)} words, expected {form!r}")


def _integer(word: str, what: str = "a count", most: int = 2**31 - 1) -> int:
    try:
        value = int(word)
    except ValueError:
        raise ValueError(f"{what} is {word[:30]!r}, expected an integer") from None
    if not 0 <= value <= most:
        raise ValueError(f"{what} is {word[:30]}, which is out of range: expected 0 to {most}")
    return value


def _node(word: str, side: str, n: int) -> int:
    if word == str(NOBODY):
        return NOBODY
    value = _integer(word, f"the {side} node")
    if value >= n:
        raise ValueError(f"the {side} node is {value}, but nodes there are 0 to {n - 1}")
    return value


def _cost(word: str, what: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f"the cost {what} is {word[:30]!r}, expected a number") from None
    if abs(value) <= LARGEST_COST:
        return value
    remedy = f"costs must be finite, at most {LARGEST_COST:g} in magnitude"
    if value > 0 and math.isinf(value):
        remedy += {
            "of a match": "; to forbid a match, leave its line out and count the rest in the 'p' line",
            "of a term": "; to forbid both matches together, give a cost larger than the sum of all others",
            "of staying unmatched": "; to match every node, leave the line out and solve with full=True (--full)",
        }[what]
    raise ValueError(f"the cost {what} is {word[:30]}: {remedy}")


def _graphs(words: Sequence[str]) -> Key:
    _exactly(words)
    first, second = _integer(words[1], "a graph"), _integer(words[2], "a graph")
    if first >= second:
        raise ValueError(f"'gm {first} {second}' is not a pair p < q of graphs: exchange graph 1 and 2")
    return first, second
