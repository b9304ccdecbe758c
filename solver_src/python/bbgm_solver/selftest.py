"""``python -m bbgm_solver.selftest``: the installed solver against complete enumeration, in a second."""

import itertools
import sys
from collections.abc import Iterator

import numpy as np

import bbgm_solver as gm


def matchings(problem: gm.Problem) -> Iterator[tuple[int, ...]]:
    """Every partial matching of allowed assignments: for each node of graph 1 a node of graph 2, or -1."""
    allowed = {(int(i), int(j)) for i, j in problem.assignments}
    for labels in itertools.product(range(-1, problem.n2), repeat=problem.n1):
        used = [j for j in labels if j >= 0]
        if len(set(used)) == len(used) and all((i, j) in allowed for i, j in enumerate(labels) if j >= 0):
            yield labels


def enumerate_best(problem: gm.Problem) -> float:
    """Smallest cost over all partial matchings, by trying each."""
    return min(gm.evaluate(problem, np.array(labels, dtype=np.int32)) for labels in matchings(problem))


def random_problem(rng: np.random.Generator, n1: int, n2: int) -> gm.Problem:
    """Costs from a normal distribution on random directed edges."""
    edges1, edges2 = (
        np.array([e for e in itertools.permutations(range(n), 2) if rng.random() < 0.6], dtype=np.int64).reshape(-1, 2)
        for n in (n1, n2)
    )
    return gm.Problem(rng.normal(size=(n1, n2)), edges1, edges2, rng.normal(size=(len(edges1), len(edges2))))


def main() -> int:
    """Returns 0 when every value agrees; otherwise says which does not and returns 1."""
    rng = np.random.default_rng(0)
    problems = [random_problem(rng, int(rng.integers(1, 5)), int(rng.integers(1, 5))) for _ in range(50)]
    for method in ("best", "dual"):
        for k, (problem, result) in enumerate(zip(problems, gm.solve_batch(problems, method), strict=True)):
            optimum = enumerate_best(problem)
            wrong = result.lower_bound > optimum + 1e-9 or result.objective < optimum - 1e-9
            if wrong or (method == "best" and result.objective > optimum + 1e-9):
                print(f"problem {k}, method {method}: {result}, but the optimum is {optimum}", file=sys.stderr)
                return 1
    print(f"bbgm_solver {gm.__version__}: {len(problems)} problems agree with complete enumeration")
    return 0


if __name__ == "__main__":
    sys.exit(main())
