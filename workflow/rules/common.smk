"""Names and functions that the rules share: where files are, which runs there are, and what depends on which run."""

import json
import os
import re
import shutil
from contextlib import suppress
from math import ceil
from pathlib import Path

from snakemake.exceptions import WorkflowError

from bbgm.base.account import put_own_programs_first
from bbgm.base.paths import results_root
from bbgm.base.plugins import check_names, choose_plugins
from bbgm.base.stopping import WORKS_FOR
from bbgm.config import list_runs, read_experiment
from bbgm.data.demo import demo_needs
from bbgm.runs.results import missing_files, stored_hash
from bbgm.runs.throughput import read_measurements
from bbgm.runs.work import request_for
from bbgm.tables import SPECS

# Jobs use the Python that Snakemake runs in, even if its environment is not activated.
put_own_programs_first()

# Jobs end with this process, also if it is killed: else they would go on, and stand in the way of the next start.
os.environ[WORKS_FOR] = str(os.getpid())

BUDGET = config["budget"]

try:
    if plugins := check_names(config.get("plugins")):
        choose_plugins(plugins)  # for this process and its jobs
    RESULTS = str(results_root()) if os.environ.get("BBGM_RESULTS") else "results"
    RUNS = list_runs(BUDGET, config)
    if set("{}") & set(workflow.basedir):
        raise ValueError(
            f"the checkout is in {workflow.basedir}, and Snakemake takes what is between braces for a wildcard: move it "
            "to a folder without braces in its path"
        )
    if set("{}") & set(RESULTS):
        raise ValueError(
            f"BBGM_RESULTS is {RESULTS!r}, and Snakemake takes what is between braces for a wildcard: choose a folder "
            "without braces in its path, or unset BBGM_RESULTS; results/ in the checkout works in any folder"
        )
    MEASUREMENTS = read_measurements()
except ValueError as error:
    raise WorkflowError(str(error)) from error
if not RUNS:
    raise WorkflowError(f"no run is listed for the budget {BUDGET!r}: see experiments and seeds in config/config.yaml")

OUT = f"{RESULTS}/{{budget}}"
LOGS = f"{OUT}/logs"
RUN = f"{OUT}/{{dataset}}/{{filter}}/{{method}}/seed{{seed}}"
FIGURES = "figures/{budget}"

# One training run at a time on the GPUs of this machine (profiles/default), or as many as --resources gpu=N says. A
# cluster's profile asks for GPUs itself: the machine on which Snakemake was started may have none.
GPUS_OF_A_RUN = 1 if shutil.which("nvidia-smi") else 0
GPUS_BY_PROFILE = workflow.resource_settings.overwrite_resources.get("train_run", {}).get("gpu")
# Not a parameter of the rule, whose change would make finished runs again; a job's own process of Snakemake inherits it.
if "gpu" in workflow.global_resources:
    os.environ.setdefault("BBGM_RUNS_AT_ONCE", str(workflow.global_resources["gpu"].value))
DEVICE = "gpu" if (GPUS_OF_A_RUN if GPUS_BY_PROFILE is None else GPUS_BY_PROFILE.value) else "cpu"

BY_FOLDER = {run.folder.as_posix(): run for run in RUNS}
# The run that 04_training makes as it is stored, if the budget has it; its notebook is shown among the others.
SHOWN = next(
    (folder for folder in BY_FOLDER if folder.endswith("willow/intersection/bbgm/seed0")), next(iter(BY_FOLDER))
)
TABLES = [name for name, spec in SPECS.items() if spec.made_of(RUNS)]


def notebook_of(run):
    """The executed notebook of a run: it exists if the run's record does."""
    return f"{RESULTS}/{run.folder.as_posix()}/run.ipynb"


def make_lost_runs_again():
    """Make the notebooks of runs whose record is incomplete out of date.

    A run's notebook is the only output that Snakemake knows of: as long as it is there, it would not notice that e.g.
    metrics.json was deleted, and the tables would lack the run.
    """
    for run in RUNS:
        notebook = Path(notebook_of(run))
        if notebook.is_file() and missing_files(notebook.parent):
            with suppress(OSError):  # read-only: then nothing can be made there
                os.utime(notebook, (1, 1))  # Snakemake ignores a time of 0


if workflow.is_main_process:
    make_lost_runs_again()


def runs_where(dataset, filter, *methods):
    """Notebooks of the runs of some methods on one data set with one filter."""
    return [
        notebook_of(run)
        for run in RUNS
        if (run.data.dataset, run.protocol.filter) == (dataset, filter) and run.method in methods
    ]


def data_of(*datasets):
    """Demo data, if the budget uses them; the readers of the original data report themselves what is missing."""
    demo = {run.data.dataset for run in RUNS if run.data.source == "demo"}
    return expand(f"{OUT}/demo_data/{{dataset}}.json", budget=BUDGET, dataset=sorted(demo.intersection(datasets)))


def needs_of_data(wildcards):
    """The demo data that these are made from: without them, the job would wait for another one that makes them."""
    return data_of(*demo_needs(wildcards.dataset))


def tables_of(*names):
    """The files of those tables that have runs at this budget; without names, of all such tables."""
    wanted = [name for name in TABLES if not names or name in names]
    suffixes = ["csv", "tex", "comparisons.csv"]
    return expand(f"{OUT}/tables/{{table}}.{{suffix}}", budget=BUDGET, table=wanted, suffix=suffixes)


