"""Small networks of HARG-SSVM, and its features and objective as plain formulas."""

from dataclasses import replace
from itertools import permutations
from math import atan2, exp, hypot, log, pi

import numpy as np
import torch

from bbgm.config import make_run
from bbgm.data.sampling.pairs import make_pair
from bbgm.methods.base import make_matcher
from bbgm.methods.harg.attributes import length_range, log_lengths
from bbgm.methods.harg.network import HargSSVM


def make_harg(frozen=True, **settings):
    """With a small random backbone."""
    content = {
        "method": "harg_ssvm",
        "title": "HARG-SSVM (VGG)",
        "model": "harg",
        "budget": "smoke",
        "seed": 0,
        "network": {"backbone": "small", "weights": "random", "freeze_backbone": frozen},
        "harg": settings,
    }
    matcher = make_matcher(make_run(content))
    assert isinstance(matcher, HargSSVM)
    return matcher


def part_of(image, count, seed):
    """An image with some of its keypoints."""
    kept = np.sort(np.random.default_rng(seed).permutation(len(image.xy))[:count])
    return replace(
        image, image_id=f"{image.image_id}-{seed}", names=tuple(image.names[k] for k in kept), xy=image.xy[kept]
    )


def random_weights(matcher, dataset, scale=1.0):
    """Model graphs with random weights, in double precision."""
    matcher.prepare(dataset)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in (matcher.nodes, matcher.edges):
            weights.copy_(scale * torch.randn(weights.shape, generator=generator))
    matcher.nodes.data, matcher.edges.data = matcher.nodes.data.double(), matcher.edges.data.double()
    return matcher


def plain_features(matcher, image, y):
    """Phi(x, y) by loops, from the images and the docstring's formulas alone."""
    names = sorted({name for x in matcher.used for name in x.names})
    k, n = len(names), len(image.xy)
    phi = matcher.visual_features([image])[0][0].double().numpy()
    lengths = [hypot(*(image.xy[j] - image.xy[i])) for i in range(n) for j in range(n) if i != j]
    low, high = length_range(np.concatenate([log_lengths(x.xy) for x in matcher.used]))
    nodes, edges = np.zeros((k, phi.shape[1])), np.zeros((k, k, 27))
    for i in range(n):
        nodes[y[i]] += phi[i]
        for j in range(n):
            if i == j:
                continue
            dx, dy = image.xy[j] - image.xy[i]
            place = (log(hypot(dx, dy) / np.median(lengths)) - low) / (high - low) * 9
            bins = [exp(-((min(max(place, 0), 9) - b - 0.5) ** 2) / 2) for b in range(9)]
            turn = atan2(dy, dx) / (2 * pi) * 18
            angles = [exp(-(min(abs(turn - b + s) for s in (-18, 0, 18)) ** 2) / 2) for b in range(18)]
            psi = np.array([b / sum(bins) for b in bins] + [a / sum(angles) for a in angles])
            edges[y[i], y[j]] += psi / np.linalg.norm(psi)
    return nodes, edges[~np.eye(k, dtype=bool)]


def plain_objective(matcher, images):
    """The docstring's objective, its maximum by enumeration of all injective y."""
    names = sorted({name for x in matcher.used for name in x.names})
    w = [weights.detach().numpy() for weights in (matcher.nodes, matcher.edges)]
    hinges = []
    for image in images:
        true = [names.index(name) for name in image.names]

        def score(y, image=image):
            return sum(
                (part * weights).sum() for part, weights in zip(plain_features(matcher, image, y), w, strict=True)
            )

        best = max(score(y) + np.mean(np.array(y) != true) for y in permutations(range(len(names)), len(image.names)))
        hinges.append(best - score(true))
    return sum((weights**2).sum() for weights in w) / (2 * matcher.settings.c) + np.mean(hinges)


def whole_pair(source, target, seed=0):
    return make_pair(source, target, np.random.default_rng(seed), "unfiltered")
