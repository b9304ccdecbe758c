"""``solve``, ``solve_batch``, ``trace``, ``evaluate``: the compiled core does the work."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbgm_solver import _core
from bbgm_solver._core import Problem
from bbgm_solver.arguments import at_least, check_problem, make_options
from bbgm_solver.exact import solve_exact
from bbgm_solver.result import Result


def solve(
    problem: Problem,
    method: str = "best",
    *,
    effort: str = "default",
    full: bool = False,
    max_iterations: int = 100,
    round_every: int = 10,
    tolerance: float = 1e-9,
) -> Result:
    """Finds a matching of small cost and a bound on the smallest.

    The result depends on the problem and the options only: not on the machine, the threads or earlier calls. Ctrl-C
    ends a solve of the main thread with KeyboardInterrupt (not in HiGHS, method "exact").

    Args:
        problem: the instance, costs minimised.
        method: "best" (primal search and coupled dual), "dual" (the solver of BB-GM: dual block coordinate ascent with
            roundings), or "exact" (an integer program, needs scipy; for small instances).
        effort: work limit of "best": "fast", "default" or "thorough".
        full: match as many nodes as the allowed assignments permit, every node of the smaller graph if possible.
        max_iterations: iterations of "dual".
        round_every: "dual" rounds after both passes of the first, the last and each round_every-th iteration.
        tolerance: a gap of at most tolerance * max(|objective|, largest cost) counts as closed; of the costs of matches
            and terms, the largest in magnitude. Where nodes pay for staying unmatched, or full=True rewards each match,
            gaps below 1e-14 of the sum of these are lost in rounding and count as open.

    Raises:
        ValueError: an option out of range; the message names it.
        TypeError: `problem` is not a Problem, or an option is of another type.
        ImportError: method "exact" without scipy.
    """
    check_problem("problem", problem)
    options = make_options(method, effort, full, max_iterations, round_every, tolerance)
    if method == "exact":
        return solve_exact(problem, full=full, tolerance=tolerance)
    return Result(*_core.solve(problem, options))


def solve_batch(
    problems: Sequence[Problem],
    method: str = "best",
    *,
    threads: int = 0,
    effort: str = "default",
    full: bool = False,
    max_iterations: int = 100,
    round_every: int = 10,
    tolerance: float = 1e-9,
) -> list[Result]:
    """Solves a list of problems in threads, the GIL released; the same results as `solve` on each.

    Args:
        problems: the instances.
        threads: 0 = all cores that this process may use. The results do not depend on it.
        method, effort, full, max_iterations, round_every, tolerance: as for `solve`.

    Raises:
        ValueError, TypeError, ImportError: as `solve`.
    """
    problems = list(problems)
    for k, problem in enumerate(problems):
        check_problem(f"problems[{k}]", problem)
    options = make_options(method, effort, full, max_iterations, round_every, tolerance)
    threads = at_least("threads", threads, 0)
    if method == "exact":
        return [solve_exact(problem, full=full, tolerance=tolerance) for problem in problems]
    return [Result(*raw) for raw in _core.solve_batch(problems, options, threads)]


def trace(
    problem: Problem,
    method: str = "best",
    *,
    effort: str = "default",
    max_iterations: int = 100,
    round_every: int = 10,
    full: bool = False,
    tolerance: float = 1e-9,
    timed: bool = False,
) -> NDArray[np.float64]:
    """How a solve goes: the bound and the objective after each of its steps.

    Args:
        problem, effort, max_iterations, round_every, full, tolerance: as for `solve`.
        method: "dual", a row before the first iteration and after each; or "best", a row after each stage that may
            change the bound or the incumbent (greedy start and cheap bound, each pass of that bound, each temperature
            of the coupled dual, branch and bound) and one at the end. A problem that is solved at once has one row.
        timed: add a column with the time, which differs from call to call; the others never do.

    Returns:
        (K, 3) float64, K >= 1: iterations of the dual so far; lower bound, which never falls; objective of the
        incumbent, which never rises, +inf before the first full matching where full=True. The last row is the result of
        `solve` with the same options. With `timed` (K, 4): at last the processor time since the beginning, s, of all
        threads of this process.

    Raises:
        ValueError: as `solve`, and for method "exact", whose course HiGHS does not tell.
        TypeError: as `solve`.
    """
    check_problem("problem", problem)
    options = make_options(method, effort, full, max_iterations, round_every, tolerance)
    if method == "exact":
        raise ValueError('method "exact" cannot be traced, HiGHS tells its result only: use "best" or "dual"')
    rows = _core.trace(problem, options)
    return rows if timed else rows[:, :3].copy()


def evaluate(problem: Problem, assignment: ArrayLike) -> float:
    """Cost of a matching, from the original costs.

    Args:
        assignment: (n1,) integers, node of graph 2 or -1.

    Raises:
        ValueError: wrong length, node out of range, used twice, or a forbidden match; names the position.
    """
    check_problem("problem", problem)
    return float(_core.evaluate(problem, assignment))
