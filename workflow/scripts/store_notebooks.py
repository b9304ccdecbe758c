"""Put the outputs of notebooks that the pipeline has executed into the notebooks of the repository.

    python workflow/scripts/store_notebooks.py            # after: snakemake --cores all; or: make notebooks

It takes what is in results/demo/notebooks, and leaves the other notebooks as they are. A notebook whose code has
changed since it was executed is refused. Outputs on stderr and what papermill writes into a notebook are left out.
"""

import sys
from pathlib import Path
from typing import Any

import nbformat

from bbgm.base.atomic import write_text
from bbgm.base.paths import project_root, results_root

BUDGET = "demo"
"""The default of the notebooks' parameter."""
TRAINING = "willow/intersection/bbgm/seed0/run.ipynb"
"""The run that 04_training's default parameters name."""


def executed(name: str, results: Path) -> Path:
    """Where the pipeline puts a notebook."""
    return results / BUDGET / (TRAINING if name == "04_training" else f"notebooks/{name}.ipynb")


def with_outputs(stored: Any, fresh: Any, name: str) -> Any:
    """A notebook with the outputs of the same one, executed.

    Args:
        stored: the notebook; its outputs are replaced.
        fresh: executed by papermill.
        name: for the message.

    Raises:
        ValueError: they are not the same notebook, or it failed.
    """
    cells = [cell for cell in stored.cells if cell.cell_type == "code"]
    executed_cells = [
        cell
        for cell in fresh.cells
        if cell.cell_type == "code" and "injected-parameters" not in cell.metadata.get("tags", [])
    ]
    if [cell.source for cell in executed_cells] != [cell.source for cell in cells]:
        raise ValueError(f"{name} was changed after it was executed: run snakemake --cores all again")
    for count, (cell, done) in enumerate(zip(cells, executed_cells, strict=True), start=1):
        if any(output.output_type == "error" for output in done.outputs):
            raise ValueError(f"{name} ended with an error when it was executed: see its cell {done.source[:60]!r}")
        cell.execution_count = count
        cell.outputs = [_cleaned(output, count) for output in done.outputs if output.get("name") != "stderr"]
    stored.metadata.pop("widgets", None)
    return stored


def _cleaned(output: Any, count: int) -> Any:
    if "execution_count" in output:
        output.execution_count = count
    return output


def main() -> int:
    """Run the command; returns 1 if nothing was stored."""
    found = 0
    for path in sorted((project_root() / "notebooks").glob("*.ipynb")):
        source = executed(path.stem, results_root())
        if not source.is_file():
            print(f"not executed: {path.stem} (there is no {source})")
            continue
        content = with_outputs(nbformat.read(path, as_version=4), nbformat.read(source, as_version=4), path.stem)
        write_text(path, nbformat.writes(content) + "\n")
        found += 1
        print(f"stored: {path.stem}")
    return int(not found)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(f"store_notebooks: {error}")
