"""A finished pipeline as an RO-Crate: `python workflow/scripts/crate.py BUDGET CRATE.zip`.

The crate follows the profile Workflow Run Crate 0.5. It holds the workflow, its configuration and notebooks, every table, figure and
executed notebook, and of each run its configuration, learning curve and scores. `ro-crate-metadata.json` says which run
made what, when, from which commit, on which hardware and with which versions.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

import bbgm
from bbgm.base.atomic import atomic_path
from bbgm.base.paths import project_root, results_root
from bbgm.tables.provenance import list_provenance

PROFILES = ("process", "workflow")
WORKFLOW = ("workflow/**/*.smk", "workflow/**/*.py", "config/**/*.yaml", "notebooks/*.ipynb", "requirements.lock")
RESULTS = ("tables/*", "notebooks/*.ipynb", "pages/*.html", "figures/*.png", "provenance.csv")
OF_RUN = ("config.yaml", "history.csv", "metrics.json")


def add_files(crate: ROCrate, folder: Path, patterns: tuple[str, ...], below: str) -> Iterator[Any]:
    """Add the files that match; a crate names them by their place below ``below``."""
    for path in sorted(file for pattern in patterns for file in folder.glob(pattern) if file.is_file()):
        name = path.relative_to(folder).as_posix()
        yield crate.add_file(path, f"{below}{name}", properties={"name": name})


def make_crate(budget: str) -> ROCrate:
    """Describe the finished pipeline of a budget.

    Raises:
        ValueError: it has no finished run, or the record of one is damaged.
    """
    root, results = project_root(), results_root() / budget
    runs = list_provenance(budget)
    crate = ROCrate()
    crate.name = f"BB-GM companion {bbgm.__version__}: the pipeline at the budget {budget}"
    crate.description = (
        "Deep graph matching with a combinatorial solver inside the network (Rolínek et al., ECCV 2020): tables, figures, notebooks and runs."
    )
    crate.license = "https://spdx.org/licenses/MIT"
    profiles = [f"https://w3id.org/ro/wfrun/{name}/0.5" for name in PROFILES] + ["https://w3id.org/workflowhub/workflow-ro-crate/1.0"]
    for profile in profiles:
        crate.add(ContextEntity(crate, profile, properties={"@type": "CreativeWork", "name": profile.split("/")[-2], "version": profile.split("/")[-1]}))
    crate.root_dataset["conformsTo"] = [{"@id": profile} for profile in profiles]
    workflow = crate.add_workflow(root / "Snakefile", "Snakefile", main=True, lang="snakemake", properties={"name": "BB-GM pipeline"})
    parts = list(add_files(crate, root, WORKFLOW, ""))
    workflow["hasPart"] = parts
    program = next(part for part in parts if part.id == "notebooks/04_training.ipynb")
    program["@type"] = ["File", "SoftwareSourceCode"]
    configuration = [part for part in parts if part.id.startswith("config/")]
    for line in runs.to_dict("records"):
        made = list(add_files(crate, results / line["run"], OF_RUN, f"results/{line['run']}/"))
        crate.add_action(
            program,
            identifier=f"#{line['run']}",
            object=[part for part in configuration if part.id == f"config/budgets/{budget}.yaml"],
            result=made,
            properties={
                "name": f"{line['title']}, {line['run']}",
                "endTime": line["finished"],
                "description": f"Configuration {line['configuration']}; commit {line['commit']}; {line['hardware']}; {line['versions']}.",
                "actionStatus": "http://schema.org/CompletedActionStatus",
            },
        )
    made = list(add_files(crate, results, RESULTS, "results/")) + list(add_files(crate, root / "figures" / budget, ("*.pdf",), "figures/"))
    crate.add_action(
        workflow,
        identifier="#pipeline",
        object=configuration,
        result=made,
        properties={
            "name": f"snakemake --cores all --config budget={budget}",
            "endTime": max(runs["finished"]),
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
    )
    crate.root_dataset["mentions"] = [{"@id": "#pipeline"}, *({"@id": f"#{run}"} for run in runs["run"])]
    return crate


def main(budget: str, path: str) -> None:
    crate = make_crate(budget)
    with atomic_path(Path(path)) as temporary:
        crate.write_zip(temporary)


if __name__ == "__main__":
    main(*sys.argv[1:])
