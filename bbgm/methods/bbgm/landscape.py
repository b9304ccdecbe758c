"""The loss as a function of the costs, L(GM(w)), and its interpolation f_lambda (paper Sec. 3.1 and Fig. 2).

A section is the plane w + s d1 + t d2 through the costs w = (c^v, c^e) of one instance. With the Hamming distance as L,
g = dL/dy does not depend on y, and with G(w) = min_y w . y

    f_lambda(w) = L(0) + (G(w + lambda g) - G(w)) / lambda = 1/lambda * integral_0^lambda L(y(w + mu g)) dmu,

the mean of the loss over a segment of the costs, from w to w + lambda g. All directions have the length of g, so s, t
and lambda have one unit: the (root mean square) change of a vertex cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bbgm_solver as gm
import numpy as np

from bbgm.matching.blackbox import hamming_gradient, match_graphs
from bbgm.matching.instance import Instance, Solution

if TYPE_CHECKING:
    import pandas as pd

METHOD = "best"


@dataclass(frozen=True, eq=False)
class Minima:
    """Smallest costs of B instances.

    Attributes:
        assignments: of each instance, (n1,) int32, -1 = unmatched.
        costs: (B,) float64, G(w).
        proved: (B,) bool, whether the solver's lower bound shows that there is no smaller one.
    """

    assignments: list[np.ndarray]
    costs: np.ndarray
    proved: np.ndarray


def minimise(instances: Sequence[Instance]) -> Minima:
    """Solve instances, all in one batch; those that are not proved at once, again with more effort."""
    problems = [x.problem() for x in instances]
    results = gm.solve_batch(problems, METHOD)
    unproved = [k for k, result in enumerate(results) if not result.optimal]
    again = gm.solve_batch([problems[k] for k in unproved], METHOD, effort="thorough")
    for k, result in zip(unproved, again, strict=True):
        results[k] = result
    return Minima(
        [result.assignment for result in results],
        np.array([result.objective for result in results]),
        np.array([result.optimal for result in results]),
    )


def loss_direction(instance: Instance, truth: np.ndarray) -> Solution:
    """g = dL/dy of the Hamming distance: -1 at the true matches, +1 elsewhere, 0 for edges. Along it the loss falls.

    Args:
        truth: (n1, n2), the true v*.
    """
    return hamming_gradient(truth, instance)[0]


def random_direction(instance: Instance, generator: np.random.Generator, edges: bool = True) -> Solution:
    """A normally distributed change of the costs, as long as :func:`loss_direction`: sqrt(n1 n2).

    Args:
        edges: change vertex and edge costs; False: the vertex costs only.
    """
    v, e = generator.standard_normal(instance.unary.shape), np.zeros(instance.quadratic.shape)
    if edges:
        e = generator.standard_normal(e.shape)
    scale = np.sqrt(v.size / ((v**2).sum() + (e**2).sum()))
    return scale * v, scale * e


@dataclass(frozen=True, eq=False)
class Section:
    """The loss and its interpolations on a grid of T x S costs w + s d1 + t d2.

    Attributes:
        s, t: (S,) and (T,), positions along the two directions.
        loss: (T, S), L(y(w)), the Hamming distance.
        interpolations: lambda -> (T, S), f_lambda(w).
        changes: lambda -> (T, S) bool, whether y_lambda differs from y, so that the layer's gradient is not zero.
        solved, proved: how many minima were computed for it, and how many of them the solver proved.
    """

    s: np.ndarray
    t: np.ndarray
    loss: np.ndarray
    interpolations: Mapping[float, np.ndarray]
    changes: Mapping[float, np.ndarray]
    solved: int
    proved: int

    def summary(self) -> "pd.DataFrame":
        """One row per lambda: where there is a gradient (% of all points, of those with a loss), and the error of f."""
        import pandas as pd

        wrong = self.loss > 0
        rows = [
            {
                "lambda": lambda_,
                "gradient, % of all points": 100 * self.changes[lambda_].mean(),
                "gradient, % of wrong points": 100 * self.changes[lambda_][wrong].mean() if wrong.any() else np.nan,
                "mean of L - f": (self.loss - values).mean(),
                "largest L - f": (self.loss - values).max(),
            }
            for lambda_, values in self.interpolations.items()
        ]
        return pd.DataFrame(rows).set_index("lambda")


def loss_section(
    instance: Instance,
    truth: np.ndarray,
    directions: tuple[Solution, Solution],
    s: np.ndarray,
    t: np.ndarray,
    lambdas: Sequence[float],
) -> Section:
    """Evaluate the loss and f_lambda on a plane through an instance's costs; ``t = [0.0]`` gives a line.

    Args:
        truth: (n1, n2), the true v*.
        directions: d1, d2, each with a part for the vertex and one for the edge costs.
        s, t: positions along them.
        lambdas: ranges of the interpolation, all positive.

    Raises:
        ValueError: a lambda that is not positive.
    """
    if any(not lambda_ > 0 for lambda_ in lambdas):
        raise ValueError(f"every lambda must be positive, not {list(lambdas)}")
    gradient, constant = hamming_gradient(truth, instance)
    loss = np.empty((len(t), len(s)))
    interpolations = {lambda_: np.empty_like(loss) for lambda_ in lambdas}
    changes = {lambda_: np.empty(loss.shape, dtype=bool) for lambda_ in lambdas}
    proved = 0
    for row, position in enumerate(t):  # one row at a time, to limit the memory
        costs = [instance.plus(directions[1], position).plus(directions[0], x) for x in s]
        here = minimise(costs)
        loss[row] = [hamming(assignment, truth) for assignment in here.assignments]
        proved += int(here.proved.sum())
        for lambda_ in lambdas:
            there = minimise([x.plus(gradient, lambda_) for x in costs])
            interpolations[lambda_][row] = constant + (there.costs - here.costs) / lambda_
            changes[lambda_][row] = [
                not np.array_equal(a, b) for a, b in zip(here.assignments, there.assignments, strict=True)
            ]
            proved += int(there.proved.sum())
    return Section(np.asarray(s), np.asarray(t), loss, interpolations, changes, loss.size * (1 + len(lambdas)), proved)


def hamming(assignment: np.ndarray, truth: np.ndarray) -> float:
    """Entries in which the matching's 0/1 matrix and the true one differ."""
    rows = np.flatnonzero(assignment >= 0)
    right = np.asarray(truth, dtype=bool)[rows, assignment[rows]].sum()
    return float(len(rows) + np.sum(truth) - 2 * right)


