"""The Snakemake workflow: lint, every budget's plan, and a real run of the smallest one."""

import json
import os
import re
import shutil
import time
import zipfile
from pathlib import Path

import pytest

from bbgm.config import list_runs, load_run
from bbgm.runs.results import FILES
from bbgm.runs.throughput import read_measurements
from bbgm.runs.work import request_for
from bbgm.tables import SPECS as TABLES
from tests.support.checkout import snakemake, succeed

SMOKE = ["--cores", "2", "--config", "budget=smoke"]


def test_lint_is_clean(checkout: Path) -> None:
    assert "Congratulations" in succeed(checkout, "--lint")


def jobs(plan: str) -> dict[str, list[str]]:
    """First output of each job of a dry run, by rule, without the folder of the results."""
    found: dict[str, list[str]] = {}
    for block in plan.split("\nrule ")[1:]:
        rule = block.split(":", 1)[0]
        outputs = [line.split(":", 1)[1] for line in block.splitlines() if line.startswith("    output:")]
        if outputs:
            first = outputs[0].split(",")[0].strip()
            found.setdefault(rule, []).append(first.removeprefix("results/").partition("/")[2])
    return {rule: sorted(outputs) for rule, outputs in found.items()}


NOTEBOOKS_OF_STUDIES = ("12_gradients", "13_beyond")
"""A smoke pipeline makes none of their runs."""

OF_STUDIES = {name for name in TABLES if name.endswith(("-gradients", "-labels", "-beyond"))}
PAPER_TABLES = {name for name in TABLES if name not in ("Willow-unfiltered", *OF_STUDIES)}


@pytest.mark.parametrize(
    ("budget", "n_runs", "tables"),
    [
        ("smoke", 28, PAPER_TABLES),
        ("demo", 41, PAPER_TABLES),
        ("willow", 80, {"Willow", "Willow-unfiltered"}),
        ("animals", 42, {name for name in PAPER_TABLES if name.startswith("PascalVOC")}),
        ("paper", 520, PAPER_TABLES),
    ],
)
def test_every_budget_has_a_plan(checkout: Path, budget: str, n_runs: int, tables: set[str]) -> None:
    """Every run of the configuration once, and the tables that they fill; no data are needed to know it."""
    plan = jobs(succeed(checkout, "--dry-run", "--config", f"budget={budget}"))
    runs = [run.folder.relative_to(budget).as_posix() for run in list_runs(budget)]
    assert plan["train_run"] == sorted(f"{run}/run.ipynb" for run in runs)
    assert len(runs) == n_runs
    assert plan["build_table"] == sorted(f"tables/{name}.html" for name in tables)
    demo = ["demo_data/spair.json", "demo_data/voc.json", "demo_data/willow.json"]
    assert plan.get("make_demo_data", []) == (demo if budget in ("smoke", "demo") else [])


def test_long_jobs_come_first(checkout: Path) -> None:
    """Data before runs; a parent before its children; the many pairs of runs without a filter before the few of others.

    SPair's demo data wait for Pascal VOC's as files, not in a job that keeps a core.
    """
    plan = succeed(checkout, "--dry-run", "--config", "budget=demo")
    blocks = [block.split("\n\n")[0] for block in plan.split("\nrule ")[1:]]
    lines = [dict(line.strip().split(": ", 1) for line in block.splitlines() if ": " in line) for block in blocks]
    found = {line["output"].split(",")[0].partition("demo/")[2]: line for line in lines if "output" in line}
    data = {name: found[f"demo_data/{name}.json"] for name in ("willow", "voc", "spair")}
    assert "demo_data/voc.json" in data["spair"]["input"]
    runs = {name: int(line.get("priority", 0)) for name, line in found.items() if name.endswith("/run.ipynb")}
    assert max(runs.values()) < min(int(line["priority"]) for line in data.values())
    long, parent, child = (
        runs[f"{name}/seed0/run.ipynb"]
        for name in ("voc/unfiltered/bbgm", "voc/intersection/bbgm_pretrain", "willow/intersection/bbgm_pt_wt")
    )
    assert long > parent > child > 0


