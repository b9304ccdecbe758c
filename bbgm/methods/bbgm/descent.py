"""Gradient descent of f_lambda on a plane of costs w + s d1 + t d2: what training would do, seen in two dimensions."""

from dataclasses import dataclass

import numpy as np

from bbgm.matching.instance import Instance, Solution
from bbgm.methods.bbgm.landscape import hamming, loss_direction, minimise


@dataclass(frozen=True, eq=False)
class Descent:
    """Steps against the gradient of f_lambda within a plane, from its middle.

    Attributes:
        lambda_: range of the interpolation.
        path: (K + 1, 2) positions s and t; K = 0 where the gradient is zero at once.
        losses: (K + 1,) L(y(w)) there.
        gradient: (2,) of f_lambda at the start, along d1 and d2.
        y, y_lambda: (n1,) the two matchings whose difference is the gradient at the start.
    """

    lambda_: float
    path: np.ndarray
    losses: np.ndarray
    gradient: np.ndarray
    y: np.ndarray
    y_lambda: np.ndarray


def descend(
    instance: Instance,
    truth: np.ndarray,
    directions: tuple[Solution, Solution],
    lambda_: float,
    *,
    length: float,
    steps: int,
    limit: float,
) -> Descent:
    """Follow the layer's gradient (y(w_lambda) - y(w)) / lambda, as far as it lies in the plane.

    Args:
        truth: (n1, n2), the true v*.
        directions: d1 and d2, each with a part for the vertex and one for the edge costs.
        length: of each step, so that paths of all lambdas can be compared; their gradients differ in size.
        steps: at most so many; the path ends earlier where the gradient is zero.
        limit: the path also ends where s or t would be larger.

    Raises:
        ValueError: a lambda that is not positive.
    """
    if not lambda_ > 0:
        raise ValueError(f"lambda must be positive, not {lambda_}")
    g = loss_direction(instance, truth)
    position, path, losses, first = np.zeros(2), [], [], None
    for _ in range(steps + 1):
        w = instance.plus(directions[0], position[0]).plus(directions[1], position[1])
        y, y_lambda = minimise([w, w.plus(g, lambda_)]).assignments
        change = [(b - a) / lambda_ for a, b in zip(instance.solution(y), instance.solution(y_lambda), strict=True)]
        slope = np.array([sum((c * part).sum() for c, part in zip(change, d, strict=True)) for d in directions])
        first = first or (slope, y, y_lambda)
        path.append(position)
        losses.append(hamming(y, truth))
        size = float(np.linalg.norm(slope))
        position = position - length * slope / size if size else position
        if not size or np.abs(position).max() > limit:
            break
    assert first is not None
    return Descent(lambda_, np.array(path), np.array(losses), *first)
