"""Kinds of work whose speed is guarded (`bbgm.bench.speed`): each makes its problems, and returns what is to be timed.

All problems are random with fixed seeds, so that no file is needed and the work is the same everywhere. A further kind
is a function here and a line in `WORKLOADS`.
"""

from collections.abc import Callable
from typing import Any

import bbgm_solver as gm
import numpy as np
import torch
from torch import Tensor

from bbgm.matching.blackbox import match_graphs
from bbgm.matching.instance import Instance
from bbgm.matching.synthetic import random_instance

Work = tuple[Callable[[], Any], int]
"""What is timed, on one thread, and of how many problems it is."""

SIZES = ((8, 8), (10, 10), (12, 12), (10, 14), (15, 15), (19, 19), (20, 23), (23, 23))


def trained() -> list[Instance]:
    """Instances as a trained network makes them: planted, of 8 to 23 nodes."""
    return [random_instance(n1, n2, seed, planted=True) for n1, n2 in SIZES for seed in range(3)]


def untrained(least: int, most: int) -> list[Instance]:
    """Instances as an untrained network makes them, of `least` to `most` nodes."""
    return [random_instance(n1, n2, seed) for n1, n2 in SIZES if least <= n1 <= most for seed in range(2)]


def solving(instances: list[Instance], method: str = "best") -> Work:
    """`solve` on each; problems are made before."""
    problems = [x.problem() for x in instances]
    return lambda: [gm.solve(problem, method) for problem in problems], len(problems)


def dense() -> Work:
    """Quadratic assignment with all edges, as in QAPLIB: symmetric weights of 1 to 9, n = 12, full matchings."""
    generator = np.random.default_rng(3)
    n = 12
    edges = np.argwhere(~np.eye(n, dtype=bool))
    problems = []
    for _ in range(2):
        one, other = (np.triu(generator.integers(1, 10, (n, n)), 1) for _ in range(2))
        weights = [(m + m.T)[edges[:, 0], edges[:, 1]].astype(float) for m in (one, other)]
        problems.append(gm.Problem(np.zeros((n, n)), edges, edges, np.outer(*weights)))
    return lambda: [gm.solve(problem, full=True) for problem in problems], len(problems)


def making() -> Work:
    """Problems from arrays, as a training step makes them."""
    instances = trained()
    return lambda: [x.problem() for x in instances], len(instances)


def layer() -> Work:
    """The layer of a network, forward and backward, on batches of 8 trained pairs: Alg. 1 on one thread."""
    instances = trained()
    batches = [instances[k : k + 8] for k in range(0, len(instances), 8)]

    def tensors(batch: list[Instance]) -> list[Instance[Tensor]]:
        return [
            Instance(
                unary=torch.from_numpy(x.unary).requires_grad_(),
                edges1=x.edges1,
                edges2=x.edges2,
                quadratic=torch.from_numpy(x.quadratic).requires_grad_(),
            )
            for x in batch
        ]

    given = [tensors(batch) for batch in batches]

    def run() -> None:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            for batch in given:
                matched, _ = match_graphs(batch, lambda_=80.0)
                torch.autograd.backward([one.sum() for one in matched])
        finally:
            torch.set_num_threads(before)

    return run, len(instances)


WORKLOADS: dict[str, Callable[[], Work]] = {
    "trained": lambda: solving(trained()),
    "untrained, n <= 12": lambda: solving(untrained(8, 12)),
    "untrained, n = 15 to 23": lambda: solving(untrained(15, 23)),
    "dense": dense,
    "dual": lambda: solving(trained() + untrained(8, 23), "dual"),
    "making problems": making,
    "layer": layer,
}
