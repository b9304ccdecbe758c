"""Checks of the arguments of solve, solve_multi and write_dd; every error names the argument and what is allowed."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from bbgm_solver import _core
from bbgm_solver._core import Problem

METHODS = ("best", "dual", "exact")
EFFORTS = ("fast", "default", "thorough")


def one_of(name: str, value: str, allowed: Sequence[str]) -> int:
    """Place of a value among those that are allowed."""
    if value not in allowed:
        raise ValueError(f"{name} {value!r} is not one of {list(allowed)}")
    return allowed.index(value)


def at_least(name: str, value: int, least: int) -> int:
    """An integer from `least` to 2^31 - 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} is {value!r}, expected an integer")
    if not least <= value < 2**31:
        limit = f"{least} or more" if value < least else f"at most {2**31 - 1}"
        raise ValueError(f"{name} is {value}, expected {limit}")
    return int(value)


def make_options(
    method: str, effort: str, full: bool, max_iterations: int, round_every: int, tolerance: float
) -> _core.Options:
    """Options of the compiled core; method "exact", which it does not have, as "best" or "dual"."""
    try:
        return _made(method, effort, full, max_iterations, round_every, tolerance)
    except TypeError:  # also of what cannot be hashed
        return _make(method, effort, full, max_iterations, round_every, tolerance)


def _make(
    method: str, effort: str, full: bool, max_iterations: int, round_every: int, tolerance: float
) -> _core.Options:
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float, np.number)):
        raise TypeError(f"tolerance is {tolerance!r}, expected a number")
    if not isinstance(full, (bool, np.bool_)):
        raise TypeError(f"full is {full!r}, expected True or False")
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance is {tolerance}, expected 0 <= tolerance < 1")
    return _core.Options(
        min(one_of("method", method, METHODS), 1),
        one_of("effort", effort, EFFORTS),
        bool(full),
        at_least("max_iterations", max_iterations, 0),
        at_least("round_every", round_every, 1),
        float(tolerance),
    )


# The checks take a tenth of the time of an easy solve, and most callers always give the same options.
_made = lru_cache(maxsize=64, typed=True)(_make)


def check_problem(name: str, problem: Problem) -> None:
    """Raises TypeError where it is not a Problem."""
    if not isinstance(problem, Problem):
        raise TypeError(f"{name} is a {type(problem).__name__}, expected a Problem")


def _is_graph(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= 0


def check_key(key: object) -> tuple[int, int]:
    """Two graph numbers p < q."""
    if not (isinstance(key, tuple) and len(key) == 2 and all(map(_is_graph, key))):
        raise TypeError(f"key {key!r} of the problems is not a pair (p, q) of graph numbers from 0")
    p, q = int(key[0]), int(key[1])
    if p == q:
        raise ValueError(f"key {key!r} of the problems matches a graph to itself; leave it out")
    if p > q:
        raise ValueError(f"key {key!r} of the problems has p > q; give it as {(q, p)} with graph 1 and 2 exchanged")
    return p, q


def graph_sizes(problems: Mapping[tuple[int, int], Problem]) -> dict[int, int]:
    """Nodes of each graph, the same in all its problems."""
    found: dict[int, tuple[int, tuple[int, int]]] = {}
    for key, problem in problems.items():
        for graph, n in zip(key, (problem.n1, problem.n2), strict=True):
            other, first = found.setdefault(graph, (n, key))
            if other != n:
                raise ValueError(f"graph {graph} has {other} nodes in problem {first}, but {n} in problem {key}")
    return {graph: found[graph][0] for graph in sorted(found)}
