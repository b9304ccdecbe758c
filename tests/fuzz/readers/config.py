"""YAML: the configuration of a stored run, an experiment, a budget, and what the pipeline makes."""

import shutil
from collections.abc import Callable
from pathlib import Path

from bbgm.base.paths import project_root
from bbgm.config import list_runs, load_run
from bbgm.runs.results import load_config
from tests.fuzz.check import Subject

STORED = "tests/runs/stored/results/demo"
BOMB = b"a: &a [x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nd: &d [*c, *c, *c, *c]\n"
WORDS = (
    *(BOMB, b"&a ", b"*a", b"<<: *a\n", b"<<: [*a, *a]\n", b"!!python/object/apply:os.system ['true']", b"!!binary x"),
    *(
        b"!!bool x",
        b"!!float x",
        b"!!timestamp x",
        b"!!int ''",
        b"!!set {a}",
        b"--- ",
        b"...\n",
        b"%YAML 9.9\n",
        b"| \n",
    ),
    *(b"like: bbgm\n", b"like: ../../x\n", b"like: [a]\n", b"like: " + b"a" * 300 + b"\n", b"{title}" * 9, b"{method}"),
    *(
        b"parent: {method: mine}\n",
        b"parent:",
        b"datasets:",
        b"filters:",
        b"budgets:",
        b"network:",
        b"2026-01-01",
        b"3:25:45",
    ),
    *(b"data: {dataset: voc}\n", b"optimiser: ", b"protocol: ", b"seed: 1\n", b"voc", b"bbgm", b"dgmc", b"null", b"~"),
)


def _file(name: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        return [path.read_bytes() for path in sorted(project_root().glob(name))]

    return seeds


def _copy_config(folder: Path) -> None:
    shutil.copytree(project_root() / "config", folder / "config")


RUN = Subject(
    file="config.yaml",
    read=lambda folder: load_config(folder).hash(),
    seeds=_file(f"{STORED}/*/*/*/*/config.yaml"),
    words=WORDS,
    text=True,
)
EXPERIMENT = Subject(
    file="config/experiments/mine.yaml",
    read=lambda folder: load_run("mine", "smoke", 0, folder / "config").to_yaml(),
    prepare=_copy_config,
    seeds=_file("config/experiments/*.yaml"),
    words=WORDS,
    text=True,
    named="mine",
)
BUDGET = Subject(
    file="config/budgets/mine.yaml",
    read=lambda folder: load_run("bbgm", "mine", 0, folder / "config").to_yaml(),
    prepare=_copy_config,
    seeds=_file("config/budgets/[!a]*.yaml"),  # that of the animals needs another data set
    words=WORDS,
    text=True,
)
PIPELINE = Subject(
    file="config/config.yaml",
    read=lambda folder: list_runs("smoke", None, folder / "config"),
    prepare=_copy_config,
    seeds=lambda: [
        b"experiments: {voc: {intersection: [bbgm, dgmc]}}\n"
        b"seeds:\n  voc:\n    intersection: {smoke: {others: 2, bbgm: 1}}\n"
    ],
    words=WORDS,
    text=True,
)
