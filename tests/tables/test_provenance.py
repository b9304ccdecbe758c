"""Where numbers come from: the lines are those of the runs."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bbgm.base import machine
from bbgm.cli import main
from bbgm.config import load_run
from bbgm.methods.base import make_matcher
from bbgm.runs.results import RunRecord
from bbgm.runs.train import run
from bbgm.tables.provenance import COLUMNS, describe_provenance, list_provenance

SMALL: dict[str, Any] = {"protocol": {"test_pairs_per_class": 2}, "optimiser": {"epochs": 1, "iterations_per_epoch": 1}}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def records(root: Path) -> dict[str, RunRecord]:
    """Two finished runs, one of them without training."""
    untrained = load_run("bbgm_untrained", "smoke", 2, protocol=SMALL["protocol"])
    configs = (load_run("bbgm", "smoke", 0, **SMALL), untrained)
    return {config.folder.relative_to("smoke").as_posix(): run(config, root / config.folder) for config in configs}


def test_a_line_says_how_a_run_was_made(root: Path, records: dict[str, RunRecord]) -> None:
    lines = list_provenance("smoke", "Willow", root)
    assert list(lines.columns) == list(COLUMNS)
    assert lines["run"].tolist() == ["willow/intersection/bbgm/seed0", "willow/intersection/bbgm_untrained/seed2"]
    for line in lines.to_dict("records"):
        record = records[line["run"]]
        assert line["configuration"] == record.config.hash()
        assert line["versions"].startswith("python 3.")
        matcher = make_matcher(record.config)
        assert record.config.visual.freeze_backbone is False
        assert line["parameters"] == sum(p.numel() for p in matcher.state_dict().values())
        frozen = replace(record, config=load_run("bbgm", "smoke", 0, network={"freeze_backbone": True}, **SMALL))
        assert frozen.parameters == line["parameters"] - sum(p.numel() for p in matcher.backbone.state_dict().values())
        assert record.metrics["hardware"]["cpu"] in line["hardware"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", line["finished"])
    speed = records["willow/intersection/bbgm/seed0"].metrics["throughput"]
    assert lines["training s"].tolist() == [round(8 / speed["train_pairs_per_s"], 1), 0]
    assert lines["evaluation s"][0] == round(10 / speed["eval_pairs_per_s"], 1)
    assert list_provenance("smoke", results_root=root).equals(lines)
    text = describe_provenance(lines)
    assert text.startswith(f"- ``willow/intersection/bbgm``, seeds 0: configuration ``{lines['configuration'][0]}``; ")
    for name in ("commit", "hardware", "versions"):
        assert text.count(lines[name][0]) == 1


def test_what_is_not_there_is_named(
    root: Path, records: dict[str, RunRecord], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="table 'Willo' is not one of"):
        list_provenance("smoke", "Willo", root)
    with pytest.raises(ValueError, match=r"no finished run below .*paper: make them with"):
        list_provenance("paper", results_root=root)
    monkeypatch.setenv("BBGM_RESULTS", str(root))
    assert main(["provenance", "--budget", "smoke", "--table", "Willow"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == ",".join(COLUMNS)


@pytest.mark.parametrize(
    "place", ["voc/intersection/bbgm", "willow/unfiltered/bbgm", "willow/intersection/bbgm_pretrain"]
)
def test_a_damaged_run_of_another_table_does_not_matter(
    root: Path, records: dict[str, RunRecord], tmp_path: Path, place: str
) -> None:
    shutil.copytree(root / "smoke", tmp_path / "smoke")
    damaged = tmp_path / "smoke" / place / "seed0" / "metrics.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")
    with pytest.raises(ValueError, match=re.escape(str(damaged.parent))):
        list_provenance("smoke", results_root=tmp_path)
    assert list_provenance("smoke", "Willow", tmp_path).equals(list_provenance("smoke", "Willow", root))


@pytest.mark.parametrize("change", [{"commit": None}, {"commit": ["x"]}, {"finished": 3}])
def test_what_is_no_text_is_told(
    root: Path, records: dict[str, RunRecord], tmp_path: Path, change: dict[str, object]
) -> None:
    shutil.copytree(root / "smoke", tmp_path / "smoke")
    path = tmp_path / "smoke/willow/intersection/bbgm/seed0/metrics.json"
    metrics = json.loads(path.read_text())
    del metrics["checksums"]  # which would notice it
    path.write_text(json.dumps(metrics | {"provenance": metrics["provenance"] | change}))
    with pytest.raises(ValueError, match=rf"seed0/metrics\.json does not say .*{next(iter(change))} is .*'bbgm train'"):
        list_provenance("smoke", "Willow", tmp_path)


def test_a_copied_run_is_not_listed_twice(root: Path, records: dict[str, RunRecord], tmp_path: Path) -> None:
    shutil.copytree(root / "smoke", tmp_path / "smoke")
    runs = tmp_path / "smoke/willow/intersection/bbgm"
    shutil.copytree(runs / "seed0", runs / "seed0.old")
    with pytest.raises(ValueError, match=r"seed0\.old is a copy: .* it is smoke/willow/intersection/bbgm/seed0; move"):
        list_provenance("smoke", results_root=tmp_path)


def test_the_commit_is_the_checkouts_head_marked_when_files_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a checkout: its head, marked when a tracked file has changed; elsewhere unknown."""
    (tmp_path / "Snakefile").write_text("one")
    monkeypatch.setenv("BBGM_ROOT", str(tmp_path))
    assert machine.commit() == "unknown"

    def git(*arguments: str) -> str:
        settings = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        done = subprocess.run(["git", *settings, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init")
    assert machine.commit() == "unknown"
    git("add", "Snakefile")
    git("commit", "-m", "one")
    head = git("rev-parse", "HEAD")
    (tmp_path / "new").touch()
    assert machine.commit() == head[:12]
    (tmp_path / "Snakefile").write_text("two")
    assert machine.commit() == f"{head[:12]}+"
