"""From files to a configuration: precedence, and the errors for wrong files."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from bbgm.config import list_runs, load_run, overlay, read_experiment, read_yaml


def test_the_experiment_lies_over_the_budget() -> None:
    assert load_run("bbgm_untrained", "demo", 0).optimiser.epochs == 0
    assert load_run("bbgm_untrained", "demo", 0).network == load_run("bbgm", "demo", 0).network
    assert load_run("bbgm", "demo", 0, optimiser={"batch_size": 3}).optimiser.batch_size == 3
    assert overlay({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 4}, "d": {"e": 5}}) == {
        "a": {"b": 4, "c": 2},
        "d": {"e": 5},
    }


def test_a_budget_may_set_something_for_one_filter_only(project: Path, tmp_path: Path) -> None:
    """Below the experiment and the command line, above the rest of the budget."""
    shutil.copytree(project / "config", tmp_path / "config")
    budget = tmp_path / "config/budgets/smoke.yaml"
    content = yaml.safe_load(budget.read_text())
    content["filters"] = {
        "unfiltered": {"data": {"hidden_keypoints": 0.3}, "optimiser": {"epochs": 7, "batch_size": 5}}
    }
    budget.write_text(yaml.safe_dump(content))
    plain = load_run("bbgm", "smoke", 0, tmp_path / "config")
    assert plain == load_run("bbgm", "smoke", 0, tmp_path / "config", protocol={"filter": "intersection"})
    assert (plain.data.hidden_keypoints, plain.optimiser.epochs) == (0, 2)
    run = load_run("bbgm_untrained", "smoke", 0, tmp_path / "config", protocol={"filter": "unfiltered"})
    assert (run.data.hidden_keypoints, run.optimiser.epochs, run.optimiser.batch_size) == (0.3, 0, 5)
    assert run.data.demo_images_per_class == plain.data.demo_images_per_class
    assert run.folder == Path("smoke", "willow", "unfiltered", "bbgm_untrained", "seed0")
    other: dict[str, Any] = {"protocol": {"filter": "unfiltered"}, "optimiser": {"batch_size": 6}}
    assert load_run("bbgm", "smoke", 0, tmp_path / "config", **other).optimiser.batch_size == 6
    budget.write_text(yaml.safe_dump(content | {"filters": {"all": {}}}))
    expected = r"smoke\.yaml sets filters\.all, which is not one of \['intersection', 'inclusion', 'unfiltered'\]"
    with pytest.raises(ValueError, match=expected):
        load_run("bbgm", "smoke", 0, tmp_path / "config")


def write(folder: Path, name: str, **content: object) -> None:
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(content))


@pytest.fixture
def layered(tmp_path: Path) -> Path:
    """A configuration in which each of the places that may say something says something about the batch size."""
    for name in ("budgets", "experiments"):
        (tmp_path / name).mkdir()

    def size(number: int, **sections: object) -> dict[str, object]:
        return {"optimiser": {"batch_size": number, "epochs": number}, **sections}

    write(
        tmp_path / "budgets",
        "demo",
        data={"source": "original"},
        datasets={"voc": size(2, filters={"unfiltered": size(3)}), "spair": size(4)},
        filters={"unfiltered": {"solver": {"lambda": 5.0}}},
        **size(1),
    )
    write(tmp_path / "budgets", "paper", data={"source": "original"}, **size(1))
    write(tmp_path / "experiments", "plain", title="x")
    write(
        tmp_path / "experiments",
        "mine",
        title="x",
        optimiser={"batch_size": 11},
        datasets={"voc": {"optimiser": {"batch_size": 12}}},
        budgets={"paper": {"optimiser": {"batch_size": 13}, "datasets": {"spair": {"optimiser": {"batch_size": 14}}}}},
    )
    return tmp_path


@pytest.mark.parametrize(
    ("method", "budget", "dataset", "name", "batch_size", "epochs", "lambda_"),
    [
        ("plain", "demo", "willow", "intersection", 1, 1, 80),
        ("plain", "demo", "voc", "intersection", 2, 2, 80),
        ("plain", "demo", "voc", "unfiltered", 3, 3, 5),
        ("plain", "demo", "willow", "unfiltered", 1, 1, 5),
        ("plain", "demo", "spair", "intersection", 4, 4, 80),
        ("mine", "demo", "willow", "intersection", 11, 1, 80),
        ("mine", "demo", "voc", "unfiltered", 12, 3, 5),
        ("mine", "paper", "voc", "intersection", 13, 1, 80),
        ("mine", "paper", "spair", "intersection", 14, 1, 80),
    ],
)
def test_sections_lie_over_each_other_in_order(
    layered: Path, method: str, budget: str, dataset: str, name: str, batch_size: int, epochs: int, lambda_: float
) -> None:
    run = load_run(method, budget, 0, layered, dataset=dataset, filter=name)
    assert (run.data.dataset, run.protocol.filter) == (dataset, name)
    assert (run.optimiser.batch_size, run.optimiser.epochs, run.solver.lambda_) == (batch_size, epochs, lambda_)
    assert load_run(method, budget, 0, layered, data={"dataset": dataset}, protocol={"filter": name}) == run
    assert run.setting == ("Pt=no;Wt=yes" if dataset == "willow" else f"filter={name}")
    own = {"optimiser": {"batch_size": 99}}
    assert load_run(method, budget, 0, layered, dataset=dataset, filter=name, **own).optimiser.batch_size == 99


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"datasets": {"vocc": {}}},
            r"wrong\.yaml sets datasets\.vocc, which is not one of \['willow', 'voc', 'spair'",
        ),
        ({"filters": {"unfilterd": {}}}, r"wrong\.yaml sets filters\.unfilterd, which is not one of \['intersection'"),
        ({"budgets": {"huge": {}}}, r"wrong\.yaml sets budgets\.huge, which is not one of \['demo', 'paper'"),
        (
            {"datasets": {"spair": {"filters": {"none": {}}}}},
            r"wrong\.yaml sets datasets\.spair\.filters\.none, which is not one of",
        ),
        ({"datasets": {"spair": {"budgets": 3}}}, r"wrong\.yaml: datasets\.spair\.budgets is 3, expected a mapping"),
        ({"datasets": {"willow": {"lambda": 3}}}, r"lambda: no such key"),
    ],
)
def test_wrong_sections_are_named_also_where_they_do_not_apply(
    layered: Path, content: dict[str, object], message: str
) -> None:
    write(layered / "experiments", "wrong", title="x", **content)
    with pytest.raises(ValueError, match=message):
        load_run("wrong", "demo", 0, layered)


def test_an_experiment_may_be_like_another(layered: Path) -> None:
    """It overrides everything in the other, including settings for one budget only."""
    write(layered / "experiments", "child", like="mine", optimiser={"batch_size": 21}, datasets={"voc": {"threads": 1}})
    write(layered / "experiments", "grandchild", like="child", title="y", budgets={"paper": {"threads": 3}})
    for method, dataset, budget, expected in (
        ("child", "voc", "demo", ("x", 21, 1)),
        ("child", "spair", "paper", ("x", 21, 2)),
        ("grandchild", "voc", "demo", ("y", 21, 1)),
        ("grandchild", "voc", "paper", ("y", 21, 3)),
    ):
        run = load_run(method, budget, 0, layered, dataset=dataset)
        assert (run.title, run.optimiser.batch_size, run.threads) == expected
        assert run.method == method
    assert [file.stem for file in read_experiment("grandchild", layered)] == ["mine", "child", "grandchild"]
    write(layered / "experiments", "mine", like="grandchild", title="x")
    with pytest.raises(ValueError, match=r"grandchild\.yaml is like itself: grandchild, child, mine"):
        load_run("grandchild", "demo", 0, layered)
    write(layered / "experiments", "mine", like="nothing")
    with pytest.raises(ValueError, match="'nothing' is not one of"):
        load_run("mine", "demo", 0, layered)


def test_a_budget_has_no_sections_by_budget(layered: Path) -> None:
    write(layered / "budgets", "smoke", budgets={"demo": {}})
    with pytest.raises(ValueError, match="budgets: no such key"):
        load_run("plain", "smoke", 0, layered)


def test_runs_are_listed_with_their_parents_first(layered: Path) -> None:
    write(layered / "experiments", "start", title="x", keep_optimiser=True)
    write(layered / "experiments", "on", title="x", parent={"method": "start", "dataset": "voc", "seed": 7})
    content = {
        "experiments": {"willow": {"intersection": ["on", "plain"]}, "voc": {"unfiltered": ["plain", "mine"]}},
        "seeds": {
            "willow": {"intersection": {"demo": 2}},
            "voc": {"unfiltered": {"demo": {"mine": 1, "others": 0}, "paper": {"mine": 1, "others": 3}}},
        },
    }
    assert [run.folder.as_posix() for run in list_runs("demo", content, layered)] == [
        "demo/voc/intersection/start/seed7",
        "demo/willow/intersection/on/seed0",
        "demo/willow/intersection/on/seed1",
        "demo/willow/intersection/plain/seed0",
        "demo/willow/intersection/plain/seed1",
        "demo/voc/unfiltered/mine/seed0",
    ]
    assert [run.method for run in list_runs("paper", content, layered)] == ["plain"] * 3 + ["mine"]
    for part, wrong, message in (
        ("experiments", {"vok": {}}, "experiments: data set 'vok' is not one of"),
        ("experiments", {"voc": {"none": []}}, r"experiments\.voc: filter 'none' is not one of"),
        ("seeds", {"vok": {}}, "seeds: data set 'vok' is not one of"),
        (
            "seeds",
            {"willow": {"intersection": {"demo": {"om": 2}}}},
            r"seeds\.willow\.intersection\.demo: experiment 'om' is not one of \['mine', 'on', 'plain', "
            r"'start', 'others'\]",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            list_runs("demo", {**content, part: wrong}, layered)
    with pytest.raises(ValueError, match="budget 'huge' is not one of"):
        list_runs("huge", content, layered)


def test_a_file_must_not_set_what_its_name_or_the_command_line_says(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "config", tmp_path / "config")
    (tmp_path / "config" / "experiments" / "mine.yaml").write_text("title: X\nseed: 5\n")
    with pytest.raises(ValueError, match=r"smoke\.yaml with mine\.yaml sets 'seed', .* leave it out"):
        load_run("mine", "smoke", 0, tmp_path / "config")


def test_unknown_files_list_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'huge' is not one of .*'demo', .*'smoke', 'willow'"):
        load_run("bbgm", "huge", 0)
    with pytest.raises(ValueError, match=r"'sgd' is not one of \['aimle', 'bbgm', .*'bbgm_untrained', "):
        load_run("sgd", "demo", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: [", "not valid YAML"),
        (b"- 1", "mapping .* not a list"),
        (b"a: {b: 1}\nc: 2\na: {d: 3}\n", "key 'a' occurs twice"),
        (b"a: \xff\n", r"x\.yaml is not valid YAML: 'utf-8' codec"),
    ],
)
def test_broken_yaml_is_named_and_an_empty_file_is_an_empty_mapping(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "x.yaml").write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read_yaml(tmp_path / "x.yaml")
    (tmp_path / "empty.yaml").touch()
    assert read_yaml(tmp_path / "empty.yaml") == {}


@pytest.mark.parametrize(
    "filters", [["unfiltered"], 3, {"unfiltered": 3}, {"unfiltered": ["protocol"]}, {1: {}, "none": {}}]
)
def test_wrong_settings_by_filter_are_named(project: Path, tmp_path: Path, filters: object) -> None:
    shutil.copytree(project / "config", tmp_path / "config")
    budget = tmp_path / "config" / "budgets" / "smoke.yaml"
    budget.write_text(yaml.safe_dump({**yaml.safe_load(budget.read_text()), "filters": filters}))
    with pytest.raises(ValueError, match=r"smoke\.yaml.*filters"):
        load_run("bbgm", "smoke", 0, tmp_path / "config", protocol={"filter": "unfiltered"})
