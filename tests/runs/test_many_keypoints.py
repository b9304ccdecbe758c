"""Pictures with a hundred keypoints train: one step on a folder of such images, and its matching."""

import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from bbgm.config import load_run, make_run
from bbgm.data import open_dataset
from bbgm.data import test_pairs as draw_test_pairs
from bbgm.methods.base import make_matcher
from bbgm.runs.checks.divergence import Watched
from bbgm.runs.fit import make_optimiser, train_step

KEYPOINTS = 100


def write_images(folder: Path) -> None:
    """Four pictures of coloured squares, which lie a little differently in each."""
    rng = np.random.default_rng(0)
    corners, colours = rng.uniform(15, 240, (KEYPOINTS, 2)), rng.integers(0, 256, (KEYPOINTS, 3))
    entries = []
    for k in range(4):
        xy = corners + rng.normal(0, 2, corners.shape)
        pixels = np.full((256, 256, 3), 127, dtype=np.uint8)
        for (x, y), colour in zip(xy.astype(int), colours, strict=True):
            pixels[y - 3 : y + 4, x - 3 : x + 4] = colour
        Image.fromarray(pixels).save(folder / f"{k}.png")
        keypoints = {f"square {i}": place.tolist() for i, place in enumerate(xy)}
        entries.append({"file": f"{k}.png", "class": "squares", "keypoints": keypoints})
    (folder / "keypoints.json").write_text(json.dumps({"images": entries}))


def test_a_step_with_a_hundred_keypoints(tmp_path: Path) -> None:
    write_images(tmp_path)
    smoke = load_run("bbgm", "smoke", 0).model_dump(mode="json", by_alias=True)
    config = make_run(
        {
            **smoke,
            "data": {"dataset": "folder", "source": "original", "root": str(tmp_path)},
            "protocol": {**smoke["protocol"], "train_per_class": 2, "test_pairs_per_class": 1},
            "optimiser": {**smoke["optimiser"], "batch_size": 1},
            "solver": {"method": "fast"},
        }
    )
    dataset, matcher = open_dataset(config.data, config.protocol), make_matcher(config)
    optimiser = make_optimiser(matcher, config)
    matcher.train()
    before = [p.detach().clone() for p in matcher.parameters()]
    _, row = train_step(Watched(matcher), optimiser, dataset, config, 0, 0)

    # The Hamming distance of two matchings of n keypoints is an even number up to 2 n.
    assert 0 <= row["loss"] <= 2 * KEYPOINTS
    assert row["nonzero"] == 1
    assert any(not torch.equal(new, old) for new, old in zip(matcher.parameters(), before, strict=True))
    (pair,) = draw_test_pairs(dataset, config.protocol, "squares")
    (found,) = matcher.eval().predict([pair])
    matched = found[found >= 0]
    assert len(found) == KEYPOINTS
    assert len(set(matched.tolist())) == len(matched) > 0
