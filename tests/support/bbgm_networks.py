"""Configurations and networks of BB-GM, small enough to train in a test."""

import torch

from bbgm.config import make_run
from bbgm.methods.bbgm.network import BBGM


def make_config(seed=0, network=None, **settings):
    network = {"backbone": "small", "weights": "random", **(network or {})}
    content = {"method": "bbgm", "title": "BB-GM", "budget": "smoke", "seed": seed, "network": network, **settings}
    return make_run(content)


def trained_a_little(config, pairs, steps=4):
    matcher = BBGM(config).train()
    optimiser = torch.optim.Adam(matcher.parameter_groups(2e-3, 1.0))
    for _ in range(steps):
        optimiser.zero_grad()
        matcher.loss(pairs).backward()
        optimiser.step()
    return matcher.eval()
