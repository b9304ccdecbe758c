"""Evaluation of test sets by an untrained network on the demo data: BB-GM and BB-GM-Multi."""

import numpy as np
import pytest

from bbgm.config import RunConfig, load_run
from bbgm.data import open_dataset
from bbgm.data import test_sets as fixed_sets
from bbgm.matching.joint_solvers import solve_jointly
from bbgm.methods.base import make_matcher
from bbgm.methods.bbgm.network import BBGM
from bbgm.runs.sets import SetEvaluation, evaluate_sets, score_sets
from bbgm.scoring.cycles import inconsistent_triples
from bbgm.scoring.metrics import score_class
from bbgm.scoring.predictions import SetPrediction

SETTINGS = {"filter": "unfiltered", "test_sets_per_class": 3, "set_size": 4}


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return load_run("bbgm_untrained", "smoke", 0, protocol=SETTINGS, data={"classes": ["Car", "Duck"]})


@pytest.fixture(scope="module")
def evaluation(config: RunConfig) -> SetEvaluation:
    matcher = make_matcher(config).train()
    result = evaluate_sets(matcher, open_dataset(config.data, config.protocol), config.protocol)
    assert not matcher.training
    return result


def by_set(predictions: list[SetPrediction]) -> dict[tuple[str, int], dict[tuple[int, int], SetPrediction]]:
    sets: dict[tuple[str, int], dict[tuple[int, int], SetPrediction]] = {}
    for one in predictions:
        sets.setdefault((one.cls, one.number), {})[one.p, one.q] = one
    return sets


def test_predictions_are_of_all_pairs_of_the_test_sets(config: RunConfig, evaluation: SetEvaluation) -> None:
    dataset = open_dataset(config.data, config.protocol)
    expected = [
        (cls, number, p, q, pair)
        for cls in dataset.classes
        for number, one in enumerate(fixed_sets(dataset, config.protocol, cls))
        for (p, q), pair in one.pairs().items()
    ]
    assert len(evaluation.predictions) == len(expected) == 2 * 3 * 6
    for (cls, number, p, q, pair), item in zip(expected, evaluation.predictions, strict=True):
        assert (item.cls, item.number, item.p, item.q) == (cls, number, p, q)
        assert (item.source, item.target) == (pair.source.image_id, pair.target.image_id)
        np.testing.assert_array_equal(item.truth, pair.truth)
        np.testing.assert_array_equal(item.kept1, pair.kept1)
        np.testing.assert_array_equal(item.kept2, pair.kept2)
    assert (np.concatenate([item.truth for item in evaluation.predictions]) == -1).any()


def test_each_pair_alone_is_what_the_network_predicts(config: RunConfig, evaluation: SetEvaluation) -> None:
    """And the joint solution is that of the same costs, although the sets were computed together."""
    dataset = open_dataset(config.data, config.protocol)
    matcher = make_matcher(config).eval()
    assert isinstance(matcher, BBGM)
    pairs = fixed_sets(dataset, config.protocol, "Duck")[1].pairs()
    found = by_set(evaluation.predictions)["Duck", 1]
    for one, assignment in zip(found.values(), matcher.predict(list(pairs.values())), strict=True):
        np.testing.assert_array_equal(one.assignment, assignment)
    instances = dict(zip(pairs, matcher.instances(list(pairs.values())), strict=True))
    joint = solve_jointly(instances)
    cost = sum(x.cost(x.solution(found[pair].joint)) for pair, x in instances.items())
    assert cost == pytest.approx(joint.objective, rel=1e-9)
    alone = sum(x.cost(x.solution(found[pair].assignment)) for pair, x in instances.items())
    assert alone <= cost + 1e-9


def test_joint_solutions_are_consistent_and_pairs_alone_are_not(evaluation: SetEvaluation) -> None:
    sets = by_set(evaluation.predictions)
    assert not any(inconsistent_triples({pair: x.joint for pair, x in one.items()}) for one in sets.values())
    broken = dict.fromkeys(("Car", "Duck"), 0)
    for (cls, _), one in sets.items():
        broken[cls] += len(inconsistent_triples({pair: x.assignment for pair, x in one.items()}))
    percent = evaluation.summary["inconsistent_triples_percent"]
    assert percent == {cls: pytest.approx(100 * n / (3 * 4)) for cls, n in broken.items()}
    assert max(percent.values()) > 0


def test_scores_can_be_recomputed_from_the_predictions(evaluation: SetEvaluation) -> None:
    for solution, name in (("pairwise", "assignment"), ("joint", "joint")):
        assert score_sets(evaluation.predictions, solution) == evaluation.summary[solution]
        for which in ("first", "all"):
            scores = evaluation.summary[solution][which]
            for cls in ("Car", "Duck"):
                chosen = [x for x in evaluation.predictions if x.cls == cls and (which == "all" or x.p + x.q == 1)]
                assert scores["per_class"][cls] == score_class(
                    (getattr(x, name), x.truth, len(x.kept2)) for x in chosen
                )
                assert scores["per_class"][cls]["n_pairs"] == (18 if which == "all" else 3)
                assert scores["per_class"][cls]["unmatched_percent"] > 0
            assert scores["mean"]["f1"] == np.mean([entry["f1"] for entry in scores["per_class"].values()])
    assert evaluation.summary["pairwise"] != evaluation.summary["joint"]
    assert (evaluation.summary["n_sets"], evaluation.summary["set_size"]) == (6, 4)
    assert all(value > 0 for value in evaluation.timing.values())


def test_sets_of_two_images_are_pairs(config: RunConfig) -> None:
    protocol = config.protocol.model_copy(update={"set_size": 2})
    dataset = open_dataset(config.data, protocol)
    evaluation = evaluate_sets(make_matcher(config), dataset, protocol)
    for one in evaluation.predictions:
        np.testing.assert_array_equal(one.assignment, one.joint)
    assert evaluation.summary["inconsistent_triples_percent"] == {"Car": 0, "Duck": 0}


def test_the_papers_rounding_can_be_chosen(config: RunConfig, evaluation: SetEvaluation) -> None:
    solver = config.solver.model_copy(update={"multi": "sync"})
    dataset = open_dataset(config.data, config.protocol)
    matcher = make_matcher(config.model_copy(update={"solver": solver}))
    other = evaluate_sets(matcher, dataset, config.protocol)
    assert other.summary["pairwise"] == evaluation.summary["pairwise"]
    assert other.summary["joint"] != evaluation.summary["joint"]
    for one in by_set(other.predictions).values():
        assert inconsistent_triples({pair: x.joint for pair, x in one.items()}) == []


def test_a_run_without_sets_is_refused(config: RunConfig) -> None:
    protocol = config.protocol.model_copy(update={"test_sets_per_class": 0})
    dataset = open_dataset(config.data, protocol)
    with pytest.raises(ValueError, match="test_sets_per_class is 0"):
        evaluate_sets(make_matcher(config), dataset, protocol)
