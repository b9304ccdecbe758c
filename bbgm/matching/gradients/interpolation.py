"""Estimators that solve once more, with costs moved along the loss: blackbox (the paper's) and LPGD; and Identity.

    blackbox        [y(w + lambda d) - y(w)] / lambda       (Vlastelica et al., ICLR 2020; paper Alg. 1)
    lpgd_right      [y(w + lambda d; rho) - y(w)] / lambda          (Lagrangian proximal gradient descent,
    lpgd_left       [y(w) - y(w - lambda d; rho)] / lambda           Paulus et al., 2024)
    lpgd_average    [y(w + lambda d; rho) - y(w - lambda d; rho)] / (2 lambda)
    identity        -d                                      (Sahoo et al., ICLR 2023)

y(.; rho) minimises w . y + rho/2 |y - y(w)|^2. As y has the entries 0 and 1, that square is linear in y, so rho (1/2 -
y(w)) is added to the costs. With rho = 0, `lpgd_right` is `blackbox`.

`identity` gives edge costs a gradient only where the loss sees the edges (``solver.hamming_edges``) or the costs are
normalised (``solver.normalise``). It does not vanish at the truth: costs that are not normalised grow for ever.
"""

from collections.abc import Callable

import numpy as np

from bbgm.matching.gradients.batch import GradientOptions, ProblemBatch

Result = tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]
"""y (N,), and the function from dL/dy (N,) to dL/dw (N,)."""


def blackbox(batch: ProblemBatch, w: np.ndarray, options: GradientOptions) -> Result:
    """The paper's Alg. 1. A problem whose d is zero is not solved again: its gradient is exactly zero."""
    y = batch.solve(w)

    def backward(d: np.ndarray) -> np.ndarray:
        return (batch.solve(w + options.lambda_ * d, known=(w, y)) - y) / options.lambda_

    return y, backward


def lpgd_right(batch: ProblemBatch, w: np.ndarray, options: GradientOptions) -> Result:
    """LPGD towards lower loss."""
    y = batch.solve(w)
    return y, lambda d: (_proximal(batch, w, y, options.lambda_ * d, options.rho) - y) / options.lambda_


def lpgd_left(batch: ProblemBatch, w: np.ndarray, options: GradientOptions) -> Result:
    """LPGD away from higher loss."""
    y = batch.solve(w)
    return y, lambda d: (y - _proximal(batch, w, y, -options.lambda_ * d, options.rho)) / options.lambda_


def lpgd_average(batch: ProblemBatch, w: np.ndarray, options: GradientOptions) -> Result:
    """The mean of both."""
    y = batch.solve(w)

    def backward(d: np.ndarray) -> np.ndarray:
        right, left = (_proximal(batch, w, y, sign * options.lambda_ * d, options.rho) for sign in (1, -1))
        return (right - left) / (2 * options.lambda_)

    return y, backward


def identity(batch: ProblemBatch, w: np.ndarray, options: GradientOptions) -> Result:
    """The solver's derivative taken as that of -w."""
    return batch.solve(w), lambda d: -d


def _proximal(batch: ProblemBatch, w: np.ndarray, y: np.ndarray, change: np.ndarray, rho: float) -> np.ndarray:
    """argmin over y' of (w + change) . y' + rho/2 |y' - y|^2; y itself where nothing changes."""
    changed = batch.any(change)
    if batch.joint:
        changed[:] = changed.any()
    return batch.solve(w + change + rho * (0.5 - y) * batch.to_entries(changed), known=(w, y))
