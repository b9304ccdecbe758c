"""The examples of CONTRIBUTING.md work: a plugin of all parts, whose experiments train, a figure and a table."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

TRAIN = """
from bbgm.config import load_run
from bbgm.runs.train import run
import sys
for name in sys.argv[1:]:
    record = run(load_run(name, "mine", 0, dataset="table"), progress=False)
    print(name, record.config.network.backbone if hasattr(record.config, "network") else record.config.model)
"""

PARTS = {"two_convolutions", "one_scale", "assignment", "my_hinge", "fixed_length", "nearest"}


def examples(project: Path, language: str) -> dict[str, str]:
    """The blocks of code, joined by the file that their first line names."""
    text = (project / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for file, block in re.findall(rf"```{language}\n# (\S+)\n(.*?)```", text, re.DOTALL):
        found[file] = found.get(file, "") + block
    return found


def write_dots(folder: Path) -> None:
    """Two classes of eight images with five keypoints each, nearly in the same places, and the list of them."""
    generator, rows = np.random.default_rng(0), []
    folder.mkdir()
    for cls in ("dots", "spots"):
        centres = generator.uniform(10, 90, (5, 2))
        for image in range(8):
            name = f"{cls}{image}.png"
            Image.fromarray(generator.integers(256, size=(100, 100, 3), dtype=np.uint8)).save(folder / name)
            for k, (x, y) in enumerate(centres + generator.normal(0, 1, (5, 2))):
                rows.append({"class": cls, "image": name, "keypoint": f"k{k}", "x": x, "y": y})
    pd.DataFrame(rows).to_csv(folder / "keypoints.csv", index=False)


def test_every_example_of_a_part_trains(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "config", tmp_path / "config")
    (tmp_path / "Snakefile").touch()
    files = examples(project, "yaml") | {"my_parts.py": examples(project, "python")["my_parts.py"]}
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    write_dots(tmp_path / "dots")
    names = sorted(Path(name).stem for name in files if "experiments" in name)
    assert set(names) == PARTS
    environment = os.environ | {
        "BBGM_ROOT": str(tmp_path),
        "BBGM_RESULTS": str(tmp_path / "results"),
        "BBGM_CACHE": str(tmp_path / "cache"),
        "BBGM_PLUGINS": "my_parts.py",
        "PYTHONPATH": str(project),
    }
    command = [sys.executable, "-c", TRAIN, *names]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "two_convolutions two_convolutions" in done.stdout
    for name in names:
        metrics = json.loads((tmp_path / f"results/mine/table/intersection/{name}/seed0/metrics.json").read_text())
        assert metrics["per_class"].keys() == {"dots", "spots"}
        assert metrics["mean"]["accuracy"] > 0
    assert metrics["method"] == "two_convolutions"
    nearest = tmp_path / "results/mine/table/intersection/nearest/seed0/metrics.json"
    assert json.loads(nearest.read_text())["mean"]["accuracy"] > 0.9


def test_the_example_of_a_peer_runs(project: Path, tmp_path: Path) -> None:
    (tmp_path / "my_parts.py").write_text(examples(project, "python")["my_parts.py"], encoding="utf-8")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.dd").write_text("p 2 2 2 1\na 0 0 0 -1\na 1 1 1 -1\ne 0 1 -1\n")
    command = ["--plugin", "my_parts.py", "bench", "peers", "one", "--peers", "nothing,best", "--repeats", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "bbgm", *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()[1:]] == ["nothing", "best"]


def test_the_figure_and_the_table_are_made(project: Path, tmp_path: Path) -> None:
    from bbgm.config import load_run
    from bbgm.plotting import save_figure
    from bbgm.tables import TableSpec

    code = examples(project, "python")
    space: dict[str, object] = {}
    exec(code["bbgm/plotting/margins.py"], space)
    figure = space["plot_margins"]([0.5, 1.0], [80, 85])  # type: ignore[operator]
    assert all(path.stat().st_size > 1000 for path in save_figure(figure, tmp_path / "margins"))
    spec = eval(code["bbgm/tables/specs.py"], {"TableSpec": TableSpec})
    assert spec.shows(load_run("unary_costs", "smoke", 0, dataset="willow"))
    assert not spec.shows(load_run("unary_costs", "smoke", 0, dataset="voc"))


@pytest.mark.parametrize("folder", ["bbgm", "."])
def test_the_map_names_every_folder(project: Path, folder: str) -> None:
    text = (project / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listing = subprocess.run(["git", "ls-files"], cwd=project / folder, capture_output=True, text=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout")
    folders = {name.split("/")[0] for name in listing.stdout.splitlines() if "/" in name and not name.startswith(".")}
    named = set(re.findall(r"`([\w]+)/?`", "\n".join(line for line in text.splitlines() if line.startswith("|"))))
    assert folders - named == set()
