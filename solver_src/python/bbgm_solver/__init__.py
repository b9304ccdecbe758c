"""Graph matching: a fast primal search, a coupled dual bound, and proofs of optimality.

>>> import numpy as np, bbgm_solver as gm
>>> problem = gm.Problem(np.array([[-1.0, 0.5], [0.2, -2.0]]), [[0, 1]], [[0, 1]], [[-0.5]])
>>> gm.solve(problem).assignment
array([0, 1], dtype=int32)
"""

from bbgm_solver._core import Problem
from bbgm_solver.arguments import EFFORTS, METHODS
from bbgm_solver.batch import STOP_REASONS, BatchResult, DenseBatch
from bbgm_solver.dd import read_dd, write_dd
from bbgm_solver.multi import MULTI_METHODS, MultiResult, solve_multi
from bbgm_solver.relaxation import relaxation_bound
from bbgm_solver.result import Result
from bbgm_solver.solving import evaluate, solve, solve_batch, trace

__all__ = [
    "EFFORTS",
    "METHODS",
    "MULTI_METHODS",
    "STOP_REASONS",
    "BatchResult",
    "DenseBatch",
    "MultiResult",
    "Problem",
    "Result",
    "evaluate",
    "read_dd",
    "relaxation_bound",
    "solve",
    "solve_batch",
    "solve_multi",
    "trace",
    "write_dd",
]
__version__ = "0.1.0"
