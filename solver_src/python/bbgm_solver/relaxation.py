"""The linear programs behind the dual bounds, solved by HiGHS through scipy: what a bound can reach at best."""

import numpy as np
from numpy.typing import NDArray

from bbgm_solver._core import Problem
from bbgm_solver.arguments import check_problem

Integers = NDArray[np.int64]


def relaxation_bound(problem: Problem, *, coupled: bool = True, share: float = 1.0) -> float:
    """Optimum of the linear program over nodes and pairwise tables: no matching costs less.

    Each node takes one of its labels, a match or "unmatched", in fractions that add up to one. Each pair of nodes of
    one graph with a common term has a table of fractions over their two labels, whose row and column sums are those of
    the nodes; both nodes matched to the same one is excluded. Each term is thus an entry of a table of graph 1 and of a
    table of graph 2.

    Args:
        problem: the instance; any node may stay unmatched, at its cost.
        coupled: the two entries of a term are equal, as method "best" has it. False: they need not be.
        share: without coupling, the part of each term's cost that is paid in graph 1's table; the rest is paid in graph
            2's. 1.0 is the program of method "dual", 0.5 treats both graphs alike. With coupling it changes nothing.

    Returns:
        The bound, to about 1e-7 of the largest cost. ``dual <= uncoupled (share=1) <= coupled <= optimum``.

    Raises:
        ValueError: `share` is not in [0, 1].
        TypeError: `problem` is not a Problem, or `share` not a number.
        ImportError: scipy is not installed.
        RuntimeError: HiGHS found no optimum.
    """
    check_problem("problem", problem)
    if not isinstance(share, (int, float, np.number)):
        raise TypeError(f"share is {share!r}, expected a number from 0 to 1")
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}, expected a number from 0 to 1")
    try:
        from scipy.optimize import linprog
        from scipy.sparse import coo_array
    except ImportError as error:
        raise ImportError("relaxation_bound needs scipy >= 1.9: pip install scipy") from error

    n_nodes = problem.n1 + problem.n2
    if n_nodes == 0:
        return 0.0
    labels = [_labels(problem, side) for side in (0, 1)]
    size = problem.n_assignments + n_nodes
    # Equations as (row, column, value) of the entries that are not zero, and right-hand sides.
    places = [(np.full(len(x), row), x, np.ones(len(x))) for row, x in enumerate(labels[0] + labels[1])]
    right = [np.ones(n_nodes)]
    costs = [problem.costs, problem.unmatched1, problem.unmatched2]
    entries = []
    for side, part in ((0, share), (1, 1 - share)):
        row, column, value, entry, end = _tables(problem, side, labels[side], size)
        places.append((row + sum(map(len, right)), column, value))
        right.append(np.zeros(int(row.max(initial=-1)) + 1))
        table_costs = np.zeros(end - size)
        table_costs[entry - size] = part * problem.term_costs
        costs.append(table_costs)
        entries.append(entry)
        size = end
    if coupled:
        row = sum(map(len, right)) + np.arange(problem.n_terms)
        places += [(row, entries[0], np.ones(len(row))), (row, entries[1], -np.ones(len(row)))]
        right.append(np.zeros(len(row)))
    objective, limits = np.concatenate(costs), np.concatenate(right)
    rows, columns, values = (np.concatenate(parts) for parts in zip(*places, strict=True))
    scale = float(np.abs(objective).max()) or 1.0  # HiGHS has absolute tolerances
    matrix = coo_array((values, (rows, columns)), shape=(len(limits), size)).tocsr()
    found = linprog(objective / scale, A_eq=matrix, b_eq=limits, bounds=(0, None), method="highs")
    if found.status != 0:
        raise RuntimeError(f"HiGHS found no optimum of the relaxation of {problem!r}: {found.message}")
    return float(found.fun) * scale


def _labels(problem: Problem, side: int) -> list[Integers]:
    """Columns of each node's labels in the program: its assignments in order, then its "unmatched"."""
    own = problem.assignments[:, side]
    unmatched = problem.n_assignments + (problem.n1 if side else 0)
    n = problem.n2 if side else problem.n1
    return [np.append(np.flatnonzero(own == node), unmatched + node) for node in range(n)]


def _tables(
    problem: Problem, side: int, labels: list[Integers], first: int
) -> tuple[Integers, Integers, NDArray[np.float64], Integers, int]:
    """Equations (sums of tables) - (labels) = 0 as row, column, value; column of each term; end of the columns."""
    own, other = problem.assignments[:, side], problem.assignments[:, 1 - side]
    a, b = problem.terms.T
    a, b = np.where(own[a] < own[b], a, b), np.where(own[a] < own[b], b, a)
    pairs = own[a] * len(labels) + own[b]
    entry = np.empty(problem.n_terms, dtype=np.int64)
    rows, columns, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    equation = 0
    for pair in np.unique(pairs):
        up, across = (labels[node] for node in divmod(pair, len(labels)))
        same = np.append(other[up[:-1]], -1)[:, None] == np.append(other[across[:-1]], -2)
        r, c = np.nonzero(~same)
        cells = first + np.arange(len(r))
        sums, marginals = equation + np.concatenate([r, len(up) + c]), np.concatenate([up, across])
        rows += [sums, equation + np.arange(len(marginals))]
        columns += [cells, cells, marginals]
        values += [np.ones(len(sums)), -np.ones(len(marginals))]
        table = np.empty(same.shape, dtype=np.int64)
        table[r, c] = cells
        here = np.flatnonzero(pairs == pair)
        entry[here] = table[np.searchsorted(up[:-1], a[here]), np.searchsorted(across[:-1], b[here])]
        first, equation = first + len(r), equation + len(marginals)
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(values), entry, first
