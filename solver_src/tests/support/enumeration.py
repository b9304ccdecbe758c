"""Optima of small problems by trying every matching: nothing of the solver is used but `evaluate`."""

from collections.abc import Iterator

import bbgm_solver as gm
import numpy as np
from bbgm_solver.selftest import enumerate_best, matchings

from support.problems import Problems, node_counts

__all__ = ["definition", "each_consistent", "enumerate_best", "matchings", "optima", "optimum_of_set"]


def optima(problem: gm.Problem) -> tuple[float, float]:
    """Smallest cost of all matchings, and of those with the most matches."""
    least: dict[int, float] = {}
    for labels in matchings(problem):
        count = sum(j >= 0 for j in labels)
        least[count] = min(least.get(count, np.inf), gm.evaluate(problem, np.array(labels, dtype=np.int64)))
    return min(least.values()), least[max(least)]


def definition(problem: gm.Problem, labels: tuple[int, ...]) -> float:
    """Cost of a matching by the definition, written out from what the problem shows of itself."""
    chosen = {k for k, (i, j) in enumerate(problem.assignments) if labels[i] == j}
    value = sum(problem.costs[k] for k in chosen)
    value += sum(c for (a, b), c in zip(problem.terms, problem.term_costs, strict=True) if {a, b} <= chosen)
    value += sum(c for i, c in enumerate(problem.unmatched1) if labels[i] < 0)
    return float(value + sum(c for j, c in enumerate(problem.unmatched2) if j not in labels))


def each_consistent(problems: Problems) -> Iterator[list[dict[int, int]]]:
    """Every set of objects (graph -> node), of one node too, in which no two nodes forbid each other."""
    allowed = {key: {(int(i), int(j)) for i, j in problem.assignments} for key, problem in problems.items()}
    nodes = [(graph, i) for graph, n in node_counts(problems).items() for i in range(n)]

    def place(k: int, objects: list[dict[int, int]]) -> Iterator[list[dict[int, int]]]:
        if k == len(nodes):
            yield objects
            return
        graph, i = nodes[k]
        for o, members in enumerate(objects):
            pairs = [((p, graph), (j, i)) for p, j in members.items()]
            if graph not in members and all(match in allowed[key] for key, match in pairs if key in allowed):
                yield from place(k + 1, [*objects[:o], {**members, graph: i}, *objects[o + 1 :]])
        yield from place(k + 1, [*objects, {graph: i}])

    yield from place(0, [])


def optimum_of_set(problems: Problems) -> float:
    """Smallest summed cost of all cycle-consistent matchings of several graphs."""
    values: dict[tuple[tuple[int, int], bytes], float] = {}
    best = np.inf
    for objects in each_consistent(problems):
        total = 0.0
        for (p, q), problem in problems.items():
            match = np.full(problem.n1, -1)
            for members in objects:
                if p in members and q in members:
                    match[members[p]] = members[q]
            key = (p, q), match.tobytes()
            if key not in values:
                values[key] = gm.evaluate(problem, match)
            total += values[key]
        best = min(best, total)
    return best
