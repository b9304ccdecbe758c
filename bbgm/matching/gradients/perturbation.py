"""Estimators that solve S noisy copies of the costs, all in one call of the solver: perturbed, I-MLE and AI-MLE.

    perturbed   y = mean_s y(w + sigma Z_s), Z normal        g = mean_s Z_s (y_s . d - b_s) / sigma
    imle        y = mean_s y(w - sigma e_s), e sum of Gamma  g = mean_s [y(w - sigma e_s + lambda d) - y_s] / lambda
    aimle       imle with lambda = beta |w| / |d|, where beta adapts

(Berthet et al., NeurIPS 2020; Niepert et al., NeurIPS 2021; Minervini et al., AAAI 2023.) b_s is the mean of y . d over
the other samples, which lowers the variance and not the expectation. Their y is fractional, so a loss must be linear in
y, as the Hamming distance is. The noise of a problem depends on the seed and on its place in the batch alone: not on
threads, nor on the other problems.
"""

from collections.abc import Callable
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from bbgm.matching.gradients.batch import GradientOptions, ProblemBatch
from bbgm.matching.gradients.interpolation import Result

GAMMAS = 10
"""Terms of a sum of Gamma variables (Niepert et al., 2021, Sec. 4.2)."""

Draw = Callable[[np.random.Generator, tuple[int, int], int], np.ndarray]
"""From a generator, a shape (S, entries) and the number of matches to noise of that shape."""


def perturbed(batch: ProblemBatch, w: np.ndarray, options: GradientOptions) -> Result:
    """The perturbed optimiser: unbiased for the smoothed solution, with the variance of S samples."""
    noise = normal_noise(batch, options)
    y = batch.solve(w + scaled(batch, noise, options))
    samples = len(noise)
    sigma = _scales(batch, options)
    inverse = np.divide(1.0, sigma, out=np.zeros_like(sigma), where=sigma > 0)

    def backward(d: np.ndarray) -> np.ndarray:
        losses = np.stack([batch.sums(one * d) for one in y])  # (S, B)
        others = (losses.sum(axis=0) - losses) / (samples - 1) if samples > 1 else np.zeros_like(losses)
        weights = np.stack([batch.to_entries(one) for one in losses - others])
        return cast(np.ndarray, (noise * weights).mean(axis=0) * inverse)

    return y.mean(axis=0), backward


def imle(batch: ProblemBatch, w: np.ndarray, options: GradientOptions) -> Result:
    """Implicit maximum likelihood: blackbox on noisy copies, with the same noise before and after the step."""
    noisy = w - scaled(batch, gamma_noise(batch, options), options)
    y = batch.solve(noisy)

    def backward(d: np.ndarray) -> np.ndarray:
        moved = batch.solve(noisy + options.lambda_ * d, known=(noisy, y))
        return cast(np.ndarray, (moved - y).mean(axis=0) / options.lambda_)

    return y.mean(axis=0), backward


class AdaptiveIMLE(nn.Module):
    """I-MLE whose step follows the costs: lambda = beta |w| / |d| of each problem.

    After each step beta grows by `STEP` where a problem's gradient has fewer than `TARGET` entries that are not zero (a
    running mean over steps, samples and problems), and shrinks by it otherwise.

    Attributes:
        beta: (1,) float64.
        entries: (1,) float64, the running mean; negative before the first step.
    """

    STEP, DECAY, TARGET = 1e-3, 0.9, 1.0

    beta: Tensor
    entries: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("beta", torch.ones(1, dtype=torch.float64))
        self.register_buffer("entries", torch.full((1,), -1.0, dtype=torch.float64))

    def forward(self, batch: ProblemBatch, w: np.ndarray, options: GradientOptions) -> Result:
        """See `imle`; ``options.lambda_`` is not used."""
        noisy = w - scaled(batch, gamma_noise(batch, options), options)
        y = batch.solve(noisy)

        def backward(d: np.ndarray) -> np.ndarray:
            length = np.sqrt(batch.sums(d**2))
            size = np.sqrt(batch.sums(w**2)) * max(float(self.beta), 0.0)
            # Without a gradient, or without costs, there is no step to take: lambda = 1 then changes nothing.
            lambda_ = np.divide(size, length, out=np.ones_like(size), where=(length > 0) & (size > 0))
            each = batch.to_entries(lambda_)
            moved = batch.solve(noisy + each * d, known=(noisy, y))
            self._adapt(np.count_nonzero(moved != y) / (len(y) * len(batch)))
            return cast(np.ndarray, (moved - y).mean(axis=0) / each)

        return y.mean(axis=0), backward

    def _adapt(self, entries: float) -> None:
        before = float(self.entries)
        mean = entries if before < 0 else self.DECAY * before + (1 - self.DECAY) * entries
        self.entries.fill_(mean)
        self.beta.add_(self.STEP if mean < self.TARGET else -self.STEP)


def normal_noise(batch: ProblemBatch, options: GradientOptions) -> np.ndarray:
    """Standard normal noise for S copies of all entries, (S, N)."""
    return _drawn(batch, options, lambda generator, shape, ones: generator.standard_normal(shape))


def gamma_noise(batch: ProblemBatch, options: GradientOptions) -> np.ndarray:
    """Sum-of-Gamma noise (S, N): the sum of k such variables is about Gumbel distributed, k the number of matches."""

    def draw(generator: np.random.Generator, shape: tuple[int, int], ones: int) -> np.ndarray:
        total = np.zeros(shape)
        for i in range(1, GAMMAS + 1):
            total += generator.gamma(1 / ones, ones / i, shape)
        return (total - np.log(GAMMAS)) / ones

    return _drawn(batch, options, draw)


def scaled(batch: ProblemBatch, noise: np.ndarray, options: GradientOptions) -> np.ndarray:
    """Noise (S, N) at the scales of vertex and of edge costs."""
    return noise * _scales(batch, options)


def _scales(batch: ProblemBatch, options: GradientOptions) -> np.ndarray:
    return np.where(batch.on_edges, options.sigma_edges, options.sigma)


def _drawn(batch: ProblemBatch, options: GradientOptions, draw: Draw) -> np.ndarray:
    """(S, N): noise of each problem from a generator of its own, for its vertices and then for its edges."""
    seed = int(torch.randint(2**62, ())) if options.seed is None else options.seed
    noise = np.zeros((options.samples, len(batch.owner)))
    parts = [batch.split(row) for row in noise]
    for b, (unary, quadratic) in enumerate(batch.shapes):
        generator = np.random.default_rng([seed, b])
        ones = max(min(unary), 1)
        for which, (rows, columns) in enumerate((unary, quadratic)):
            values = draw(generator, (options.samples, rows * columns), ones)
            for part, value in zip(parts, values, strict=True):
                part[b][which][...] = value.reshape(rows, columns)
    return noise
