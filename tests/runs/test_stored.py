"""Runs that were stored before a change of the settings are finished after it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import Field

from bbgm.config import DATASETS, METHODS, RunConfig, hash_of, load_run, read_yaml
from bbgm.data.datasets.willow import WillowData
from bbgm.methods.bbgm.settings import BBGMRun, NetworkConfig
from bbgm.methods.dgmc.settings import DGMCConfig, DGMCRun
from bbgm.runs.results import finished, load, stored_hash

STORED = Path(__file__).parent / "stored"
RUNS = [("bbgm_pretrain", "voc"), ("bbgm_pt_wt", "willow"), ("dgmc", "willow")]


class DummyNetwork(NetworkConfig):
    dummy: int = 3


class DummyBBGM(BBGMRun):
    network: DummyNetwork = DummyNetwork()
    other_dummy: bool = False


class DummyDGMCConfig(DGMCConfig):
    steps: int = Field(7, description="another default")


class DummyDGMC(DGMCRun):
    dgmc: DummyDGMCConfig = DummyDGMCConfig()


class DummyWillow(WillowData):
    dummy_of_data: str = "as before"


@pytest.fixture(autouse=True)
def _results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copytree(STORED / "results", tmp_path / "results")
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path / "results"))


def wanted(method: str, dataset: str, **overrides: Any) -> RunConfig:
    """The run that today's code makes of the files that the stored one was made from."""
    return load_run(method, "demo", 0, STORED / "config", dataset=dataset, **overrides)


@pytest.mark.parametrize(("method", "dataset"), RUNS)
def test_a_stored_run_is_finished_and_loads(method: str, dataset: str) -> None:
    config = wanted(method, dataset)
    record = finished(config)
    assert record is not None
    assert load(record.folder).config == config
    assert len(record.predictions) == record.metrics["n_pairs"] == 500
    stored = read_yaml(record.folder / "config.yaml")
    assert {"dgmc", "network", "solver"} <= stored.keys()  # as all configurations had them then
    assert stored_hash(config) == hash_of(stored) == record.metrics["config_hash"]


@pytest.mark.parametrize(("method", "dataset"), RUNS)
def test_a_new_key_leaves_stored_runs_finished(method: str, dataset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS._parts, "bbgm", DummyBBGM)
    monkeypatch.setitem(DATASETS._parts, "willow", DummyWillow)
    config = wanted(method, dataset)
    assert ("network.dummy" in config.settings()) == (method != "dgmc")
    assert finished(config) is not None
    if method != "dgmc":
        assert finished(wanted(method, dataset, other_dummy=True)) is None


def test_settings_of_another_method_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS._parts, "dgmc", DummyDGMC)
    assert finished(wanted("bbgm_pt_wt", "willow")) is not None


def test_an_effective_setting_of_the_run_or_its_parent_matters() -> None:
    assert finished(wanted("bbgm_pt_wt", "willow", solver={"lambda": 20})) is None
    config = wanted("bbgm_pt_wt", "willow")
    assert config.parent is not None
    other = config.parent.run.model_copy(update={"threads": 2})
    changed = config.model_copy(update={"parent": config.parent.model_copy(update={"run": other})})
    assert finished(changed, config.folder) is None


def test_a_record_is_checked_against_its_own_configuration(tmp_path: Path) -> None:
    config = wanted("bbgm_pt_wt", "willow")
    folder = tmp_path / "results" / config.folder
    stored = yaml.safe_load((folder / "config.yaml").read_text())
    for change in ({"dgmc": {**stored["dgmc"], "steps": 3}}, {"seed": 5}):
        (folder / "config.yaml").write_text(yaml.safe_dump({**stored, **change}))
        assert finished(config) is None
        with pytest.raises(ValueError, match=r"does not belong to config\.yaml beside it"):
            load(folder)
    (folder / "config.yaml").write_text(yaml.safe_dump(stored))
    metrics = json.loads((folder / "metrics.json").read_text())
    (folder / "metrics.json").write_text(json.dumps({**metrics, "config_hash": "0" * 16}))
    assert finished(config) is None
