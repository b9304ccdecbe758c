from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

RawResult = tuple[NDArray[np.int32], float, float, bool, int, str]

STOP_REASONS: tuple[str, ...]

class DenseBatch:
    def __init__(
        self,
        sizes: ArrayLike,
        edges1: Sequence[ArrayLike] | ArrayLike,
        edges2: Sequence[ArrayLike] | ArrayLike,
        edge_counts: ArrayLike | None,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def entries(self) -> int: ...
    def solve(
        self, unary: ArrayLike, quadratic: ArrayLike, options: Options, threads: int
    ) -> tuple[
        NDArray[np.int32],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.bool_],
        NDArray[np.int32],
        NDArray[np.int8],
    ]: ...
    def indicators(
        self,
        costs: ArrayLike,
        known_costs: ArrayLike | None,
        known: ArrayLike | None,
        options: Options,
        threads: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]: ...

class Options:
    def __init__(
        self, method: int, effort: int, full: bool, max_iterations: int, round_every: int, tolerance: float
    ) -> None: ...

class Problem:
    def __init__(
        self,
        unary: ArrayLike,
        edges1: ArrayLike,
        edges2: ArrayLike,
        quadratic: ArrayLike,
        *,
        allowed: ArrayLike | None = None,
        unmatched1: ArrayLike | None = None,
        unmatched2: ArrayLike | None = None,
    ) -> None: ...
    @staticmethod
    def sparse(
        n1: int,
        n2: int,
        assignments: ArrayLike,
        costs: ArrayLike,
        terms: ArrayLike,
        term_costs: ArrayLike,
        *,
        unmatched1: ArrayLike | None = None,
        unmatched2: ArrayLike | None = None,
    ) -> Problem: ...
    @property
    def n1(self) -> int: ...
    @property
    def n2(self) -> int: ...
    @property
    def n_assignments(self) -> int: ...
    @property
    def n_terms(self) -> int: ...
    @property
    def assignments(self) -> NDArray[np.int64]: ...
    @property
    def costs(self) -> NDArray[np.float64]: ...
    @property
    def terms(self) -> NDArray[np.int64]: ...
    @property
    def term_costs(self) -> NDArray[np.float64]: ...
    @property
    def unmatched1(self) -> NDArray[np.float64]: ...
    @property
    def unmatched2(self) -> NDArray[np.float64]: ...

def evaluate(problem: Problem, assignment: ArrayLike) -> float: ...
def largest_matching(problem: Problem) -> int: ...
def solve(problem: Problem, options: Options) -> RawResult: ...
def solve_batch(problems: Sequence[Problem], options: Options, threads: int) -> list[RawResult]: ...
def trace(problem: Problem, options: Options) -> NDArray[np.float64]: ...
def solve_multi(
    sizes: Sequence[int],
    pairs: Sequence[tuple[int, int, Problem]],
    options: Options,
    method: int,
    starts: int,
    seed: int,
    max_iterations: int,
    round_every: int,
    threads: int,
) -> tuple[NDArray[np.int32], float, float, bool, str]: ...
