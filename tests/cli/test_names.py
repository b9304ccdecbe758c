"""Names that would mean something to a shell, or lead to another folder, are names and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bbgm.base import plugins
from bbgm.base.registry import Registry
from bbgm.cli import main
from bbgm.config import load_run, make_run
from bbgm.runs import superseded

MISLEADING = [
    "a; touch pwned",
    "../../x",
    "$(touch pwned)",
    "`touch pwned`",
    "/etc/passwd",
    "-rf",
    "",
    ".",
    "demo\n",
]
NAMES = [*MISLEADING, "a" * 300]  # the last one is only too long for a file


def outside(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "command",
    [
        ["train", "--budget", "smoke", "--method=NAME"],
        ["train", "--budget=NAME"],
        ["train", "--budget", "smoke", "--dataset=NAME"],
        ["train", "--budget", "smoke", "--filter=NAME"],
        ["table", "--", "NAME"],
        ["table", "Willow", "--budget=NAME"],
        ["provenance", "--budget=NAME"],
        ["data", "download", "--", "NAME"],
        ["data", "demo", "--budget=NAME"],
        ["evaluate", "--", "NAME"],
        ["plan", "--budget=NAME"],
    ],
    ids=lambda command: " ".join(command),
)
def test_no_command_takes_a_name_for_more(
    error_of: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], name: str
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    if command[0] == "evaluate" and not name:
        name = "nowhere"
    if not name and command[-1] in ("--dataset=NAME", "--filter=NAME"):
        pytest.skip("an empty option is none")
    error_of(*(word.replace("NAME", name) for word in command))
    assert outside(tmp_path) <= {"a", "results"}


@pytest.mark.parametrize("name", MISLEADING)
def test_no_plugin_or_part_has_such_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be registered"):
        Registry[object]("method", "model").add(name, object())


def test_a_plugin_is_a_module_or_a_file(
    error_of: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(plugins.VARIABLE, "")  # restored afterwards: --plugin changes it for the whole process
    message = error_of("--plugin", f"{tmp_path}/$(touch pwned); touch pwned.py", "train", "--budget", "smoke")
    assert "no file" in message
    assert outside(tmp_path) == set()


@pytest.mark.parametrize("name", MISLEADING)
def test_a_configuration_of_a_run_leads_to_its_own_folder(name: str) -> None:
    content = load_run("bbgm", "smoke", 0).content()
    for key in ("method", "budget"):
        with pytest.raises(ValueError, match=key):
            make_run({**content, key: name})


def test_a_folder_with_such_a_name_is_written_to_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "r; touch pwned $(touch pwned)"
    assert main(["data", "demo", "willow", "--images", "4", "--folder", str(folder)]) == 0
    assert outside(tmp_path) & {"pwned"} == set()
    assert len(list(folder.rglob("*.mat"))) == 20


@pytest.mark.parametrize("end", ["source", "target"])
def test_a_note_of_a_move_does_not_reach_outside_of_the_run(tmp_path: Path, end: str) -> None:
    folder, other = tmp_path / "run", tmp_path / "other"
    (folder / superseded.FOLDER).mkdir(parents=True)
    other.mkdir()
    for place in (folder, other):
        (place / "metrics.json").write_text(place.name)
    note = {"source": ".", "target": "superseded/a", end: "../other"}
    (folder / superseded.FOLDER / ".move.json").write_text(str(note).replace("'", '"'))
    with pytest.raises(ValueError, match=r"\.move\.json names a move .* outside of the run"):
        superseded.make_room(folder, load_run("bbgm", "smoke", 0))
    assert [(place / "metrics.json").read_text() for place in (folder, other)] == ["run", "other"]