def test_what_changes_is_made_again_and_nothing_else(checkout: Path, tmp_path: Path) -> None:
    """All outputs are put there, as old as the inputs; then one input after the other becomes newer."""
    folder = tmp_path / "checkout"
    shutil.copytree(checkout, folder, symlinks=True)
    past = time.time() - 1000
    for line in succeed(folder, "--summary", "--config", "budget=smoke").splitlines():
        if line.startswith(("results/", "figures/")):
            file = folder / line.split("\t")[0]
            (file.parent if file.suffix else file).mkdir(parents=True, exist_ok=True)
            if file.suffix:
                file.touch()
            if file.name == "run.ipynb":
                for name in FILES:
                    (file.parent / name).touch()
    for file in folder.rglob("*"):
        os.utime(file, (past, past))
    assert "Nothing to be done" in succeed(folder, *SMOKE, "--dry-run")

    def made_again(changed: str) -> dict[str, list[str]]:
        os.utime(folder / changed)
        plan = jobs(succeed(folder, *SMOKE, "--dry-run"))
        os.utime(folder / changed, (past, past))
        return plan

    one = made_again("config/experiments/sinkhorn.yaml")
    assert one["train_run"] == ["voc/intersection/sinkhorn/seed0/run.ipynb"]
    assert one["build_table"] == ["tables/PascalVOCAblation.html"]
    parent = made_again("config/experiments/bbgm_pretrain.yaml")
    assert parent["train_run"] == [
        "voc/intersection/bbgm_pretrain/seed0/run.ipynb",
        "willow/intersection/bbgm_pt/seed0/run.ipynb",
        "willow/intersection/bbgm_pt_wt/seed0/run.ipynb",
    ]
    assert parent["build_table"] == ["tables/Willow.html"]
    base = made_again("config/experiments/dgmc.yaml")
    assert {run.split("/")[2] for run in base["train_run"]} == {"dgmc", "dgmc_pretrain", "dgmc_pt", "dgmc_pt_wt"}
    drawn = {"build_table", "run_notebook", "collect_figures", "show_notebooks"}
    assert made_again("bbgm/published/Willow.csv").keys() == drawn

    # A run whose record is incomplete, although its notebook is there.
    (folder / "results/smoke/willow/intersection/dgmc/seed0/metrics.json").unlink()
    lost = jobs(succeed(folder, *SMOKE, "--dry-run"))
    assert lost["train_run"] == ["willow/intersection/dgmc/seed0/run.ipynb"]
    assert lost["build_table"] == ["tables/Willow.html"]


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("budget=huge", "huge"),
        ("experiments={willow: {intersection: [bbgm_typo]}}", "bbgm_typo"),
        ("bugdet=demo", "bugdet"),
    ],
)
def test_wrong_configuration_is_named(checkout: Path, setting: str, named: str) -> None:
    result = snakemake(checkout, "--dry-run", "--config", setting)
    assert result.returncode != 0
    assert named in result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr


@pytest.mark.parametrize(("gpus", "device"), [(0, "cpu"), (1, "gpu")])
def test_a_job_asks_for_what_was_measured(checkout: Path, gpus: int, device: str) -> None:
    """On the device that the profile names, whatever the machine has on which Snakemake was started."""
    run = load_run("bbgm", "paper", 0, dataset="spair")
    asked = ("--set-resources", f"train_run:gpu={gpus}", "--config", "budget=paper", "--dry-run")
    plan = succeed(checkout, f"results/{run.folder.as_posix()}/run.ipynb", *asked)
    request = request_for(run, device, read_measurements())
    memory, minutes = (re.findall(rf"\b{name}=(\d+)", plan)[0] for name in ("mem_mb", "runtime"))
    assert int(minutes) == request.minutes
    assert int(memory) == pytest.approx(request.memory_mib * 1.048576, abs=1)


