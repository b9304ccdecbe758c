"""Gradient estimators of the solver as a layer: what `match_graphs(..., gradient=...)` and `solver.gradient` name.

A solver's y(w) = argmin w . y is piecewise constant, so its derivative is zero or undefined; an estimator says what
training gets instead. It is a function of a batch of problems, their costs w and options that returns y and a function
from d = dL/dy to dL/dw:

    def blackbox(batch, w, options):
        y = batch.solve(w)
        return y, lambda d: (batch.solve(w + options.lambda_ * d) - y) / options.lambda_

All are vectors (N,) of the whole batch, see `bbgm.matching.gradients.batch`. A further estimator is one such function
and one line in `bbgm.config.parts.GRADIENTS`. One that learns while it is trained, as `aimle`, is an `nn.Module` whose
`forward` is that function; what it has learned belongs into buffers.
"""
