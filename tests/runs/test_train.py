"""Runs on the smoke budget: files, idempotence, resuming after SIGKILL and from damaged checkpoints."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bbgm.base.lock import folder_lock
from bbgm.config import OptimiserConfig, RunConfig, load_run
from bbgm.data import open_dataset
from bbgm.data import test_pairs as draw_test_pairs
from bbgm.data.sampling.recorded import rebuild_pairs
from bbgm.methods.base import make_matcher
from bbgm.runs.checkpoint import Checkpoints, History, read_model
from bbgm.runs.fit import fit, learning_rate_factor, make_optimiser
from bbgm.runs.results import FILES, TIMING, RunRecord, load
from bbgm.runs.sets import score_sets
from bbgm.runs.train import evaluate_run, run
from tests.support.training import results_of

SMALL = {"test_pairs_per_class": 6}
EPOCHS = {"epochs": 3, "iterations_per_epoch": 2, "batch_size": 2, "milestones": [1, 2]}


@pytest.fixture(scope="module")
def config() -> RunConfig:
    return load_run("bbgm", "smoke", 0, protocol=SMALL, optimiser=EPOCHS)


@pytest.fixture(scope="module")
def reference(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """A run that nothing interrupted."""
    return run(config, tmp_path_factory.mktemp("reference"))


def test_a_run_writes_its_files_and_all_metrics(config: RunConfig, reference: RunRecord) -> None:
    assert sorted(path.name for path in reference.folder.iterdir()) == sorted(FILES)
    metrics = reference.metrics
    assert metrics["config_hash"] == config.hash()
    assert set(metrics["per_class"]) == {"Car", "Duck", "Face", "Motorbike", "Winebottle"}
    assert "sets" not in metrics
    assert metrics["n_pairs"] == len(reference.predictions) == 5 * 6
    keys = {"accuracy", "f1", "precision", "recall", "n_pairs", "unmatched_percent", "unmatched_source_percent"}
    assert all(set(scores) == keys for scores in metrics["per_class"].values())
    assert metrics["throughput"]["train_pairs_per_s"] > 0
    assert metrics["throughput"]["eval_pairs_per_s"] > 0
    assert 0 < metrics["throughput"]["solver_share"] < 1
    for cls, scores in metrics["per_class"].items():
        right = [np.mean(item.assignment == item.truth) for item in reference.predictions if item.cls == cls]
        assert scores["accuracy"] == pytest.approx(np.mean(right))  # all pairs have as many keypoints: 10 or fewer
    history = reference.history
    assert history.epoch.tolist() == [1, 1, 2, 2, 3, 3]
    assert history.iteration.tolist() == [1, 2, 3, 4, 5, 6]
    assert history.accuracy.between(0, 1).all()
    split = json.loads((reference.folder / "split.json").read_text())
    assert [len(split["train"][cls]) for cls in metrics["per_class"]] == [20] * 5


def test_a_finished_run_is_only_read(config: RunConfig, reference: RunRecord) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in reference.folder.iterdir()}
    assert run(config, reference.folder).metrics == reference.metrics
    assert {path.name: path.stat().st_mtime_ns for path in reference.folder.iterdir()} == before


def test_the_same_run_gives_the_same_bytes(config: RunConfig, reference: RunRecord, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    state = torch.get_rng_state()
    run(config, tmp_path)
    assert results_of(tmp_path) == results_of(reference.folder)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.are_deterministic_algorithms_enabled()


def test_another_seed_is_another_run(config: RunConfig, reference: RunRecord, tmp_path: Path) -> None:
    other = run(config.model_copy(update={"seed": 1}), tmp_path)
    assert results_of(tmp_path)["model.safetensors"] != results_of(reference.folder)["model.safetensors"]
    pairs = [[(item.source, item.target) for item in record.predictions] for record in (reference, other)]
    assert pairs[0] == pairs[1]


def test_a_run_of_another_configuration_is_moved_aside(
    config: RunConfig, reference: RunRecord, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(config.model_copy(update={"seed": 1}), tmp_path)
    (tmp_path / "run.ipynb").write_text("{}")
    (tmp_path / ".metrics.0123.part.json").touch()
    run(config, tmp_path)
    assert "another configuration" in caplog.text
    assert results_of(tmp_path) == results_of(reference.folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "run.ipynb", "superseded"])


def test_the_stored_network_gives_the_stored_scores(reference: RunRecord) -> None:
    evaluation = evaluate_run(load(reference.folder))
    assert evaluation.per_class == reference.metrics["per_class"]
    assert evaluate_run(reference, pairs_per_class=2).per_class["Car"]["n_pairs"] == 2


def test_a_run_evaluated_with_another_solver(reference: RunRecord) -> None:
    trained, same, dual = (evaluate_run(reference, solver=solver) for solver in (None, "best", "dual"))
    assert same.per_class == trained.per_class
    changed = 0
    for one, other in zip(trained.predictions, dual.predictions, strict=True):
        assert (one.source, one.target) == (other.source, other.target)
        changed += not np.array_equal(one.assignment, other.assignment)
    assert changed > 0
    with pytest.raises(ValueError, match=r"solver 'none' is not one of .*'dual'"):
        evaluate_run(reference, solver="none")


def test_the_recorded_test_pairs_are_those_of_the_protocol_and_rebuild_them(reference: RunRecord) -> None:
    config = reference.config
    dataset = open_dataset(config.data, config.protocol)
    assert set(reference.test_pairs) == set(dataset.classes)
    for cls, recorded in reference.test_pairs.items():
        drawn = draw_test_pairs(dataset, config.protocol, cls)
        assert recorded == [(pair.source.image_id, pair.target.image_id) for pair in drawn]
        rebuilt = rebuild_pairs(dataset, cls, [item for item in reference.predictions if item.cls == cls])
        for one, other in zip(rebuilt, drawn, strict=True):
            assert (one.source, one.target, one.difficulty) == (other.source, other.target, other.difficulty)
            np.testing.assert_array_equal(one.kept1, other.kept1)
            np.testing.assert_array_equal(one.kept2, other.kept2)


def test_evaluating_again_means_the_recorded_pairs(reference: RunRecord) -> None:
    """Whatever the protocol would draw; what they need of the data must be there."""

    def with_other(**parts: dict[str, Any]) -> RunRecord:
        changed = {
            name: getattr(reference.config, name).model_copy(update=settings) for name, settings in parts.items()
        }
        return replace(reference, config=reference.config.model_copy(update=changed))

    assert evaluate_run(with_other(protocol={"test_seed": 7})).per_class == reference.metrics["per_class"]
    with pytest.raises(ValueError, match=r"test pairs of class \w+ do not fit the data: .* has \d keypoints"):
        evaluate_run(with_other(data={"hidden_keypoints": 0.5}))
    with pytest.raises(ValueError, match=r"do not fit the data: Car/demo_\d+ is not among its test images"):
        evaluate_run(with_other(protocol={"split": "seeded"}))


def test_a_run_without_a_filter_also_evaluates_sets(tmp_path: Path) -> None:
    small = {"filter": "unfiltered", "test_pairs_per_class": 3, "test_sets_per_class": 2}
    config = load_run("bbgm", "smoke", 0, protocol=small, optimiser={"epochs": 1, "iterations_per_epoch": 2})
    assert config.data.hidden_keypoints > 0  # by config/budgets/smoke.yaml, for this filter
    assert config.folder == Path("smoke/willow/unfiltered/bbgm/seed0")
    record = run(config, tmp_path)
    assert len(record.predictions) == record.metrics["n_pairs"] == 5 * 3
    assert len(record.set_predictions) == 5 * 2 * 10
    for solution in ("pairwise", "joint"):
        assert score_sets(load(tmp_path).set_predictions, solution) == record.metrics["sets"][solution]
    assert all(scores["unmatched_percent"] > 0 for scores in record.metrics["per_class"].values())
    assert record.metrics["throughput"]["joint_ms_per_set"] > 0


def test_an_untrained_run_keeps_the_initial_parameters(tmp_path: Path) -> None:
    record = run(load_run("bbgm_untrained", "smoke", 0, protocol=SMALL), tmp_path)
    assert record.history.empty
    assert record.metrics["throughput"]["train_pairs_per_s"] is None
    fresh = make_matcher(record.config)
    expected = {name: value.clone() for name, value in fresh.state_dict().items()}
    read_model(tmp_path / "model.safetensors", fresh)
    assert all(torch.equal(value, expected[name]) for name, value in fresh.state_dict().items())


def test_a_locked_folder_is_refused(config: RunConfig, tmp_path: Path) -> None:
    with folder_lock(tmp_path), pytest.raises(ValueError, match="in use by another process"):
        run(config, tmp_path)


@pytest.mark.parametrize(("milestones", "decay"), [((), 0.5), ((1,), 0.5), ((2, 4), 0.1), ((3, 4, 9), 0.5)])
def test_learning_rates_are_those_of_multi_step_lr(milestones: tuple[int, ...], decay: float) -> None:
    optimiser = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=0.25)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, list(milestones), gamma=decay)
    settings = OptimiserConfig(milestones=milestones, decay=decay)
    for epoch in range(6):
        assert 0.25 * learning_rate_factor(epoch, 0, settings) == pytest.approx(optimiser.param_groups[0]["lr"])
        assert learning_rate_factor(epoch, 99, settings) == learning_rate_factor(epoch, 0, settings)
        optimiser.step()
        schedule.step()


def test_learning_rates_are_those_of_cosine_annealing_lr() -> None:
    optimiser = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=0.25)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 12)
    settings = OptimiserConfig(schedule="cosine", epochs=3, iterations_per_epoch=4, milestones=())
    for epoch, iteration in itertools.product(range(3), range(4)):
        factor = learning_rate_factor(epoch, iteration, settings)
        assert 0.25 * factor == pytest.approx(optimiser.param_groups[0]["lr"])
        optimiser.step()
        schedule.step()


def test_learning_rates_grow_while_they_warm_up() -> None:
    settings = OptimiserConfig(warm_up=4, epochs=2, iterations_per_epoch=3, milestones=(1,))
    factors = [learning_rate_factor(epoch, iteration, settings) for epoch in range(2) for iteration in range(3)]
    assert factors == pytest.approx([0.2, 0.4, 0.6, 0.5 * 0.8, 0.5, 0.5])


def _fit(config: RunConfig, folder: Path) -> tuple[dict[str, torch.Tensor], History]:
    matcher = make_matcher(config)
    dataset = open_dataset(config.data, config.protocol)
    history = fit(matcher, make_optimiser(matcher, config), dataset, config, Checkpoints(folder, config.hash()))
    return matcher.state_dict(), [{k: v for k, v in row.items() if k not in TIMING} for row in history]


def _same(one: tuple[dict[str, torch.Tensor], History], other: tuple[dict[str, torch.Tensor], History]) -> bool:
    return one[1] == other[1] and all(torch.equal(value, other[0][name]) for name, value in one[0].items())


@pytest.mark.parametrize("damage", ["record gone", "truncated", "altered", "foreign", "all truncated", "none"])
def test_resuming_from_any_state_of_the_checkpoints(
    config: RunConfig, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = _fit(config, tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["0002.json", "0003.json"]
    if damage == "record gone":
        (tmp_path / "0003.json").unlink()
    elif damage == "truncated":
        os.truncate(tmp_path / "0003.safetensors", 1000)
    elif damage == "altered":
        content = bytearray((tmp_path / "0003.optimiser.pt").read_bytes())
        content[len(content) // 2] ^= 1
        (tmp_path / "0003.optimiser.pt").write_bytes(content)
    elif damage == "foreign":
        record = json.loads((tmp_path / "0003.json").read_text())
        (tmp_path / "0003.json").write_text(json.dumps({**record, "config_hash": "other"}))
    elif damage == "all truncated":
        for path in tmp_path.glob("*.json"):
            os.truncate(path, 10)
    assert _same(_fit(config, tmp_path), whole)
    assert ("cannot be used" in caplog.text) == (damage not in ("record gone", "none"))


PROGRAM = """
import sys, yaml
from pathlib import Path
from bbgm.config import make_run
from bbgm.runs.train import run
run(make_run(yaml.safe_load(sys.argv[1])), Path(sys.argv[2]))
"""


def _mtime(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


@pytest.mark.slow
def test_a_run_killed_at_any_moment_ends_with_the_same_results(
    config: RunConfig, reference: RunRecord, tmp_path: Path
) -> None:
    """SIGKILL at random moments between the first file of a run and the last, again and again, in one folder."""
    first, last = (_mtime(reference.folder / name) for name in ("config.yaml", "metrics.json"))
    command = [sys.executable, "-c", PROGRAM, config.to_yaml(), str(tmp_path)]
    kills = 0
    for share in np.random.default_rng(0).uniform(0, 1, size=4):
        before = _mtime(tmp_path / "config.yaml")
        with subprocess.Popen(command) as process:
            while process.poll() is None and _mtime(tmp_path / "config.yaml") == before:
                time.sleep(0.002)
            time.sleep(share * (last - first) / 1e9)
            process.kill()
            kills += process.wait() == -signal.SIGKILL
    assert kills
    subprocess.run(command, check=True, timeout=300)
    assert results_of(tmp_path) == results_of(reference.folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


@pytest.mark.parametrize("method", ["dgmc", "sinkhorn"])
def test_a_network_that_diverges_is_named(tmp_path: Path, method: str) -> None:
    """Without a solver, which refuses such costs, the loss gives it away."""
    config = load_run(method, "smoke", 0, protocol=SMALL, optimiser={"learning_rate": 1e30})
    with pytest.raises(ValueError, match=r"loss is nan at epoch 1, iteration \d+: .* lower optimiser\.learning_rate"):
        _fit(config, tmp_path)
