"""Names and functions that the rules share: where things lie, which runs there are."""

import json
import os
import shutil
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from bbgm.config import load_run
from bbgm.paths import results_root
from bbgm.tables import SPECS

# Programs of the environment that Snakemake runs in, also where that environment is not activated.
shell.prefix(f'set -euo pipefail; export PATH="{Path(sys.executable).parent}:$PATH"; ')

BUDGET = config["budget"]

try:
    RESULTS = str(results_root()) if os.environ.get("BBGM_RESULTS") else "results"
    RUNS = [
        load_run(method, BUDGET, seed, protocol={"filter": name})
        for name, methods in config["experiments"].items()
        for method in methods
        for seed in range(config["seeds"].get(name, {}).get(BUDGET, 0))
    ]
except ValueError as error:
    raise WorkflowError(str(error)) from error

OUT = f"{RESULTS}/{{budget}}"
LOGS = f"{OUT}/logs"
RUN = f"{OUT}/{{dataset}}/{{filter}}/{{method}}/seed{{seed}}"
FIGURES = "figures/{budget}"

# One training run at a time on each GPU of this machine (profiles/default); a cluster's profile asks for one.
GPUS_OF_A_RUN = 1 if shutil.which("nvidia-smi") else 0


wildcard_constraints:
    budget="smoke|demo|willow|paper",
    dataset="|".join(sorted({run.data.dataset for run in RUNS})),
    filter="|".join(sorted({run.protocol.filter for run in RUNS})),
    method="|".join(sorted({run.method for run in RUNS})),
    seed=r"\d+",
    table="|".join(SPECS),
    notebook=r"\d\d_\w+",


def data_of_budget(wildcards):
    """The demo data, where the budget uses them; the reader of the original data says itself what is missing."""
    return expand(f"{OUT}/demo_data.json", budget=BUDGET) if RUNS[0].data.source == "demo" else []


def runs_of_budget(wildcards):
    """Executed notebook of every run: it is there when the run's record is."""
    return [f"{RESULTS}/{run.folder.as_posix()}/run.ipynb" for run in RUNS]


def tables_of_budget(wildcards):
    """The paper's tables that the budget fills."""
    filters = {run.protocol.filter for run in RUNS}
    tables = [name for name, spec in SPECS.items() if filters.intersection(spec.filters)]
    return expand(f"{OUT}/tables/{{table}}.{{suffix}}", budget=BUDGET, table=tables, suffix=["csv", "tex"])


def published_of_table(wildcards):
    """The paper's numbers that stand in a table."""
    return f"bbgm/published/{SPECS[wildcards.table].published}.csv"


def needs_of_notebook(wildcards):
    """What must be there for a notebook to load, rather than to make it again."""
    return NOTEBOOKS[wildcards.notebook](wildcards)


# Notebooks that show results, and what each needs; each draws figures/<budget>/<notebook>.pdf and .png.
NOTEBOOKS = {
    "00_start_here": runs_of_budget,
    "01_loss_landscape": runs_of_budget,
    "02_graph_matching": data_of_budget,
    "03_architecture": runs_of_budget,
    "08_willow": tables_of_budget,
}


def parameters_of_run(wildcards):
    """Parameters of the training notebook; JSON, so that papermill keeps their types."""
    return json.dumps(
        {
            "method": wildcards.method,
            "budget": wildcards.budget,
            "dataset": wildcards.dataset,
            "keypoint_filter": wildcards.filter,
            "seed": int(wildcards.seed),
        }
    )
