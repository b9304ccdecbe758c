"""What the methods show of their matchings agrees with the matchings."""

import numpy as np
import pytest

from bbgm.config import METHODS, make_run
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.matching.linear import linear_assignment
from bbgm.methods.base import make_matcher

NETWORK = {"backbone": "small", "weights": "random"}


@pytest.mark.parametrize("model", [name for name in METHODS.names() if name not in ("bbgm", "harg")])
def test_a_soft_assignment_is_one_and_its_best_matching_is_what_is_predicted(
    pairs: list[KeypointPair], model: str
) -> None:
    config = make_run({"method": "m", "title": "M", "budget": "smoke", "seed": 0, "model": model, "network": NETWORK})
    matcher = make_matcher(config).eval()
    predicted = matcher.predict(pairs)
    for pair, seen, found in zip(pairs, matcher.evidence(pairs), predicted, strict=True):
        assert seen.soft is not None
        assert seen.affinity.shape == seen.soft.shape == (len(pair.kept1), len(pair.kept2))
        assert np.isfinite(seen.affinity).all()
        assert seen.soft.min() >= 0
        # DGMC normalises rows. Sinkhorn's last step makes the sums of columns 1, or less where there are more of them.
        sums = seen.soft.sum(axis=0 if matcher.one_to_one else 1)
        assert sums.max() <= 1 + 1e-4
        if not matcher.one_to_one or len(pair.kept1) >= len(pair.kept2):
            assert sums == pytest.approx(1, abs=1e-4)
        best = linear_assignment(seen.soft) if matcher.one_to_one else seen.soft.argmax(axis=1)
        assert best.tolist() == found.tolist()


def test_bbgm_shows_its_vertex_costs(pairs: list[KeypointPair]) -> None:
    matcher = make_matcher(make_run({"method": "m", "title": "M", "budget": "smoke", "seed": 0, "network": NETWORK}))
    for seen, instance in zip(matcher.eval().evidence(pairs), matcher.instances(pairs), strict=True):
        assert seen.soft is None
        assert np.array_equal(seen.affinity, -instance.unary)
