"""What a budget costs: the sums are those that one gets by hand."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from bbgm.cli import main
from bbgm.config import list_runs, load_run
from bbgm.methods.base import make_matcher
from bbgm.runs.plan import Plan, count_values, make_plan
from bbgm.runs.throughput import Measurement, measurement_for, measurement_of, read_measurements
from bbgm.runs.train import run

RUNS = {
    "experiments": {
        "voc": {"intersection": ["bbgm"], "unfiltered": ["bbgm"]},
        "willow": {"intersection": ["bbgm_pt", "bbgm_pt_wt"]},
        "spair": {"intersection": ["bbgm"]},
    },
    "seeds": {
        "voc": {"intersection": {"paper": 5}, "unfiltered": {"paper": 2}},
        "willow": {"intersection": {"paper": {"bbgm_pt": 1, "bbgm_pt_wt": 20}}},
        "spair": {"intersection": {"paper": 5}},
    },
}


def measurement(device: str = "gpu", where: dict[str, Any] | None = None, **change: Any) -> Measurement:
    speeds = {"train_pairs_per_s": 40.0, "eval_pairs_per_s": 100.0, "memory_mib": 5000, **change}
    return Measurement.model_validate(
        {"date": datetime.date(2026, 1, 2), "device": device, "hardware": "x", "where": where or {}, **speeds}
    )


def hours(plan: Plan, device: str = "gpu") -> dict[str, float | None]:
    return {f"{group.dataset}/{group.filter}/{group.method}": group.hours[device] for group in plan.groups}


def test_the_work_of_the_paper_budget_is_the_papers() -> None:
    """Iterations x 8 pairs; 1000 pairs of each of 20 classes, 50 in pre-training, 100 on Willow, all of SPair."""
    plan = make_plan("paper", RUNS, [])
    work = {
        f"{group.dataset}/{group.filter}/{group.method}": (
            group.runs,
            group.iterations,
            group.training_pairs,
            group.test_pairs,
            group.set_pairs,
        )
        for group in plan.groups
    }
    assert work == {
        "voc/intersection/bbgm": (5, 20_000, 160_000, 20_000, 0),
        "voc/unfiltered/bbgm": (2, 20_000, 160_000, 20_000, 20_000 * 10),
        "voc/intersection/bbgm_pretrain": (20, 20_000, 160_000, 1_000, 0),
        "willow/intersection/bbgm_pt": (1, 0, 0, 500, 0),
        "willow/intersection/bbgm_pt_wt": (20, 400, 3_200, 500, 0),
        "spair/intersection/bbgm": (5, 4_000, 32_000, 12_234, 0),
    }
    parents = {group.method: group.parent for group in plan.groups}
    pretrain = "paper/voc/intersection/bbgm_pretrain/seed0"
    assert parents == {"bbgm": None, "bbgm_pretrain": None, "bbgm_pt": pretrain, "bbgm_pt_wt": pretrain}
    total = plan.to_dict()["total"]
    assert total["runs"] == 53
    assert total["training_pairs"] == 27 * 160_000 + 20 * 3_200 + 5 * 32_000
    assert total["hours"] == {"cpu": None, "gpu": None}


def test_hours_come_from_speeds() -> None:
    plan = make_plan("paper", RUNS, [measurement(joint_ms_per_set=90.0)])
    by_hand = {
        "voc/intersection/bbgm": 5 * (160_000 / 40 + 20_000 / 100),
        "voc/unfiltered/bbgm": 2 * (160_000 / 40 + (20_000 + 200_000) / 100 + 20_000 * 0.09),
        "voc/intersection/bbgm_pretrain": 20 * (160_000 / 40 + 1_000 / 100),
        "willow/intersection/bbgm_pt": 500 / 100,
        "willow/intersection/bbgm_pt_wt": 20 * (3_200 / 40 + 500 / 100),
        "spair/intersection/bbgm": 5 * (32_000 / 40 + 12_234 / 100),
    }
    assert hours(plan) == pytest.approx({name: seconds / 3600 for name, seconds in by_hand.items()})
    assert plan.hours("gpu") == pytest.approx(sum(by_hand.values()) / 3600)
    assert plan.hours("cpu") is None
    assert {group.memory_gb["gpu"] for group in plan.groups} == {5000 * 2**20 / 1e9}


def test_what_was_not_measured_is_not_invented() -> None:
    of_voc = measurement(where={"data.dataset": "voc"})
    only_voc = hours(make_plan("paper", RUNS, [of_voc]))
    assert {name for name, value in only_voc.items() if value is None} == {
        "voc/unfiltered/bbgm",  # sets, of which nothing is known
        "willow/intersection/bbgm_pt",
        "willow/intersection/bbgm_pt_wt",
        "spair/intersection/bbgm",
    }
    untrained = measurement(train_pairs_per_s=None)
    assert [name for name, value in hours(make_plan("paper", RUNS, [untrained])).items() if value is not None] == [
        "willow/intersection/bbgm_pt"
    ]
    assert make_plan("paper", RUNS, [of_voc]).hours("gpu") is None


def test_the_narrowest_measurement_is_used() -> None:
    config = load_run("bbgm", "paper", 0, dataset="voc")
    general = measurement()
    old, new = (
        measurement(where={"data.dataset": "voc", "network.backbone": "vgg16_bn"}, date=datetime.date(year, 1, 1))
        for year in (2025, 2026)
    )
    other = measurement(where={"data.dataset": "voc", "network.backbone": "vgg16", "seed": 0})
    assert measurement_for(config, "gpu", [general, new, old, other]) is new
    assert measurement_for(config, "gpu", [other]) is None
    assert measurement_for(config, "cpu", [general, new]) is None


@pytest.mark.parametrize(("method", "budget"), [("bbgm_pretrain", "demo"), ("frozen_vgg", "demo"), ("bbgm", "smoke")])
def test_disk_is_counted_from_the_network(method: str, budget: str) -> None:
    config = load_run(method, budget, 0, dataset="voc")
    matcher = make_matcher(config)
    stored = sum(value.numel() for value in matcher.state_dict().values())
    trained = sum(parameter.numel() for parameter in matcher.parameters() if parameter.requires_grad)
    assert count_values(config) == (stored, trained)
    content = {
        "experiments": {"voc": {"intersection": [method]}},
        "seeds": {"voc": {"intersection": {budget: 3}}},
    }
    group = make_plan(budget, content, []).groups[0]
    kept = stored + (2 * trained if config.keep_optimiser else 0)  # Adam has two moments of each
    assert group.disk_gb == pytest.approx(3 * 4 * kept / 1e9)
    assert group.working_gb == pytest.approx(3 * 4 * (stored + 2 * trained) / 1e9)


def test_a_run_that_was_made_is_as_large_as_planned(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "protocol": {"test_pairs_per_class": 2},
        "optimiser": {"epochs": 1, "iterations_per_epoch": 1},
    }
    config = load_run("bbgm", "smoke", 0, **settings)
    record = run(config, tmp_path)
    assert (tmp_path / "model.safetensors").stat().st_size == pytest.approx(4 * count_values(config)[0], rel=0.02)

    text = measurement_of(record, datetime.date(2026, 1, 2))
    (tmp_path / "throughput.toml").write_text(text)
    (one,) = read_measurements(tmp_path / "throughput.toml")
    assert one.date == datetime.date(2026, 1, 2)
    assert one.eval_pairs_per_s == pytest.approx(record.metrics["throughput"]["eval_pairs_per_s"], rel=1e-3)
    assert one.where["network.backbone"] == "small"
    device = "gpu" if record.metrics["hardware"]["gpu"] else "cpu"
    assert measurement_for(config, device, [one]) is one
    other = load_run("bbgm", "smoke", 0, **settings, network={"quadratic": False})
    assert measurement_for(other, device, [one]) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("measurement = 3", "holds no measurements"),
        ("[[measurement]\n", "holds no measurements"),
        ("x = 1", "measurement"),
        ("[[measurement]]\ndevice = 'tpu'", "device"),
        (
            "[[measurement]]\ndate = 2026-01-02\ndevice = 'cpu'\nhardware = 'x'\nwhere = {'data.datset' = 'voc'}\n"
            "eval_pairs_per_s = 3\nmemory_mib = 1",
            r"measurement 1: 'data\.datset' is not a setting",
        ),
    ],
)
def test_broken_measurements_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_measurements(tmp_path / "x.toml")
    assert "x.toml" in str(caught.value)


def test_the_stored_measurements_are_valid_and_each_is_for_some_run() -> None:
    runs = [config for budget in ("smoke", "demo", "willow", "animals", "paper") for config in list_runs(budget)]
    for one in read_measurements():
        assert any(one.fits(config.settings()) for config in runs), one.where


def test_missing_data_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BBGM_DATA", "BBGM_WEIGHTS", "TORCH_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    missing = "\n".join(make_plan("paper", RUNS, []).missing)
    for name in ("voc", "voc-keypoints", "voc-split", "willow", "spair", "vgg16_bn"):
        assert f": bbgm data download {name}" in missing
    (tmp_path / "PascalVOC/annotations").mkdir(parents=True)
    (tmp_path / "vgg16_bn-6c64b313.pth").touch()
    missing = "\n".join(make_plan("paper", RUNS, []).missing)
    assert "download voc-keypoints" not in missing
    assert "download vgg16_bn" not in missing
    assert make_plan("demo").missing == ()
    assert any("use torchvision's with network.weights: imagenet" in line for line in make_plan("willow").missing)


def test_the_command_prints_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--budget", "paper", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["total"]["runs"] == len(list_runs("paper")) == sum(group["runs"] for group in plan["groups"])
    assert main(["plan", "--budget", "paper"]) == 0
    text = capsys.readouterr().out
    assert f"Budget paper: {plan['total']['runs']} runs" in text
    assert "bbgm_pretrain" in text
    assert main(["plan", "--budget", "huge"]) == 2
    assert "'huge' is not one of" in capsys.readouterr().err


def test_a_folder_of_ones_own_is_planned_or_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its classes are those in its annotations; without them the plan says where they should be."""
    monkeypatch.setenv("BBGM_DATA", str(tmp_path))
    own = {"dataset": "folder", "source": "original", "root": "rabbits"}
    monkeypatch.setattr("bbgm.runs.plan.list_runs", lambda budget, _content: [load_run("bbgm", budget, 0, data=own)])
    (missing,) = make_plan("demo", measurements=[]).missing
    assert missing == f"{tmp_path / 'rabbits' / 'keypoints.json'}: the annotations of your own images"
    (tmp_path / "rabbits").mkdir()
    objects = [
        {"file": f"{name}.jpg", "class": cls, "keypoints": {"nose": [1, 1]}}
        for name, cls in (("a", "hare"), ("b", "rabbit"), ("c", "hare"))
    ]
    (tmp_path / "rabbits" / "keypoints.json").write_text(json.dumps({"images": objects}))
    plan = make_plan("demo", measurements=[])
    assert plan.missing == ()
    assert plan.groups[0].test_pairs == 2 * load_run("bbgm", "demo", 0).protocol.test_pairs_per_class
