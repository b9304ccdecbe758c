"""Small batches of problems, and what estimators make of them."""

import numpy as np
import torch

from bbgm.matching.blackbox import match_graphs
from bbgm.matching.gradients.batch import GradientOptions, ProblemBatch, as_array, joined
from bbgm.matching.solvers import make_solver
from bbgm.methods.losses import hamming_loss
from tests.support.draws import draw_instance, gradient, with_gradients

OPTIONS = GradientOptions(lambda_=5.0, rho=0.4, samples=4, sigma=0.5, sigma_edges=0.2, seed=7)


def draw_batch(seed, sizes=((4, 3), (3, 3), (4, 4)), solver="best"):
    """A batch, its costs and a direction d, as vectors."""
    rng = np.random.default_rng(seed)
    instances = [draw_instance(rng, *size) for size in sizes]
    batch = ProblemBatch.of([with_gradients(x) for x in instances], make_solver(solver))
    w = as_array(joined([with_gradients(x) for x in instances]))
    return instances, batch, w, rng.normal(size=len(w))


def of_problem(batch, vector, b):
    """The entries of one problem."""
    return vector[batch.owner == b]


def gradients_of(instances, **how):
    """dL/dw of both kinds of costs, for the Hamming distance to the identity."""
    inputs = [with_gradients(x) for x in instances]
    v, _ = match_graphs(inputs, **how)
    hamming_loss(v, [torch.eye(*part.shape) for part in v]).backward()
    return [(gradient(x.unary), gradient(x.quadratic)) for x in inputs]