# Notebooks of the pipeline, and the files that each needs, so that it reads them instead of making them again. Each
# draws figures/<budget>/<notebook>.pdf and .png. A budget without runs on Willow, or without a table, leaves some out.
OF_WILLOW = {
    "00_start_here": runs_where("willow", "intersection", "bbgm", "bbgm_untrained"),
    "01_loss_landscape": runs_where("willow", "intersection", "bbgm"),
    "02_graph_matching": data_of("willow") + runs_where("willow", "unfiltered", "bbgm"),
    "03_architecture": runs_where("willow", "intersection", "bbgm"),
    "08_willow": tables_of("Willow"),
    "14_your_images": data_of("willow"),
}
OF_TABLES = {
    "05_keypoint_filtering": {"PascalVOCSampling"},
    "06_pascal_voc": {"PascalVOCBig"},
    "07_unfiltered": {"PascalVOCunfiltered"},
    "09_spair": {"Spair", "Spair-classes"},
    "10_ablations": {"PascalVOCAblation"},
    "11_methods": {"PascalVOCBig"},
    "12_gradients": {"PascalVOC-gradients"},
    "13_beyond": {"PascalVOC-beyond"},
}
NOTEBOOKS = OF_WILLOW if any(run.data.dataset == "willow" for run in RUNS) else {}
NOTEBOOKS |= {name: tables_of(*tables) for name, tables in OF_TABLES.items() if tables.issubset(TABLES)}
NOTEBOOKS |= {"15_unsaid": []}


wildcard_constraints:
    budget=BUDGET,
    dataset="|".join(sorted({run.data.dataset for run in RUNS})),
    filter="|".join(sorted({run.protocol.filter for run in RUNS})),
    method="|".join(sorted({run.method for run in RUNS})),
    seed=r"\d+",
    table="|".join(SPECS),
    notebook=r"\d\d_\w+",


def run_of(wildcards):
    """Configuration of the run that a job makes."""
    folder = f"{wildcards.budget}/{wildcards.dataset}/{wildcards.filter}/{wildcards.method}/seed{wildcards.seed}"
    if folder not in BY_FOLDER:
        raise WorkflowError(f"no run {folder} is listed in config/config.yaml for the budget {BUDGET!r}")
    return BY_FOLDER[folder]


def needs_of_run(wildcards):
    """The demo data of its data set, and the run that it starts from."""
    run = run_of(wildcards)
    return data_of(run.data.dataset) + ([notebook_of(run.parent.run)] if run.parent else [])


def experiments_of_run(wildcards):
    """The file of its experiment, that of its variant, and the files that it is `like:`."""
    return [f"config/{file.parent.name}/{file.name}" for file in read_experiment(wildcards.method)]


def priority_of_run(wildcards):
    """Pairs that it trains with, and those of the longest run that starts from it: long ones first.

    Then short runs are left for the end, and no core waits long for another.
    """
    run = run_of(wildcards)
    starting = [one.optimiser.pairs for one in RUNS if one.parent and one.parent.run.folder == run.folder]
    return run.optimiser.pairs + max(starting, default=0)


def threads_of_run(wildcards):
    """As many as torch uses: part of a run's configuration."""
    return run_of(wildcards).threads


def memory_of_run(wildcards, attempt):
    """MB of the node's memory that a run asks for, from measured figures; a job that was killed asks for more."""
    return ceil(request_for(run_of(wildcards), DEVICE, MEASUREMENTS, attempt).memory_mib * 1.048576)


def minutes_of_run(wildcards, attempt):
    """Limit on a cluster, from measured figures; a run that reaches it resumes from its last checkpoint, with a longer one."""
    return request_for(run_of(wildcards), DEVICE, MEASUREMENTS, attempt).minutes


def hash_of_run(wildcards):
    """Hash of everything that a run's numbers depend on: if it changes, the run is out of date."""
    return stored_hash(run_of(wildcards))


def parameters_of_run(wildcards):
    """Parameters of the training notebook; JSON, so that papermill keeps their types."""
    return json.dumps(
        {
            "method": wildcards.method,
            "budget": wildcards.budget,
            "dataset": wildcards.dataset,
            "keypoint_filter": wildcards.filter,
            "seed": int(wildcards.seed),
            "loop": run_of(wildcards).folder.as_posix() == SHOWN,
        }
    )


def runs_of_table(wildcards):
    """The runs that a table shows."""
    return [notebook_of(run) for run in RUNS if SPECS[wildcards.table].shows(run)]


def published_of_table(wildcards):
    """The paper's numbers in a table."""
    return f"bbgm/published/{SPECS[wildcards.table].published}.csv"


def needs_of_notebook(wildcards):
    """The files that a notebook needs, so that it reads them instead of making them again."""
    return NOTEBOOKS[wildcards.notebook]


def about_notebooks(wildcards):
    """Of each notebook its title and what it teaches, as reStructuredText: for the report."""
    about = {}
    for name in [*NOTEBOOKS, "04_training"]:
        cells = json.loads(Path(f"notebooks/{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        title, _, text = "".join(cells[0]["source"]).partition("\n")
        learn = re.search(r"\*\*You will learn\*\* (.*?)\s*(?=Paper:|\*\*Runtime|\n\n|\Z)", text, re.DOTALL)
        summary = f"You learn {learn[1]}" if learn else ""
        summary = re.sub(r"\$([^$]+)\$", r":math:`\1`", re.sub(r"`([^`]+)`", r"``\1``", summary))
        about[name] = f"**{title.lstrip('# ')}**. {summary}"
    return about
