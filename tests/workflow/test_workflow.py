"""The Snakemake workflow: lint, every budget's plan, and a real run of the smallest one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BUDGETS = ["smoke", "demo", "willow", "paper"]
NEEDED = ["Snakefile", "environment.yml", "config", "workflow", "profiles", "notebooks", "bbgm/published", "figures"]
SMOKE = ["--cores", "2", "--config", "budget=smoke"]


@pytest.fixture(scope="module")
def checkout(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the workflow's files without any result."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in NEEDED:
        source = project / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns(".*", "__pycache__", *BUDGETS))
        else:
            shutil.copy(source, folder / name)
    for budget in BUDGETS:
        assert (folder / f"config/budgets/{budget}.yaml").exists()
    return folder


def snakemake(folder: Path, *arguments: str, results: str = "") -> subprocess.CompletedProcess[str]:
    """Run Snakemake in a checkout: results inside it or below ``results``, the demo data of this project's cache."""
    environment = {key: value for key, value in os.environ.items() if key not in ("BBGM_RESULTS", "OMP_NUM_THREADS")}
    cache = os.environ.get("BBGM_CACHE", str(Path(__file__).parents[2] / "cache"))
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        env={**environment, "BBGM_ROOT": str(folder), "BBGM_CACHE": cache, "BBGM_RESULTS": results},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def succeed(folder: Path, *arguments: str) -> str:
    result = snakemake(folder, *arguments)
    output = result.stdout + result.stderr
    assert result.returncode == 0, output[-8000:]
    return output


def test_lint_is_clean(checkout: Path) -> None:
    assert "Congratulations" in succeed(checkout, "--lint")


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_budget_has_a_plan(checkout: Path, budget: str) -> None:
    plan = succeed(checkout, "--dry-run", "--config", f"budget={budget}")
    assert "train_run" in plan
    assert f"results/{budget}/tables/Willow.csv" in plan
    # Willow annotates all keypoints: in the paper's protocol for it, no filter changes anything.
    assert (f"results/{budget}/tables/Willow-unfiltered.csv" in plan) == (budget != "paper")
    assert (f"results/{budget}/willow/unfiltered/bbgm/seed0/run.ipynb" in plan) == (budget != "paper")


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


def test_results_may_lie_anywhere(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty BBGM_RESULTS is none, ``~`` is the user's folder, and a name may hold what a shell would split at."""
    monkeypatch.setenv("HOME", str(tmp_path))
    plan = ("--dry-run", "--printshellcmds", "--config", "budget=smoke")
    for results, quoted in (
        ("", "results/smoke/demo_data/willow.json"),
        ("~/r", f"{tmp_path}/r/smoke/demo_data/willow.json"),
        ("a b's", f"""'{checkout}/a b'"'"'s/smoke/demo_data/willow.json'"""),
    ):
        output = snakemake(checkout, *plan, results=results).stdout
        assert f"bbgm data demo willow --budget smoke > {quoted} 2> " in output
    wrong = snakemake(checkout, *plan, results="~nobody_of_that_name/r")
    assert "BBGM_RESULTS is '~nobody_of_that_name/r': there is no such user" in wrong.stdout + wrong.stderr


@pytest.mark.slow
def test_smoke_run_is_complete_idempotent_and_keeps_finished_runs(checkout: Path) -> None:
    succeed(checkout, *SMOKE)
    for name in (
        "tables/Willow.csv",
        "tables/Willow.tex",
        "tables/Willow.comparisons.csv",
        "tables/Willow-unfiltered.csv",
        "tables/Willow-unfiltered.tex",
        "notebooks/00_start_here.ipynb",
        "notebooks/02_graph_matching.ipynb",
        "notebooks/04_training.ipynb",
        "notebooks/08_willow.ipynb",
    ):
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
    content = json.loads(notebook.read_text())
    prose = next(cell for cell in content["cells"] if cell["cell_type"] == "markdown")
    prose["source"] = ["Another sentence."]
    notebook.write_text(json.dumps(content))
    assert "train_run" in succeed(checkout, *SMOKE)
    assert {name: (run / name).stat().st_mtime_ns for name in before} == before
    executed = json.loads((run / "run.ipynb").read_text())
    assert any("Another sentence." in "".join(cell["source"]) for cell in executed["cells"])
