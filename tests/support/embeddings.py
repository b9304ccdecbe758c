"""Small networks of the embedding methods, and plain formulas with dense matrices to compare them with."""

from typing import Any

import numpy as np
import torch

from bbgm.config import make_run
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.features.cache import compute_features
from bbgm.graphs.delaunay import delaunay_graph
from bbgm.methods.base import make_matcher
from bbgm.methods.soft.batch import GraphBatch, PairBatch
from bbgm.methods.soft.embedding import EmbeddingMatcher

WIDTH = 12


def make_embedding(model: str, seed: int = 0, soft: dict[str, Any] | None = None, **settings: Any) -> EmbeddingMatcher:
    """In double precision, with a small frozen backbone.

    There are enough iterations for graphs of different sizes: only the limit is the same as with dummy nodes.
    """
    content = {
        "method": model,
        "title": model,
        "model": model,
        "budget": "smoke",
        "seed": seed,
        "network": {"backbone": "small", "weights": "random", "freeze_backbone": True},
        "soft": {"temperature": 0.2, "iterations": 200, **(soft or {})},
        model: {"width": WIDTH, **settings},
    }
    matcher = make_matcher(make_run(content))
    assert isinstance(matcher, EmbeddingMatcher)
    heads = [module for name, module in matcher.named_children() if name != "backbone"]
    for module in heads:
        module.double()
    return matcher


def parameters(matcher: EmbeddingMatcher) -> dict[str, np.ndarray]:
    """By name, but those of the backbone."""
    named = matcher.named_parameters()
    return {name: p.detach().numpy() for name, p in named if not name.startswith("backbone.")}


def nodes_and_adjacency(
    matcher: EmbeddingMatcher, pair: KeypointPair
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of both sides in the pair's order: features (n, C), the triangulation's adjacency (n, n), coordinates (n, 2)."""
    sides = []
    for image, kept in ((pair.source, pair.kept1), (pair.target, pair.kept2)):
        features = compute_features(matcher.backbone, [image])[0][0].double().numpy()[kept]
        adjacency = np.zeros((len(kept), len(kept)))
        adjacency[tuple(delaunay_graph(image.xy[kept]).edge_index)] = 1
        sides.append((features, adjacency, image.xy[kept]))
    return sides


def sinkhorn(matcher: EmbeddingMatcher, scores: np.ndarray) -> np.ndarray:
    """Without logarithms; dummy nodes are further rows or columns, until the matrix is square."""
    n1, n2 = scores.shape
    kernel = np.ones((max(n1, n2), max(n1, n2)))
    kernel[:n1, :n2] = np.exp(scores / matcher.settings.temperature)
    for _ in range(matcher.settings.iterations):
        kernel /= kernel.sum(axis=1, keepdims=True)
        kernel /= kernel.sum(axis=0, keepdims=True)
    return kernel[:n1, :n2]


def relu(x: np.ndarray) -> np.ndarray:
    """Negative numbers become 0."""
    return np.maximum(x, 0)


def row_mean(adjacency: np.ndarray) -> np.ndarray:
    """A with rows of sum 1, or 0 without neighbours."""
    return adjacency / np.maximum(adjacency.sum(axis=1, keepdims=True), 1)


def scores_of(matcher: EmbeddingMatcher, pairs: list[KeypointPair]) -> list[np.ndarray]:
    """The scores of a batch, without padding."""
    with torch.no_grad():
        batch = next(matcher.batches(pairs, len(pairs)))
        return [one.numpy() for one in batch.cut(matcher.scores(batch))]


def feature_batch(
    matcher: EmbeddingMatcher, x1: torch.Tensor, x2: torch.Tensor, xy1: np.ndarray, xy2: np.ndarray
) -> PairBatch:
    """Pairs of graphs with given features (P, n, C) and coordinates (P, n, 2)."""
    sides = []
    for x, xy in ((x1, xy1), (x2, xy2)):
        graphs = [delaunay_graph(one) for one in xy]
        sides.append(GraphBatch.make(matcher.embed(x.flatten(0, 1), graphs).view(*x.shape[:2], -1), graphs))
    return PairBatch(*sides)
