"""What the READMEs say works: links lead somewhere, `bbgm` has the commands, examples run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bbgm.cli import make_parser
from bbgm.config import budget_names, load_run
from bbgm.tables import SPECS

READMES = (
    "README.md",
    *("bbgm/data/README.md", "bbgm/tables/README.md", "config/README.md"),
    *("CONTRIBUTING.md", "figures/README.md", "profiles/README.md", "solver_src/README.md", "demo_src/README.md"),
    *("docs/replication.md", "docs/results.md", "docs/demo.md", "docs/installing.md", "docs/pictures.md"),
    *("docs/running.md", "docs/troubleshooting.md", "docs/index.md", "docs/api.md"),
)
FROM_INDEX = ("docs/api.md",)
"""What the documentation's own index links, and the README does not."""
OWN = {"mine", "rabbits", "two_convolutions"}
"""Experiments that a reader is told to write."""


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def commands(text: str) -> list[list[str]]:
    """Arguments of every `bbgm ...` in a block of commands or within backquotes."""
    lines = [line for block in blocks(text, "bash") for line in block.splitlines()]
    spans = re.findall(r"(?<!`)`([^`]+)`(?!`)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    found = [shlex.split(line, comments=True) for line in (*lines, *spans) if line.startswith("bbgm ")]
    return [words[1:] for words in found if "DIR" not in words]


def anchor(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("name", READMES)
def test_links_lead_somewhere(project: Path, name: str) -> None:
    file = project / name
    for link in re.findall(r"\]\(([^)]+)\)", file.read_text(encoding="utf-8")):
        if link.startswith(("https://", "../../actions/")):  # the latter are pages of GitHub
            continue
        path, _, fragment = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), link
        if fragment:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert fragment in map(anchor, headings), link


def test_every_readme_is_linked(project: Path) -> None:
    text = (project / "README.md").read_text(encoding="utf-8")
    assert [name for name in READMES[1:] if f"]({name}" not in text and name not in FROM_INDEX] == []


def test_the_index_lists_every_page_and_notebook(project: Path) -> None:
    text = (project / "docs/index.md").read_text(encoding="utf-8")
    pages = [file for pattern in ("docs/*.md", "notebooks/*.ipynb") for file in project.glob(pattern)]
    names = [f"../notebooks/{file.stem}" if file.suffix == ".ipynb" else file.stem for file in pages]
    listed = text.splitlines()
    assert [name for name in names if name not in listed and name != "index"] == []


@pytest.mark.parametrize("name", READMES)
def test_commands_exist(project: Path, name: str) -> None:
    parser = make_parser()
    for words in commands((project / name).read_text(encoding="utf-8")):
        if words in (["bench"], ["plan"], ["solve"]):
            continue  # the command's name alone
        options = vars(parser.parse_args(words))
        if "budget" in options:
            assert options["budget"] in budget_names()
        if options.get("table"):
            assert options["table"] in SPECS
        if options.get("method") and "seed" in options and options["method"] not in OWN:
            load_run(
                options["method"],
                options["budget"],
                options["seed"],
                dataset=options["dataset"],
                filter=options["filter"],
            )


def test_the_commands_are_found(project: Path) -> None:
    found = [words for name in READMES for words in commands((project / name).read_text(encoding="utf-8"))]
    assert {words[0] for words in found} >= {"train", "evaluate", "match", "table", "data", "plan", "solve", "bench"}


@pytest.mark.parametrize("name", ["README.md", "docs/pictures.md", "solver_src/README.md", "demo_src/README.md"])
def test_examples_run(project: Path, tmp_path: Path, name: str) -> None:
    code = "\n".join(blocks((project / name).read_text(encoding="utf-8"), "python"))
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    for said in re.findall(r"print\(.*\)\s+# (\[.*\] \S+ \w+):", code):
        assert said in result.stdout


def test_every_experiment_is_explained(project: Path) -> None:
    text = (project / "config" / "README.md").read_text(encoding="utf-8")
    names = [file.stem for file in (project / "config" / "experiments").glob("*.yaml")]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_every_table_is_explained(project: Path) -> None:
    text = (project / "bbgm" / "tables" / "README.md").read_text(encoding="utf-8")
    assert [name for name in SPECS if f"`{name}`" not in text] == []
