"""Methods with affinities of matches: batches of random features, and K by its definition, in full, with NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bbgm.config import load_run
from bbgm.graphs.delaunay import Graph, delaunay_graph
from bbgm.methods.base import make_matcher
from bbgm.methods.soft.association import AssociationLayer
from bbgm.methods.soft.batch import GraphBatch, PairBatch, make_graph
from bbgm.methods.soft.matcher import SoftMatcher

Featured = tuple[np.ndarray, Graph]
"""Features [U ; F] (n, C) of the nodes, and the graph."""


def make_soft(method: str, seed: int = 0, frozen: bool = True, **overrides: Any) -> SoftMatcher:
    """The network of an experiment with a small random backbone; its other parameters are float64."""
    network = {"backbone": "small", "weights": "random", "freeze_backbone": frozen}
    matcher = make_matcher(load_run(method, "smoke", seed, network=network, **overrides))
    assert isinstance(matcher, SoftMatcher)
    for name, part in matcher.named_children():
        if name != "backbone":
            part.double()
    return matcher


def association_of(matcher: SoftMatcher) -> AssociationLayer:
    """The layer of GMN or NGM that makes K."""
    layer = matcher.association
    assert isinstance(layer, AssociationLayer)
    return layer


def make_batch(sizes: Sequence[tuple[int, int]], channels: int, rng: np.random.Generator) -> PairBatch:
    """Random features that are not negative, float64; sources with Delaunay edges, targets with all."""
    sides = [
        [(rng.uniform(0, 1, (size[k], channels)), rng.uniform(0, 256, (size[k], 2))) for size in sizes] for k in (0, 1)
    ]
    return _batch(*sides)


def copies(count: int, n: int, channels: int, rng: np.random.Generator) -> tuple[PairBatch, np.ndarray]:
    """Pairs of a graph with distinctive features and its copy elsewhere, in another order; and their truth (P, n)."""
    sources, targets, truth = [], [], []
    for _ in range(count):
        x, xy, order = rng.exponential(1, (n, channels)) ** 3, rng.uniform(0, 256, (n, 2)), rng.permutation(n)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        sources.append((x, xy))
        targets.append((x[order], xy[order] + rng.uniform(-50, 50, 2)))
        truth.append(np.argsort(order))
    return _batch(sources, targets), np.stack(truth)


def _batch(*sides: Sequence[tuple[np.ndarray, np.ndarray]]) -> PairBatch:
    parts = []
    for nodes, edges in zip(sides, ("delaunay", "full"), strict=True):
        x = torch.zeros(len(nodes), max(len(one) for one, _ in nodes), nodes[0][0].shape[1], dtype=torch.float64)
        for row, (one, _) in zip(x, nodes, strict=True):
            row[: len(one)] = torch.from_numpy(one)
        parts.append(GraphBatch.make(x, [make_graph(delaunay_graph(xy), edges) for _, xy in nodes]))  # type: ignore[arg-type]
    return PairBatch(*parts)


def featured(batch: PairBatch, b: int) -> tuple[Featured, Featured]:
    """Both sides of one pair of a batch."""
    one, two = (
        (side.x[b, : side.sizes[b]].detach().double().numpy(), side.graphs[b]) for side in (batch.source, batch.target)
    )
    return one, two


def edge_affinities(layer: AssociationLayer, one: Featured, two: Featured) -> np.ndarray:
    """M_e = X Lambda Y^T, (E1, E2)."""
    blocks = [p.detach().double().numpy() for p in (layer.same, layer.crossed)]
    same, crossed = (np.maximum(block + block.T, 0) for block in blocks)
    x, y = (
        np.concatenate([features[graph.edge_index[k], layer.split :] for k in (0, 1)], axis=1)
        for features, graph in (one, two)
    )
    affinities: np.ndarray = x @ np.block([[same, crossed], [crossed, same]]) @ y.T
    return affinities


def full_matrix(layer: AssociationLayer, one: Featured, two: Featured) -> np.ndarray:
    """K (n1 n2, n1 n2), of the matches (i, a) in the order i n2 + a."""
    n2 = len(two[0])
    k = np.diag((one[0][:, : layer.split] @ two[0][:, : layer.split].T).ravel())
    for (i, j), row in zip(one[1].edges, edge_affinities(layer, one, two), strict=True):
        for (a, b), value in zip(two[1].edges, row, strict=True):
            k[i * n2 + a, j * n2 + b] += value
    return k


def plain_sinkhorn(scores: np.ndarray, temperature: float, iterations: int = 10) -> np.ndarray:
    """S (n1, n2) without logarithms: rows, then columns, in turn.

    The larger side has a further entry per node, of score 0, that counts in the sum and is not normalised itself.
    """
    n1, n2 = scores.shape
    s = np.ones((n1 + (n1 < n2), n2 + (n1 > n2)))
    s[:n1, :n2] = np.exp(scores / temperature)
    for _ in range(iterations):
        s[:n1] /= s[:n1].sum(axis=1, keepdims=True)
        s[:, :n2] /= s[:, :n2].sum(axis=0, keepdims=True)
    return s[:n1, :n2]


def share_right(matcher: SoftMatcher, batch: PairBatch, truth: np.ndarray) -> float:
    """Share of the matches that a linear assignment of the soft ones finds; truth (P, n)."""
    from bbgm.matching.linear import linear_assignment

    with torch.no_grad():
        soft = matcher.normalise(batch, matcher.scores(batch))
    found = np.stack([linear_assignment(one.exp().numpy()) for one in soft])
    return float((found == truth).mean())


def log_loss(matcher: SoftMatcher, batch: PairBatch, truth: np.ndarray) -> Tensor:
    """Mean of -log S at the true matches."""
    soft = torch.stack(matcher.normalise(batch, matcher.scores(batch)))
    return -soft.gather(2, torch.from_numpy(truth)[:, :, None]).mean()
