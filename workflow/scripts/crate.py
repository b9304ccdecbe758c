"""A finished pipeline as an RO-Crate: `python workflow/scripts/crate.py BUDGET CRATE.zip`.

The crate follows the profile Workflow Run Crate 0.5. It holds the workflow, its configuration and notebooks, every
table, figure and executed notebook, and of each run its configuration, learning curve and scores.
`ro-crate-metadata.json` says which run made what, when, from which commit, on which hardware and with which versions.
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

PROFILES = (
    ("Process Run Crate", "https://w3id.org/ro/wfrun/process", "0.5"),
    ("Workflow Run Crate", "https://w3id.org/ro/wfrun/workflow", "0.5"),
)
DESCRIPTION = (
    "Deep graph matching with a combinatorial solver inside the network (Rolínek et al., ECCV 2020): tables, figures, "
    "notebooks and runs."
)
CODE = ("workflow/**/*.smk", "workflow/**/*.py", "notebooks/*.ipynb")
CONFIGURATION = ("config/**/*.yaml", "requirements.lock")
RESULTS = ("tables/*", "notebooks/*.ipynb", "pages/*.html", "figures/*.png", "provenance.csv")
OF_RUN = ("config.yaml", "history.csv", "metrics.json")
DONE = "http://schema.org/CompletedActionStatus"


def add_files(
    crate: ROCrate, folder: Path, patterns: tuple[str, ...], below: str = "", **properties: Any
) -> Iterator[Any]:
    """Add the files of a folder that match; the crate has them at the same place below ``below``."""
    for path in sorted(file for pattern in patterns for file in folder.glob(pattern) if file.is_file()):
        name = path.relative_to(folder).as_posix()
        yield crate.add_file(path, f"{below}{name}", properties={"name": name, **properties})


def add_profiles(crate: ROCrate) -> None:
    """Say which profiles the crate follows."""
    for name, address, version in PROFILES:
        properties = {"@type": "CreativeWork", "name": name, "version": version}
        profile = crate.add(ContextEntity(crate, f"{address}/{version}", properties=properties))
        crate.root_dataset.append_to("conformsTo", profile)


def add_workflow(crate: ROCrate) -> tuple[Any, list[Any]]:
    """Add the Snakefile, and everything that it reads; returns it and its parts."""
    root = project_root()
    properties = {"name": "BB-GM pipeline"}
    workflow = crate.add_workflow(root / "Snakefile", "Snakefile", main=True, lang="snakemake", properties=properties)
    code = add_files(crate, root, CODE, **{"@type": ["File", "SoftwareSourceCode"]})
    parts = [*code, *add_files(crate, root, CONFIGURATION)]
    workflow["hasPart"] = parts
    return workflow, parts


def add_run(crate: ROCrate, folder: Path, line: dict[str, Any], program: Any, budget: Any) -> Any:
    """Add a run: what it has read, and what it has made, as a line of `list_provenance` describes it."""
    origin = (f"configuration {line['configuration']}", f"commit {line['commit']}", line["hardware"], line["versions"])
    return crate.add_action(
        program,
        identifier=f"#{line['run']}",
        object=[budget],
        result=list(add_files(crate, folder, OF_RUN, f"results/{line['run']}/")),
        properties={
            "name": f"{line['title']}, {line['run']}",
            "description": "; ".join(origin),
            "endTime": line["finished"],
            "actionStatus": DONE,
        },
    )


def make_crate(budget: str) -> ROCrate:
    """Describe the finished pipeline of a budget.

    Raises:
        ValueError: it has no finished run, or the record of one is damaged.
    """
    runs, results = list_provenance(budget), results_root() / budget
    crate = ROCrate(version="1.1")  # that of the profile
    crate.name = f"BB-GM companion {bbgm.__version__}: the pipeline at the budget {budget}"
    crate.description = DESCRIPTION
    crate.license = "https://spdx.org/licenses/MIT"
    add_profiles(crate)
    workflow, parts = add_workflow(crate)
    by_name = {part.id: part for part in parts}
    program, chosen = by_name["notebooks/04_training.ipynb"], by_name[f"config/budgets/{budget}.yaml"]
    actions = [add_run(crate, results / line["run"], line, program, chosen) for line in runs.to_dict("records")]
    made = list(add_files(crate, results, RESULTS, "results/"))
    made += add_files(crate, project_root() / "figures" / budget, ("*.pdf",), "figures/")
    properties = {
        "name": f"snakemake --cores all --config budget={budget}",
        "endTime": max(runs["finished"]),
        "actionStatus": DONE,
    }
    configuration = [part for part in parts if part.id.startswith("config/")]
    actions.append(crate.add_action(workflow, "#pipeline", configuration, made, properties))
    crate.root_dataset["mentions"] = actions
    return crate


def main(budget: str, path: str) -> None:
    crate = make_crate(budget)
    with atomic_path(Path(path)) as temporary:
        crate.write_zip(temporary)


if __name__ == "__main__":
    main(*sys.argv[1:])
