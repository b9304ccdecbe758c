"""The training loop that 04_training writes out is the one that `run` uses."""

from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import torch

from bbgm.base.reproducible import reproducible
from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.methods.base import make_matcher
from bbgm.runs.checkpoint import Checkpoints
from bbgm.runs.fit import fit, make_optimiser
from tests.support.scripts import ROOT


def test_the_loop_makes_the_same_steps_as_a_run(tmp_path: Path) -> None:
    optimiser = {"epochs": 1, "iterations_per_epoch": 3}
    config = load_run("bbgm", "smoke", 0, optimiser=optimiser)
    cells = [c.source for c in nbformat.read(ROOT / "notebooks/04_training.ipynb", as_version=4).cells]
    imports = next(source for source in cells if source.startswith("from "))
    (loop,) = (source for source in cells if "loss.backward()" in source)
    before = cells[cells.index(loop) - 1]  # the pairs that are looked at on the way
    namespace: dict[str, Any] = {}
    exec(imports, namespace)
    namespace |= {"config": config, "method": "bbgm", "seed": 0, "loop": True}
    with reproducible(config.threads):
        exec(before, namespace)
        exec(loop, namespace)
        network = make_matcher(config)
        untrained = network.eval().predict(namespace["watched"])
        dataset = open_dataset(config.data, config.protocol)
        history = fit(network, make_optimiser(network, config), dataset, config, Checkpoints(tmp_path, config.hash()))
    assert namespace["losses"] == [row["loss"] for row in history]
    seen = namespace["seen"]
    assert namespace["stops"] == [0, 1, 2]
    assert all(np.array_equal(one, other) for one, other in zip(seen[0], untrained, strict=True))
    assert any(not np.array_equal(one, other) for one, other in zip(seen[2], untrained, strict=True))
    written, used = namespace["network"].state_dict(), network.state_dict()
    assert all(torch.equal(value, written[name]) for name, value in used.items())
