"""What a peer offers: whether it is installed, its settings, and a solve that can be timed."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import ClassVar, NamedTuple

import bbgm_solver as gm
import numpy as np


class Unsupported(ValueError):
    """A problem that a peer cannot take; the message says why."""


class Answer(NamedTuple):
    """What a peer found.

    Attributes:
        assignment: (n1,) integers, node of graph 2 or -1.
        proved: the peer itself claims that nothing is cheaper.
    """

    assignment: np.ndarray
    proved: bool


class Peer(ABC):
    """A solver of two graphs.

    Attributes:
        title: name in tables.
        package: distribution that it needs, as `pip install` takes it.
        settings: what differs from the defaults of its package, and what is done to its input and output.
    """

    title: ClassVar[str]
    package: ClassVar[str]
    settings: ClassVar[str]

    @classmethod
    def version(cls) -> str | None:
        """Installed version of its package, None where there is none."""
        try:
            return version(cls.package)
        except PackageNotFoundError:
            return None

    @classmethod
    def missing(cls) -> str:
        """What to do where the package is not installed."""
        return f"{cls.title} is left out: {cls.package} is not installed (pip install {cls.package})"

    @abstractmethod
    def prepare(self, problem: gm.Problem) -> Callable[[], "Answer"]:
        """The problem in the peer's own form. What is returned solves it, each time from the beginning; it is timed.

        Raises:
            Unsupported: the peer cannot take such a problem.
        """

    def finish(self, problem: gm.Problem, assignment: np.ndarray) -> np.ndarray:
        """The matching that counts, from the one that was found; not timed."""
        return assignment


def without_costly(problem: gm.Problem, assignment: np.ndarray) -> np.ndarray:
    """A matching without the matches that cost more than they bring, the worst one first.

    For peers that match every node of the smaller graph, where any node may stay unmatched.
    """
    kept, value = np.array(assignment, dtype=np.int32), gm.evaluate(problem, assignment)
    while True:
        rows = np.flatnonzero(kept >= 0)
        without = np.repeat(kept[None], len(rows), axis=0)
        without[np.arange(len(rows)), rows] = -1
        values = np.array([gm.evaluate(problem, one) for one in without])
        if len(rows) == 0 or not values.min() < value:
            return kept
        kept, value = without[int(values.argmin())], float(values.min())


def dense_form(problem: gm.Problem, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """The problem as matrices: unary costs (n1, n2), and those of terms (n1 n2, n1 n2), symmetric, half in each place.

    Args:
        largest: as many rows the second one may have.

    Raises:
        Unsupported: it has more, some matches are forbidden, or unmatched nodes cost something.
    """
    cells = problem.n1 * problem.n2
    if problem.n_assignments < cells:
        raise Unsupported("forbidden matches")
    if cells > largest:
        raise Unsupported(f"a dense matrix of {cells} x {cells} numbers")
    if problem.unmatched1.any() or problem.unmatched2.any():
        raise Unsupported("costs of unmatched nodes")
    pairs = np.zeros((cells, cells))
    a, b = problem.terms.T
    pairs[a, b] = pairs[b, a] = problem.term_costs / 2
    return problem.costs.reshape(problem.n1, problem.n2), pairs
