"""Evaluation of an untrained network on the demo data."""

import numpy as np
import pytest

from bbgm.config import RunConfig, load_run
from bbgm.data import Dataset, open_dataset, test_pairs
from bbgm.methods.base import Matcher, make_matcher
from bbgm.runs.evaluate import Evaluation, evaluate
from bbgm.scoring.metrics import score_class


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return load_run("bbgm_untrained", "smoke", 0, protocol={"test_pairs_per_class": 8})


@pytest.fixture(scope="module")
def dataset(config: RunConfig) -> Dataset:
    return open_dataset(config.data, config.protocol)


@pytest.fixture(scope="module")
def matcher(config: RunConfig) -> Matcher:
    return make_matcher(config)


@pytest.fixture(scope="module")
def evaluation(config: RunConfig, dataset: Dataset, matcher: Matcher) -> Evaluation:
    matcher.train()
    return evaluate(matcher, dataset, config.protocol)


def test_predictions_are_of_the_test_pairs(config: RunConfig, dataset: Dataset, evaluation: Evaluation) -> None:
    pairs = [pair for cls in dataset.classes for pair in test_pairs(dataset, config.protocol, cls)]
    assert len(evaluation.predictions) == len(pairs) == 8 * 5
    for pair, item in zip(pairs, evaluation.predictions, strict=True):
        assert (item.cls, item.source, item.target) == (pair.source.cls, pair.source.image_id, pair.target.image_id)
        np.testing.assert_array_equal(item.truth, pair.truth)
        np.testing.assert_array_equal(item.kept1, pair.kept1)
        np.testing.assert_array_equal(item.kept2, pair.kept2)
        assert item.assignment.dtype == np.int32
    tested = {image.image_id for images in dataset.test.values() for image in images}
    assert {name for item in evaluation.predictions for name in (item.source, item.target)} <= tested


def test_scores_can_be_recomputed_from_the_predictions(evaluation: Evaluation) -> None:
    for cls, scores in evaluation.per_class.items():
        found = [(p.assignment, p.truth, len(p.kept2)) for p in evaluation.predictions if p.cls == cls]
        assert score_class(found) == scores
    assert evaluation.mean["f1"] == np.mean([scores["f1"] for scores in evaluation.per_class.values()])


def test_evaluation_leaves_evaluation_mode_and_no_gradients(evaluation: Evaluation, matcher: Matcher) -> None:
    assert evaluation.seconds > 0
    assert not matcher.training
    assert all(parameter.grad is None for parameter in matcher.parameters())


def test_a_class_does_not_depend_on_the_others(config: RunConfig, evaluation: Evaluation, matcher: Matcher) -> None:
    alone = open_dataset(config.data.model_copy(update={"classes": ("Duck",)}), config.protocol)
    again = evaluate(matcher, alone, config.protocol)
    assert again.per_class == {"Duck": evaluation.per_class["Duck"]}
    assert again.mean["accuracy"] == evaluation.per_class["Duck"]["accuracy"]


def test_unary_costs_alone_are_another_method(config: RunConfig, dataset: Dataset, evaluation: Evaluation) -> None:
    network = config.network.model_copy(update={"quadratic": False})
    unary = evaluate(make_matcher(config.model_copy(update={"network": network})), dataset, config.protocol)
    assert unary.mean["accuracy"] != evaluation.mean["accuracy"]


def test_a_wrong_class_is_named(config: RunConfig) -> None:
    with pytest.raises(ValueError, match=r"'Boat'.*'Car'"):
        open_dataset(config.data.model_copy(update={"classes": ("Boat",)}), config.protocol)
