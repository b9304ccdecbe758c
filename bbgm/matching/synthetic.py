"""Graph matching instances that need no network: from the places of keypoints alone, or from random numbers."""

import bbgm_solver as gm
import numpy as np
from scipy.spatial import cKDTree

from bbgm.data.images.keypoints import FRAME
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.graphs.delaunay import delaunay_graph
from bbgm.matching.instance import Instance

NOISE = 0.5  # deviation of the edge costs, and of a planted instance's vertex costs
FAVOUR = 0.7  # by how much the true matches, and true pairs of edges, are cheaper in a planted instance
JITTER = 0.03  # by how much planted nodes move between the graphs, in sides of the square
JITTER_LARGE = 0.12  # the same in distances 1 / sqrt(n) between neighbours: JITTER at n = 16, for any number of nodes


def geometric_instance(pair: KeypointPair, scale: float = 0.2) -> Instance:
    """Costs from the keypoints' places p_i and q_j in the frame, its side being 1:

        c^v_ij = |p_i - q_j| / scale - 1,
        c^e_ab = -1/2 exp(-|d_a - d_b| / scale) for an edge a = (i, i') with d_a = p_i' - p_i, and b likewise.

    The half is there because every edge of the Delaunay graphs comes in both directions.

    Args:
        scale: a match at that distance costs nothing; nearer ones pay, farther ones cost.

    Raises:
        ValueError: ``scale`` is not positive.
    """
    if not scale > 0:
        raise ValueError(f"scale is {scale}, expected a positive length in sides of the frame")
    p, q = pair.source.xy[pair.kept1] / FRAME, pair.target.xy[pair.kept2] / FRAME
    edges1, edges2 = delaunay_graph(p).edges, delaunay_graph(q).edges
    d1, d2 = p[edges1[:, 1]] - p[edges1[:, 0]], q[edges2[:, 1]] - q[edges2[:, 0]]
    unary = np.linalg.norm(p[:, None] - q, axis=2) / scale - 1
    quadratic = -0.5 * np.exp(-np.linalg.norm(d1[:, None] - d2, axis=2) / scale)
    return Instance(unary=unary, edges1=edges1, edges2=edges2, quadratic=quadratic)


def random_instance(n1: int, n2: int, seed: int, *, planted: bool = False, jitter: float = JITTER) -> Instance:
    """Random costs on the Delaunay graphs of points in a square, as large and as dense as this method's.

    Not planted, as from an untrained network: two unrelated graphs, c^v ~ N(0, 1), c^e ~ N(0, NOISE). Planted, as from
    a trained one: node i of graph 2 is node i of graph 1, moved by N(0, jitter); all costs ~ N(0, NOISE), those of the
    matches i -> i and of edges matched by them less FAVOUR. (NOISE etc. are deviations.)

    Raises:
        ValueError: a negative number of nodes.
    """
    if min(n1, n2) < 0:
        raise ValueError(f"n1 and n2 are {n1} and {n2}, must not be negative")
    generator = np.random.default_rng([seed, n1, n2, planted])
    xy1, xy2 = generator.random((n1, 2)), generator.random((n2, 2))
    common = min(n1, n2)
    if planted:
        xy2[:common] = xy1[:common] + jitter * generator.standard_normal((common, 2))
    edges1, edges2 = delaunay_graph(xy1).edges, delaunay_graph(xy2).edges
    unary = (NOISE if planted else 1.0) * generator.standard_normal((n1, n2))
    quadratic = NOISE * generator.standard_normal((len(edges1), len(edges2)))
    if planted:
        unary[np.arange(common), np.arange(common)] -= FAVOUR
        quadratic[(edges1[:, None] == edges2).all(axis=2)] -= FAVOUR
    return Instance(unary=unary, edges1=edges1, edges2=edges2, quadratic=quadratic)


def sparse_problem(n: int, candidates: int, seed: int) -> gm.Problem:
    """A planted problem of n x n nodes as `random_instance`, where a node may be matched with a few others only.

    These are the `candidates` nodes of graph 2 that are nearest to it; the true one moves by JITTER_LARGE / sqrt(n).
    Costs, and the terms for each pair of directed edges, are distributed as there. Nothing of size n x n is kept.

    Raises:
        ValueError: fewer than 1 or more than n candidates.
    """
    if not 1 <= candidates <= n:
        raise ValueError(f"{candidates} candidates for each of {n} nodes: expected 1 to {n}")
    generator = np.random.default_rng([seed, n, candidates])
    xy1 = generator.random((n, 2))
    xy2 = xy1 + JITTER_LARGE / np.sqrt(n) * generator.standard_normal((n, 2))
    allowed = cKDTree(xy2).query(xy1, range(1, candidates + 1))[1]  # (n, candidates)
    (i1, j1), (i2, j2) = delaunay_graph(xy1).edges.T, delaunay_graph(xy2).edges.T
    pairs = allowed[i1][:, :, None] * n + allowed[j1][:, None, :]  # (E1, candidates, candidates)
    edge, a, b = np.nonzero(np.isin(pairs, i2 * n + j2))
    true = allowed == np.arange(n)[:, None]
    costs = NOISE * generator.standard_normal(allowed.shape) - FAVOUR * true
    term_costs = NOISE * generator.standard_normal(len(edge)) - FAVOUR * (true[i1[edge], a] & true[j1[edge], b])
    matches = np.stack([np.repeat(np.arange(n), candidates), allowed.ravel()], axis=1)
    terms = np.stack([i1[edge] * candidates + a, j1[edge] * candidates + b], axis=1)
    return gm.Problem.sparse(n, n, matches, costs.ravel(), terms, term_costs)
