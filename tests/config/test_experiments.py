"""Experiments by name: files, what they are like, and variants."""

from pathlib import Path

import pytest
import yaml

from bbgm.config import experiment_names, list_runs, load_run, read_experiment


def write(folder: Path, files: dict[str, dict[str, object]]) -> Path:
    for name, content in files.items():
        path = folder / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(content))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        {
            "experiments/plain": {"title": "Plain", "optimiser": {"epochs": 3}},
            "experiments/other": {"like": "plain", "title": "Other", "threads": 1},
            "experiments/plain_own": {"title": "Its own"},
            "variants/own": {"title": "not used"},
            "variants/start": {"title": "{title} (start)", "data": {"dataset": "voc"}, "optimiser": {"epochs": 5}},
            "variants/go_on": {"parent": {"method": "{method}_start", "dataset": "voc", "optimiser_state": False}},
            "variants/on": {"title": "shorter names come later"},
            "budgets/tiny": {"optimiser": {"iterations_per_epoch": 2}},
            "budgets/few": {"parents": 2},
        },
    )


def test_a_variant_is_on_top_of_the_experiment_and_what_that_is_like(folder: Path) -> None:
    layers = read_experiment("other_start", folder)
    assert [f"{file.parent.name}/{file.stem}" for file in layers] == [
        "experiments/plain",
        "experiments/other",
        "variants/start",
    ]
    run = load_run("other_start", "tiny", 0, folder)
    assert (run.title, run.threads, run.optimiser.epochs, run.data.dataset) == ("Other (start)", 1, 5, "voc")


def test_the_parent_of_a_variant_is_of_the_same_experiment_and_seed(folder: Path) -> None:
    run = load_run("other_go_on", "tiny", 4, folder)
    assert run.parent is not None
    assert (run.parent.run.method, run.parent.run.seed, run.parent.run.title) == ("other_start", 4, "Other (start)")
    assert run.title == "Other"


def test_a_budget_with_fewer_parents_uses_them_in_turn(folder: Path) -> None:
    parents = [load_run("plain_go_on", "few", seed, folder).parent for seed in range(4)]
    assert [parent.run.seed for parent in parents if parent] == [0, 1, 0, 1]


@pytest.mark.parametrize("wrong", [0, True, "two", 1.5])
def test_a_wrong_number_of_parents_is_named(folder: Path, wrong: object) -> None:
    write(folder, {"budgets/few": {"parents": wrong}})
    with pytest.raises(ValueError, match=r"few\.yaml: parents is"):
        load_run("plain", "few", 0, folder)


def test_a_file_of_its_own_takes_precedence(folder: Path) -> None:
    assert load_run("plain_own", "tiny", 0, folder).title == "Its own"


def test_all_names_are_listed(folder: Path) -> None:
    names = experiment_names(folder)
    assert {"plain", "plain_own", "plain_start", "other_go_on"} < set(names)
    assert list(names) == sorted(set(names))
    with pytest.raises(
        ValueError, match=r"'plain_stop' is not one of .*'plain_own'.* ends in one of _go_on, _on, _own"
    ):
        read_experiment("plain_stop", folder)
    with pytest.raises(ValueError, match="'nothing_start' is not one of"):
        read_experiment("nothing_start", folder)


def test_runs_of_the_project_start_from_a_parent_of_their_seed() -> None:
    runs = {(run.method, run.seed): run for run in list_runs("paper") if run.data.dataset == "willow"}
    for method in ("bbgm_pt", "bbgm_pt_wt", "dgmc_pt", "dgmc_pt_wt"):
        parents = [runs[method, seed].parent for seed in range(20)]
        assert [parent.run.seed for parent in parents if parent] == list(range(20))
    small = [run for run in list_runs("demo") if run.parent]
    assert {run.parent.run.seed for run in small if run.parent} == {0}
