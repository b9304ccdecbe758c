"""The encoder of positions before training: what it learns, what it does not depend on, and what stays frozen."""

import numpy as np
import pytest
import torch

from bbgm.methods.bbgm.geometry.jitter import moved_at_random
from bbgm.methods.bbgm.geometry.positions import PositionEncoder
from bbgm.methods.bbgm.geometry.pretraining import (
    TriangleDecoder,
    copies_loss,
    hidden_features,
    pretrained_encoder,
    triangle,
)
from bbgm.methods.bbgm.geometry.settings import JitterConfig, PositionsConfig, PretrainConfig
from bbgm.methods.bbgm.network import BBGM
from tests.support.bbgm_networks import make_config
from tests.support.images import bare_dataset

COPIES = {"rotation": 60, "scale": 0.3, "stretch": 0.3, "shear": 0.3}
PRETRAIN = {"iterations": 120, "batch_size": 4, "learning_rate": 3e-3, "copies": COPIES}
POSITIONS = {"kind": "attention", "width": 32, "blocks": 2, "heads": 2}
PROTOCOL = make_config().protocol


def make_settings(**pretrain):
    return PositionsConfig(**POSITIONS, pretrain=PretrainConfig(**{**PRETRAIN, **pretrain}))


def make_encoder(seed=0, **pretrain):
    return pretrained_encoder(6, make_settings(**pretrain), bare_dataset(), PROTOCOL, seed)


def same(one, two):
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), two.state_dict().values(), strict=True))


def share_found(encoder, graphs):
    """Share of keypoints whose nearest one in a copy is their own."""
    torch.manual_seed(1)
    right = []
    with torch.no_grad():
        for xy in graphs:
            one, two = hidden_features(encoder, [xy, moved_at_random(xy, JitterConfig(**COPIES))])
            similarity = torch.nn.functional.cosine_similarity(one[:, None], two[None], dim=2)
            right.append((similarity.argmax(dim=1) == torch.arange(len(xy))).float().mean().item())
    return np.mean(right)


def test_it_knows_keypoints_of_affine_copies_again_also_of_images_it_has_not_seen():
    test = [image.xy for images in bare_dataset().test.values() for image in images]
    torch.manual_seed(0)
    raw, trained = (
        share_found(PositionEncoder(6, PositionsConfig(**POSITIONS)), test),
        share_found(make_encoder(), test),
    )
    assert trained > 0.7  # chance: 0.1
    assert trained > raw + 0.2


def test_it_is_the_same_each_time_and_with_any_number_of_threads():
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    results = []
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            torch.manual_seed(number)
            results.append(make_encoder(iterations=3))
            assert torch.get_num_threads() == number
    finally:
        torch.set_num_threads(threads)
        torch.set_rng_state(state)
    assert same(results[0], results[1])
    assert same(results[0], results[2])
    assert not same(results[0], make_encoder(seed=1, iterations=3))
    torch.manual_seed(5)
    expected = torch.rand(())
    torch.manual_seed(5)
    make_encoder(iterations=1)
    assert torch.rand(()) == expected  # the generator is left as it was


@pytest.mark.parametrize("triangles", [0.0, 0.5])
def test_the_loss_by_its_definition(triangles):
    rng = np.random.default_rng(0)
    graphs = [rng.uniform(0, 256, (n, 2)) for n in (5, 2, 8)]
    how = PretrainConfig(triangles=triangles, temperature=0.3)
    torch.manual_seed(0)
    encoder = PositionEncoder(6, make_settings()).double()
    decoder = TriangleDecoder(32, 2).double() if triangles else None
    with torch.no_grad():
        torch.manual_seed(7)
        found = copies_loss(encoder, decoder, graphs, how)
        torch.manual_seed(7)
        copies = [moved_at_random(xy, how.copies) for xy in graphs]
        terms, errors = [], []
        for xy, copy in zip(graphs, copies, strict=True):
            one, two = (hidden_features(encoder, [part])[0].numpy() for part in (xy, copy))
            cosine = one @ two.T / np.outer(np.linalg.norm(one, axis=1), np.linalg.norm(two, axis=1))
            s = np.exp(cosine / 0.3)
            terms += [-np.log(s[i, i] / s[i].sum()) for i in range(len(xy))]
            if len(xy) >= 3 and decoder:
                a, b, c = torch.randperm(len(xy))[:3].tolist()
                p = (xy - xy.mean(axis=0)) / np.sqrt(((xy - xy.mean(axis=0)) ** 2).sum(axis=1).mean())
                sides = [np.linalg.norm(p[k] - p[m]) for k, m in ((a, b), (b, c), (c, a))]
                half = sum(sides) / 2  # Heron's formula
                area = np.sqrt(half * np.prod([half - side for side in sides]))
                guess = decoder(torch.from_numpy(one[[a, b, c]])[None])[0].numpy()
                errors += list((guess - [*sides, area]) ** 2)
    assert found.item() == pytest.approx(np.mean(terms) + (triangles * np.mean(errors) if triangles else 0), rel=1e-6)


