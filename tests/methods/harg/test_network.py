"""Matching with the model graphs, runs, and errors."""

from dataclasses import replace

import numpy as np
import pytest

from bbgm.config import load_run
from bbgm.data.images.keypoints import Dataset
from bbgm.data.sampling.pairs import KeypointPair, make_pair
from bbgm.methods.harg.network import HargSSVM
from bbgm.runs.checkpoint import read_model, write_model
from bbgm.runs.train import evaluate_run, load_matcher, run
from tests.support.harg import make_harg, part_of, random_weights, whole_pair
from tests.support.images import NAMES, grey_image


def test_matchings_follow_the_order_of_the_keypoints(images):
    matcher, rng = make_harg(), np.random.default_rng(3)
    matcher.prepare(Dataset("d", {"Car": tuple(images[:2])}, {}))
    for filter_ in ("intersection", "unfiltered"):
        pair = make_pair(part_of(images[2], 8, 1), images[3], rng, filter_)
        found = matcher.predict([pair])[0]
        p, q = rng.permutation(len(pair.kept1)), rng.permutation(len(pair.kept2))
        shuffled = matcher.predict([KeypointPair(pair.source, pair.target, pair.kept1[p], pair.kept2[q])])[0]
        matched = found[p] >= 0
        assert matched.any()
        assert np.array_equal(shuffled >= 0, matched)
        assert np.array_equal(q[shuffled[matched]], found[p][matched])
        # The list of an image's keypoints may have another order, and other names: neither is looked at.
        r = rng.permutation(len(pair.source.xy))
        source = replace(pair.source, xy=pair.source.xy[r], names=tuple(f"n{k}" for k in range(len(r))))
        again = matcher.predict([KeypointPair(source, pair.target, np.argsort(r)[pair.kept1], pair.kept2)])[0]
        assert np.array_equal(again, found)


def test_pairs_need_both_images_to_be_right(images):
    matcher = make_harg()
    matcher.prepare(Dataset("d", {"Car": tuple(images[:2])}, {}))
    pairs = [whole_pair(images[2], images[3]), whole_pair(images[0], images[2])]
    for pair, found in zip(pairs, matcher.predict(pairs), strict=True):
        one, two = matcher.match_images([pair.source, pair.target])
        expected = [next((j for j, other in enumerate(pair.kept2) if two[other] == one[k]), -1) for k in pair.kept1]
        assert found.tolist() == expected
    assert matcher.predict([]) == []


def test_copies_without_noise_are_matched_and_unrelated_images_are_not(images, tmp_path, cache):
    """Copies with some keypoints missing, too; of keypoints at random places of grey images nothing can be learned."""
    copies = [replace(images[0], image_id=f"Car/copy{k}") for k in range(4)]
    copies += [part_of(images[0], 7, seed) for seed in range(4)]
    matcher = make_harg()
    matcher.prepare(Dataset("d", {"Car": tuple(copies[:6])}, {}))
    pairs = [whole_pair(one, other) for one in copies for other in copies]
    for pair, found in zip(pairs, matcher.predict(pairs), strict=True):
        assert np.array_equal(found, pair.truth)
    assert matcher.image_accuracy(copies) == 1

    rng = np.random.default_rng(0)
    grey = [grey_image(tmp_path, str(k), rng.uniform(10, 246, (10, 2)), NAMES) for k in range(40)]
    matcher.prepare(Dataset("d", {"Cup": tuple(grey[:10])}, {}))
    assert matcher.image_accuracy(grey[10:]) < 0.25


@pytest.mark.parametrize("keypoint_filter", ["intersection", "inclusion", "unfiltered"])
def test_runs_are_stored_and_reproducible_with_every_filter(tmp_path, keypoint_filter):
    optimiser = {"epochs": 1, "iterations_per_epoch": 2}
    config = load_run(
        "harg_ssvm",
        "smoke",
        0,
        dataset="voc",
        filter=keypoint_filter,
        protocol={"test_pairs_per_class": 4},
        optimiser=optimiser,
        harg={"components": 16},
    )
    one, other = (run(config, tmp_path / name) for name in ("one", "other"))
    assert one.metrics["per_class"] == other.metrics["per_class"]
    assert one.history.loss.tolist() == other.history.loss.tolist()
    assert evaluate_run(one).per_class == one.metrics["per_class"]
    matcher = load_matcher(one)
    assert isinstance(matcher, HargSSVM)
    assert matcher.nodes.shape[1] == 16
    assert set(matcher.places) == set(one.metrics["per_class"])
    if keypoint_filter == "unfiltered":
        assert any((item.assignment < 0).any() for item in one.predictions)


def test_state_carries_the_model_graphs(small_dataset, images, tmp_path):
    matcher = make_harg()
    matcher.prepare(small_dataset)
    write_model(tmp_path / "model.safetensors", matcher)
    fresh = make_harg()
    read_model(tmp_path / "model.safetensors", fresh)
    pair = whole_pair(images[2], images[3])
    assert np.array_equal(fresh.predict([pair])[0], matcher.predict([pair])[0])
    parameters = fresh.nodes
    read_model(tmp_path / "model.safetensors", fresh)
    assert fresh.nodes is parameters  # or an optimiser would lose it


def test_errors_name_the_remedy(small_dataset, images):
    with pytest.raises(ValueError, match=r"network\.freeze_backbone: true"):
        make_harg(frozen=False)
    matcher = make_harg()
    with pytest.raises(ValueError, match="prepare"):
        matcher.parameter_groups(1.0, 1.0)
    matcher.prepare(small_dataset)
    boat = replace(images[0], cls="Boat")
    with pytest.raises(ValueError, match=r"no model graph of class 'Boat'.*\['Car'\]"):
        matcher.predict([whole_pair(boat, boat)])
    with pytest.raises(RuntimeError, match="labels"):
        matcher.load_state_dict({})
    with pytest.raises(ValueError, match="set test_sets_per_class: 0"):
        load_run("harg_ssvm", "smoke", 0, filter="unfiltered", protocol={"test_sets_per_class": 4})
    other = load_run("harg_ssvm", "smoke", 0, dataset="voc")
    with pytest.raises(ValueError, match=r"none to take from the parent harg_ssvm: leave parent out"):
        load_run("harg_ssvm", "smoke", 0).model_validate(
            {**load_run("harg_ssvm", "smoke", 0).content(), "parent": {"run": other, "optimiser_state": False}}
        )


def test_evidence_is_the_score_of_the_node_that_suits_both_keypoints_best(small_dataset):
    matcher = random_weights(make_harg(), small_dataset).eval()
    source, target = small_dataset.train["Car"][:2]
    pair = make_pair(source, target, np.random.default_rng(3), "unfiltered")
    (seen,) = matcher.evidence([pair])
    features = {image.image_id: matcher.visual_features([image])[0][0].double() for image in (source, target)}
    w = matcher.nodes.detach()
    for i, a in enumerate(pair.kept1):
        for j, b in enumerate(pair.kept2):
            both = features[source.image_id][a] + features[target.image_id][b]
            assert seen.affinity[i, j] == pytest.approx((w @ both).max().item(), rel=1e-6)
    assert seen.soft is None