def check_gradient(
    instances: Sequence[Instance],
    truths: Sequence[np.ndarray],
    lambda_: float,
    generator: np.random.Generator,
    step: float = 1e-6,
) -> "pd.DataFrame":
    """The layer's gradient beside difference quotients of f_lambda, each instance along one random direction d.

    f_lambda is piecewise linear, so its central difference quotient is exact up to rounding, unless a bend lies between
    w - step d and w + step d. There f_lambda has no derivative to compare with: ``smooth`` is False.

    Args:
        instances, truths: B problems, and their true v* (n1, n2).
        lambda_: range of the interpolation.
        step: how far to go along d, for the quotient.

    Returns:
        One row per instance: ``loss``, ``layer`` (gradient . d), ``quotient``, ``error`` and ``smooth``.
    """
    import pandas as pd

    gradients = _layer_gradients(instances, truths, lambda_)
    rows = []
    for instance, truth, (dv, de) in zip(instances, truths, gradients, strict=True):
        direction = random_direction(instance, generator)
        gradient, constant = hamming_gradient(truth, instance)
        base = [instance.plus(direction, -step), instance, instance.plus(direction, step)]
        minima = minimise([*base, *(x.plus(gradient, lambda_) for x in base)])
        values = constant + (minima.costs[3:] - minima.costs[:3]) / lambda_
        layer = float((dv * direction[0]).sum() + (de * direction[1]).sum())
        quotient = float(values[2] - values[0]) / (2 * step)
        same = [np.array_equal(minima.assignments[a], minima.assignments[a + 2]) for a in (0, 3)]
        rows.append(
            {
                "loss": hamming(minima.assignments[1], truth),
                "layer": layer,
                "quotient": quotient,
                "error": abs(layer - quotient),
                "smooth": all(same),
            }
        )
    return pd.DataFrame(rows)


def _layer_gradients(
    instances: Sequence[Instance], truths: Sequence[np.ndarray], lambda_: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """What backpropagation through the solver layer gives for the vertex and the edge costs, in float64."""
    import torch

    from bbgm.methods.losses import hamming_loss

    unary = [torch.tensor(x.unary, dtype=torch.float64, requires_grad=True) for x in instances]
    quadratic = [torch.tensor(x.quadratic, dtype=torch.float64, requires_grad=True) for x in instances]
    match, _ = match_graphs(
        [
            Instance(unary=u, edges1=x.edges1, edges2=x.edges2, quadratic=q)
            for x, u, q in zip(instances, unary, quadratic, strict=True)
        ],
        lambda_=lambda_,
        method=METHOD,
    )
    # The sum, not the mean over the batch: each instance is compared with its own f_lambda.
    loss = hamming_loss(match, [torch.from_numpy(np.asarray(truth, dtype=bool)) for truth in truths]) * len(truths)
    gradients = [part.numpy() for part in torch.autograd.grad(loss, [*unary, *quadratic])]
    return list(zip(gradients[: len(unary)], gradients[len(unary) :], strict=True))