def test_triangle():
    np.testing.assert_allclose(triangle(np.array([[0.0, 0], [3, 0], [0, 4]])), [3, 5, 4, 6])


def make_matcher(seed=0, freeze=True, **settings):
    pretrain = {**PRETRAIN, "iterations": 3, "freeze": freeze}
    network = {"freeze_backbone": True, "positions": {**POSITIONS, "pretrain": pretrain}}
    return BBGM(make_config(seed=seed, network=network, **settings))


def test_a_network_gets_it_before_training_and_the_rest_starts_as_without():
    matcher, other = make_matcher(), make_matcher()
    matcher.prepare(bare_dataset())
    other.prepare(bare_dataset())
    assert same(matcher, other)
    fresh = make_matcher()
    changed = {n for n, value in fresh.state_dict().items() if not torch.equal(value, matcher.state_dict()[n])}
    assert "positions.second.weight" in changed
    assert all(name.startswith("positions.") and not name.startswith("positions.last.") for name in changed)
    matcher.prepare(bare_dataset())  # again, as a run that resumes
    assert same(matcher, other)


@pytest.mark.parametrize("freeze", [True, False])
def test_it_is_frozen_but_for_its_last_layer_if_the_settings_say_so(pairs, freeze):
    matcher = make_matcher(freeze=freeze, solver={"weight": 0}, contrast={"terms": {"info_nce": 1.0}}).train()
    matcher.prepare(bare_dataset())
    before = {name: value.clone() for name, value in matcher.positions.state_dict().items()}
    optimiser = torch.optim.Adam(matcher.parameter_groups(1e-2, 1.0), weight_decay=0.1)
    matcher.loss(pairs).backward()
    optimiser.step()
    moved = {name for name, value in matcher.positions.state_dict().items() if not torch.equal(value, before[name])}
    if freeze:
        assert moved == {"last.weight", "last.bias"}
    else:
        assert {"last.weight", "second.weight", "blocks.0.inputs.weight"} <= moved


@pytest.mark.parametrize("freeze", [True, False])
def test_the_teacher_starts_from_the_pretrained_encoder(pairs, freeze):
    contrast = {"terms": {"info_nce": 1.0}, "teacher": {"momentum": 1.0, "alpha": 1.0, "warm_up": 0}}
    matcher = make_matcher(freeze=freeze, solver={"weight": 0}, contrast=contrast).train()
    matcher.prepare(bare_dataset())
    state = matcher.teacher.state(matcher)
    assert ("positions.second.weight" in state) != freeze
    named = dict(matcher.named_parameters())
    assert all(torch.equal(value, named[name]) for name, value in state.items() if name in named)
    torch.testing.assert_close(
        torch.func.functional_call(matcher, state, (pairs, *matcher.sides_of(pairs))).rows,
        matcher(pairs, *matcher.sides_of(pairs)).rows,
    )


def test_an_encoder_that_does_not_exist_cannot_be_trained():
    with pytest.raises(ValueError, match=r"positions.kind"):
        PositionsConfig(pretrain=PretrainConfig())
    with pytest.raises(ValueError, match=r"positions.pretrain"):
        pretrained_encoder(6, PositionsConfig(kind="mlp"), bare_dataset(), PROTOCOL, 0)