@pytest.mark.slow
def test_smoke_run_is_complete_idempotent_and_keeps_finished_runs(checkout: Path) -> None:
    succeed(checkout, *SMOKE)
    tables = [f"tables/{name}.{end}" for name in PAPER_TABLES for end in ("csv", "tex", "html", "runs.csv")]
    notebooks = [
        f"notebooks/{path.name}"
        for path in (checkout / "notebooks").glob("*.ipynb")
        if path.stem not in NOTEBOOKS_OF_STUDIES
    ]
    for name in (*tables, *notebooks, "provenance.csv"):
        assert (checkout / "results/smoke" / name).stat().st_size > 0
    drawn = {figure.stem for figure in (checkout / "figures/smoke").glob("*.pdf")}
    assert drawn >= {"00_start_here", "01_loss_landscape", "02_graph_matching", "02_bounds", "02_solvers", "08_willow"}
    for name in drawn:
        assert (checkout / f"figures/smoke/{name}.png").exists()
    run = checkout / "results/smoke/willow/intersection/bbgm/seed0"
    for name in ("config.yaml", "history.csv", "metrics.json", "predictions.npz", "model.safetensors", "run.ipynb"):
        assert (run / name).stat().st_size > 0
    assert json.loads((run / "metrics.json").read_text())["seed"] == 0

    assert "Nothing to be done" in succeed(checkout, *SMOKE)

    # Prose of the training notebook changes: it is executed again, but the finished run is loaded, not trained.
    before = {name: (run / name).stat().st_mtime_ns for name in ("metrics.json", "model.safetensors", "history.csv")}
    notebook = checkout / "notebooks/04_training.ipynb"
    stored, changed = notebook.read_text(), notebook.stat().st_mtime_ns
    content = json.loads(stored)
    prose = next(cell for cell in content["cells"] if cell["cell_type"] == "markdown")
    prose["source"] = ["Another sentence."]
    notebook.write_text(json.dumps(content))
    assert "train_run" in succeed(checkout, str((run / "run.ipynb").relative_to(checkout)), *SMOKE)
    assert {name: (run / name).stat().st_mtime_ns for name in before} == before
    executed = json.loads((run / "run.ipynb").read_text())
    assert any("Another sentence." in "".join(cell["source"]) for cell in executed["cells"])
    # Put back: else all that follows would execute the notebooks of all runs again.
    notebook.write_text(stored)
    os.utime(notebook, ns=(changed, changed))

    # A record that is lost is made again, with the same results, and the table with all its rows.
    table = checkout / "results/smoke/tables/Willow.csv"
    scores, rows = json.loads((run / "metrics.json").read_text())["per_class"], table.read_text()
    (run / "metrics.json").unlink()
    assert "train_run" in succeed(checkout, str(table.relative_to(checkout)), *SMOKE)
    assert json.loads((run / "metrics.json").read_text())["per_class"] == scores
    assert table.read_text() == rows
    assert "Nothing to be done" in succeed(checkout, str(table.relative_to(checkout)), *SMOKE)

    # One page with everything, made without a network.
    succeed(checkout, "--report", "report.zip", "--config", "budget=smoke")
    with zipfile.ZipFile(checkout / "report.zip") as report:
        assert report.testzip() is None
        text = "".join(
            report.read(name).decode(errors="replace") for name in report.namelist() if name.endswith(".html")
        )
        names = "".join(report.namelist())
    for name in PAPER_TABLES:
        assert f"{name}.html" in names + text
    for name in drawn:
        assert f"{name}.png" in names + text
    for title in ("Start here", "The loss landscape of a solver", "Willow ObjectClass"):
        assert f"<strong>{title}</strong>. You learn" in text
    for name in ("00_start_here", "06_pascal_voc", "04_training"):
        assert f"/{name}.html" in names
    assert load_run("bbgm", "smoke", 0).hash() in text

    # The same as an RO-Crate.
    succeed(checkout, "crate", *SMOKE)
    with zipfile.ZipFile(checkout / "results/smoke/crate.zip") as crate:
        graph = {one["@id"]: one for one in json.loads(crate.read("ro-crate-metadata.json"))["@graph"]}
        assert {name for name in crate.namelist() if not name.endswith("/")} == {
            *(name for name, one in graph.items() if "File" in one["@type"]),
            "ro-crate-metadata.json",
        }
    actions = {name: one for name, one in graph.items() if one["@type"] == "CreateAction"}
    assert actions.keys() == {"#pipeline"} | {f"#{run.folder.relative_to('smoke')}" for run in list_runs("smoke")}
    assert all(part["@id"] in graph for action in actions.values() for part in action["result"])
    assert {f"results/tables/{name}.csv" for name in PAPER_TABLES} <= {
        part["@id"] for part in actions["#pipeline"]["result"]
    }
