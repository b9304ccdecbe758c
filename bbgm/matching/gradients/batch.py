"""The problems of a batch as one: a vector w (N,) of all their costs, and one y (N,) of all their solutions.

The vector holds the vertex costs of all problems, and then their edge costs, so that one transfer brings the costs of a
batch to the CPU, and formulas read as in the papers: w . y, y(w + lambda d).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bbgm.matching.instance import Instance, Solution
from bbgm.matching.solvers import JoinedSolver, Solver


@dataclass(frozen=True)
class GradientOptions:
    """What estimators can be told; each reads what it needs.

    Attributes:
        lambda_: range of the interpolation, on the scale of costs / gradient; tau of LPGD.
        rho: weight of LPGD's proximal term, on the scale of the costs.
        samples: S, number of noisy copies of the costs.
        sigma, sigma_edges: scale of the noise on vertex and on edge costs; without noise on them, edge costs get no
            gradient from estimators that need it (`perturbed`).
        seed: of the noise; None: drawn from torch's generator.
    """

    lambda_: float = 80.0
    rho: float = 0.1
    samples: int = 10
    sigma: float = 0.2
    sigma_edges: float = 0.05
    seed: int | None = None

    def __post_init__(self) -> None:
        if not self.lambda_ > 0:
            raise ValueError(f"lambda must be positive, not {self.lambda_}")
        if self.samples < 1:
            raise ValueError(f"samples is the number of noisy copies, 1 or more, not {self.samples}")
        for name in ("rho", "sigma", "sigma_edges"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, but is {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class ProblemBatch:
    """B problems without their costs, and the solver for them.

    Attributes:
        shapes: of each problem (n1, n2) and (E1, E2).
        edges: of each problem, (E1, 2) and (E2, 2).
        solver: of the problems.
        joint: the problems are one, whose solutions depend on each other (cycle consistency).
    """

    shapes: list[tuple[tuple[int, int], tuple[int, int]]]
    edges: list[tuple[np.ndarray, np.ndarray]]
    solver: Solver
    joint: bool = field(default=False)

    @classmethod
    def of(cls, instances: Sequence[Instance[Tensor]], solver: Solver, joint: bool = False) -> "ProblemBatch":
        """The batch of these instances."""
        shapes = [((x.unary.shape[0], x.unary.shape[1]), (len(x.edges1), len(x.edges2))) for x in instances]
        return cls(shapes, [(x.edges1, x.edges2) for x in instances], solver, joint)

    def __len__(self) -> int:
        return len(self.shapes)

    @cached_property
    def _compiled(self) -> JoinedSolver | None:
        """The solver for the costs of the whole batch, where it has one; the solutions are the same."""
        make = None if self.joint else getattr(self.solver, "joined", None)
        return None if make is None else make(self.shapes, self.edges)

    @cached_property
    def owner(self) -> np.ndarray:
        """(N,) int64: the problem that each entry belongs to."""
        sizes = [rows * columns for rows, columns in self._parts]
        return np.repeat(np.tile(np.arange(len(self)), 2), sizes)

    @cached_property
    def on_edges(self) -> np.ndarray:
        """(N,) bool: entries that belong to pairs of edges."""
        sizes = [rows * columns for rows, columns in self._parts]
        return np.arange(sum(sizes)) >= sum(sizes[: len(self)])

    def solve(self, w: np.ndarray, known: tuple[np.ndarray, np.ndarray] | None = None) -> np.ndarray:
        """y(w) for costs (N,), or for each row of costs (S, N): all S B problems in one call of the solver.

        Args:
            w: costs, float64.
            known: costs that were solved before, and their solutions, of the same shapes. A problem with the same
                costs is not solved again.

        Returns:
            0 and 1, float64, of the shape of ``w``.
        """
        rows = np.atleast_2d(w)
        if self._compiled is not None:
            before = None if known is None else (np.atleast_2d(known[0]), np.atleast_2d(known[1]))
            return self._compiled(rows, before)[0].reshape(w.shape)
        y = np.zeros_like(rows) if known is None else np.atleast_2d(known[1]).copy()
        todo = [(s, b) for s in range(len(rows)) for b in range(len(self))]
        if known is not None:
            different = np.atleast_2d(known[0]) != rows
            changed = [self.any(row) for row in different]
            todo = [(s, b) for s, b in todo if (changed[s].any() if self.joint else changed[s][b])]
        problems = {s: self.instances(rows[s]) for s in dict.fromkeys(s for s, _ in todo)}
        calls = [[(s, b) for b in range(len(self))] for s in problems] if self.joint else [todo]
        solutions = {s: self.split(y[s]) for s in problems}
        for call in calls:
            given = [problems[s][b] for s, b in call]
            for (s, b), instance, assignment in zip(call, given, self.solver(given), strict=True):
                for place, found in zip(solutions[s][b], instance.solution(assignment), strict=True):
                    place[...] = found
        return y.reshape(w.shape)

    def split(self, vector: np.ndarray) -> list[Solution]:
        """The parts of a vector (N,), which they share memory with, by problem."""
        ends = np.cumsum([rows * columns for rows, columns in self._parts])[:-1]
        arrays = [part.reshape(shape) for part, shape in zip(np.split(vector, ends), self._parts, strict=True)]
        return list(zip(arrays[: len(self)], arrays[len(self) :], strict=True))

    def instances(self, w: np.ndarray) -> list[Instance]:
        """The problems that costs (N,) make."""
        return [
            Instance(unary=u, edges1=edges1, edges2=edges2, quadratic=q)
            for (u, q), (edges1, edges2) in zip(self.split(w), self.edges, strict=True)
        ]

    def tensors(self, vector: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """The parts of a tensor (N,): (n1, n2) of each problem, and (E1, E2) of each."""
        pieces = torch.split(vector, [rows * columns for rows, columns in self._parts])
        shaped = [piece.view(shape) for piece, shape in zip(pieces, self._parts, strict=True)]
        return shaped[: len(self)], shaped[len(self) :]

    def any(self, flags: np.ndarray) -> np.ndarray:
        """(B,) bool: for which problems an entry of (N,) is not zero."""
        return np.bincount(self.owner, flags != 0, len(self)) > 0

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums over each problem's entries, (B,), of values (N,); the order of addition is fixed."""
        return np.bincount(self.owner, values, len(self))

    def to_entries(self, values: np.ndarray) -> np.ndarray:
        """From a value for each problem (B,) to one for each entry (N,)."""
        return np.asarray(values)[self.owner]

    @property
    def _parts(self) -> list[tuple[int, int]]:
        return [unary for unary, _ in self.shapes] + [quadratic for _, quadratic in self.shapes]


def joined(instances: Sequence[Instance[Tensor]]) -> Tensor:
    """The costs of a batch as one tensor (N,), in the order of `ProblemBatch`.

    Raises:
        TypeError: costs that are not tensors.
        ValueError: costs on several devices.
    """
    for k, x in enumerate(instances):
        for name, part in (("unary", x.unary), ("quadratic", x.quadratic)):
            where = f"{name} of instance {k}"
            if not isinstance(part, Tensor):
                raise TypeError(f"{where} is a {type(part).__name__}, expected a tensor: give torch.as_tensor({name})")
            if part.device != (first := instances[0].unary.device):
                raise ValueError(
                    f"{where} is on the device {part.device}, the unary costs of instance 0 on {first}: move all of "
                    f"them to one, {name}.to({str(first)!r})"
                )
    return torch.cat([part.reshape(-1) for part in ([x.unary for x in instances] + [x.quadratic for x in instances])])


def as_array(vector: Tensor) -> np.ndarray:
    """A tensor as a float64 array; one transfer."""
    array: np.ndarray = vector.detach().to("cpu", torch.float64).numpy()
    return array
