"""A network that diverged gives an error, never a matching."""

import pytest
import torch

from bbgm.config import load_run
from bbgm.data import open_dataset
from bbgm.data.sampling.pairs import test_pairs as draw_pairs
from bbgm.methods.base import make_matcher


@pytest.mark.parametrize("method", ["bbgm", "dgmc", "gmn_pl", "pca_gm", "ngm", "glmnet", "cie", "harg_ssvm"])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_it_says_what_to_do(method: str, value: float) -> None:
    config = load_run(method, "smoke", 0, protocol={"test_pairs_per_class": 2})
    dataset = open_dataset(config.data, config.protocol)
    pairs = draw_pairs(dataset, config.protocol, "Car")
    matcher = make_matcher(config)
    matcher.prepare(dataset)
    matcher.eval()
    assert len(matcher.predict(pairs)) == 2
    for name, parameter in matcher.named_parameters():
        if not name.startswith("backbone."):
            torch.nn.init.constant_(parameter, value)
    with pytest.raises(ValueError, match=r"NaN or infinite: the network has diverged.*optimiser\.learning_rate"):
        matcher.predict(pairs)
