"""Configurations: every budget and experiment is valid, and what is not says so."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from bbgm.config import list_runs, load_run, make_run, overlay, read_experiment, read_yaml

CONFIG = Path(__file__).resolve().parents[2] / "config"
BUDGETS = sorted(path.stem for path in (CONFIG / "budgets").glob("*.yaml"))
METHODS = sorted(path.stem for path in (CONFIG / "experiments").glob("*.yaml"))


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_listed_run_is_valid_and_comes_back_from_yaml(budget: str) -> None:
    runs = list_runs(budget)
    for config in runs:
        again = make_run(yaml.safe_load(config.to_yaml()))
        assert again == config
        assert again.hash() == config.hash()
    assert len({run.folder for run in runs}) == len(runs)
    assert len({run.hash() for run in runs}) == len(runs)


def test_the_experiment_lies_over_the_budget() -> None:
    assert load_run("bbgm_untrained", "demo", 0).optimiser.epochs == 0
    assert load_run("bbgm_untrained", "demo", 0).network == load_run("bbgm", "demo", 0).network
    assert load_run("bbgm", "demo", 0, optimiser={"batch_size": 3}).optimiser.batch_size == 3
    assert overlay({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 4}, "d": {"e": 5}}) == {
        "a": {"b": 4, "c": 2},
        "d": {"e": 5},
    }


def test_a_budget_may_set_something_for_one_filter_only(tmp_path: Path) -> None:
    """Below the experiment and the command line, above the rest of the budget."""
    shutil.copytree(CONFIG, tmp_path / "config")
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
    other = {"protocol": {"filter": "unfiltered"}, "optimiser": {"batch_size": 6}}
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
        ({"budgets": {"huge": {}}}, r"wrong\.yaml sets budgets\.huge, which is not one of \['smoke', 'demo',"),
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
    """It lies over all that the other says, also over what that says for one budget only."""
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


def test_the_paper_budget_is_the_paper() -> None:
    """Iterations, schedules and test pairs of the authors' code; restarts of the paper's tables."""
    runs = {(run.data.dataset, run.protocol.filter, run.method): run for run in list_runs("paper")}
    halving, constant = (2, 4, 6, 8), ()
    for key, epochs, iterations, milestones, pairs in (
        (("voc", "intersection", "bbgm"), 10, 2000, halving, 1000),
        (("voc", "intersection", "bbgm_pretrain"), 10, 2000, constant, 50),
        (("willow", "intersection", "bbgm"), 2, 100, (1,), 100),
        (("willow", "intersection", "bbgm_pt"), 0, 100, (1,), 100),
        (("willow", "intersection", "bbgm_pt_wt"), 2, 200, (1,), 100),
        (("spair", "intersection", "bbgm"), 10, 400, halving, 0),
    ):
        run = runs[key]
        settings = run.optimiser
        assert (settings.epochs, settings.iterations_per_epoch, settings.milestones) == (epochs, iterations, milestones)
        assert (settings.batch_size, settings.learning_rate, settings.backbone_factor) == (8, 2e-3, 0.01)
        assert run.protocol.test_pairs_per_class == pairs
        assert (run.network.backbone, run.network.freeze_backbone) == ("vgg16_bn", False)
    pretrain = runs["voc", "intersection", "bbgm_pretrain"]
    assert pretrain.data.exclude_willow == "images_of_2007"
    for method, with_state in (("bbgm_pt", False), ("bbgm_pt_wt", True)):
        parent = runs["willow", "intersection", method].parent
        assert parent is not None
        assert (parent.run, parent.optimiser_state) == (pretrain, with_state)


def test_the_willow_budget_is_the_papers_protocol() -> None:
    """Two epochs of 100 iterations of 8 pairs, halved after one; lambda 80, margin 1 (paper Sec. 4)."""
    config = load_run("bbgm", "willow", 0)
    settings = config.optimiser
    assert (settings.epochs, settings.iterations_per_epoch, settings.batch_size) == (2, 100, 8)
    assert (settings.learning_rate, settings.backbone_factor, settings.milestones, settings.decay) == (
        2e-3,
        0.01,
        (1,),
        0.5,
    )
    assert (config.solver.lambda_, config.solver.margin) == (80, 1)
    assert (config.protocol.train_per_class, config.protocol.test_pairs_per_class) == (20, 1000)


def test_hash_is_of_what_changes_a_number() -> None:
    config = load_run("bbgm", "smoke", 0)
    assert config.hash() == config.model_copy(update={"title": "other"}).hash()
    others = [
        load_run("bbgm", "smoke", 1),
        load_run("bbgm", "smoke", 0, solver={"lambda": 79.0}),
        load_run("bbgm", "smoke", 0, data={"classes": ["Car"]}),
        load_run("bbgm", "smoke", 0, threads=3),
    ]
    assert len({config.hash(), *(other.hash() for other in others)}) == 5


def _differences(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    parts = {
        key: _differences(value, other[key]) if isinstance(value, dict) else other[key]
        for key, value in one.items()
        if value != other[key] and key not in ("method", "title")
    }
    return {key: part for key, part in parts.items() if part != {}}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("fixed_affinity", {"network": {"affinity": "fixed"}}),
        ("frozen_vgg", {"network": {"freeze_backbone": True}}),
        ("unary_costs", {"network": {"quadratic": False}}),
        ("sinkhorn", {"network": {"quadratic": False}, "solver": {"layer": "sinkhorn", "full": True, "margin": 0}}),
        ("bbgm_max", {"solver": {"full": True}, "protocol": {"test_sets_per_class": 0}}),
    ],
)
def test_a_variant_differs_from_bbgm_in_what_it_is_named_for(method: str, expected: dict[str, Any]) -> None:
    filter_name = "unfiltered" if method == "bbgm_max" else "intersection"
    one, other = (
        load_run(name, "paper", 0, protocol={"filter": filter_name}).model_dump(by_alias=True)
        for name in ("bbgm", method)
    )
    assert _differences(one, other) == expected


def test_frozen() -> None:
    config = load_run("bbgm", "smoke", 0)
    with pytest.raises(ValidationError, match="frozen"):
        config.seed = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"solver": {"lamda": 80}},
            r"solver\.lamda: no such key; the keys here are \['method', .*'lambda', 'margin', .*\]",
        ),
        ({"solvr": {}}, r"solvr: no such key; the keys here are \['method', .*'solver', .*'optimiser', .*\]"),
        ({"solver": {"lambda": float("inf")}}, r"solver\.lambda: Input should be a finite number \(given: inf\)"),
        ({"network": {"refine_weight": float("nan")}}, r"network\.refine_weight: Input should be a finite number"),
        ({"optimiser": {"milestones": [-1]}}, r"optimiser\.milestones\.0: .*greater than or equal to 0"),
        ({"optimiser": {"batch_size": 10**20}}, r"optimiser\.batch_size: Input should be less than 2147483648"),
        ({"threads": 10**6}, r"threads: Input should be less than or equal to 1024 \(given: 1000000\)"),
        ({"data": {"demo_seed": 2**63}}, r"data\.demo_seed: Input should be less than 9223372036854775808"),
        ({"solver": {"lambda": 0}}, r"solver\.lambda: Input should be greater than 0 \(given: 0\)"),
        ({"optimiser": {"epochs": -1}}, r"optimiser\.epochs: .*greater than or equal to 0 \(given: -1\)"),
        (
            {"network": {"backbone": "resnet"}},
            r"network\.backbone: .*'vgg16_bn', 'vgg16' or 'small' \(given: 'resnet'\)",
        ),
        (
            {"data": {"dataset": "imagenet"}},
            r"data\.dataset: .*'willow', 'voc', 'spair' or 'folder' \(given: 'imagenet'\)",
        ),
        (
            {"data": {"dataset": "voc", "source": "original", "hidden_keypoints": 0.1}},
            r"data: .*hidden_keypoints is for willow, which annotates all, not voc: leave it out",
        ),
        (
            {"protocol": {"filter": "all"}},
            r"protocol\.filter: .*'intersection', 'inclusion' or 'unfiltered' \(given: 'all'\)",
        ),
        (
            {"data": {"dataset": "spair", "source": "original"}, "protocol": {"filter": "inclusion"}},
            r"run: .*spair lists the common keypoints .* filter 'inclusion' .*: set protocol\.filter: intersection$",
        ),
        (
            {"solver": {"full": True}, "protocol": {"filter": "unfiltered", "test_sets_per_class": 2}},
            r".*solver\.full for matchings that leave none: set test_sets_per_class: 0",
        ),
        ({"model": "dgmc", "protocol": {"filter": "unfiltered", "test_sets_per_class": 2}}, r".*which dgmc has not"),
        ({"solver": {"layer": "sinkhorn"}}, r".*sinkhorn knows unary costs only: set network\.quadratic: false"),
        ({"data": {"keep_outside": True}}, r"data: .*exclude_willow and keep_outside are for voc, not willow"),
        ({"data": {"dataset": "voc", "exclude_willow": "all"}}, r"data\.exclude_willow: .*'none', 'images_of_2007' or"),
    ],
)
def test_errors_name_the_key_the_value_and_what_is_allowed(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=r"smoke\.yaml with bbgm\.yaml is not valid:\n  " + message):
        load_run("bbgm", "smoke", 0, **change)


def test_all_wrong_keys_are_reported_at_once() -> None:
    with pytest.raises(ValueError, match="method: Field required") as caught:
        make_run({"seed": -1})
    for name in ("title", "budget", "seed"):
        assert f"  {name}: " in str(caught.value)


def test_a_file_must_not_set_what_its_name_or_the_command_line_says(tmp_path: Path) -> None:
    shutil.copytree(CONFIG, tmp_path / "config")
    (tmp_path / "config" / "experiments" / "mine.yaml").write_text("title: X\nseed: 5\n")
    with pytest.raises(ValueError, match=r"smoke\.yaml with mine\.yaml sets 'seed', .* leave it out"):
        load_run("mine", "smoke", 0, tmp_path / "config")


def test_seeds_are_what_torch_takes() -> None:
    assert load_run("bbgm", "smoke", 2**63 - 1).seed == 2**63 - 1
    with pytest.raises(ValueError, match="seed: Input should be less than 9223372036854775808"):
        load_run("bbgm", "smoke", 2**63)


def test_unknown_files_list_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'huge' is not one of .*'demo', .*'smoke', 'willow'"):
        load_run("bbgm", "huge", 0)
    with pytest.raises(ValueError, match=r"'sgd' is not one of \['bbgm', .*'bbgm_untrained', "):
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
def test_broken_yaml(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "x.yaml").write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read_yaml(tmp_path / "x.yaml")
    (tmp_path / "empty.yaml").touch()
    assert read_yaml(tmp_path / "empty.yaml") == {}


@pytest.mark.parametrize(
    "filters", [["unfiltered"], 3, {"unfiltered": 3}, {"unfiltered": ["protocol"]}, {1: {}, "none": {}}]
)
def test_wrong_settings_by_filter_are_named(tmp_path: Path, filters: object) -> None:
    shutil.copytree(CONFIG, tmp_path / "config")
    budget = tmp_path / "config" / "budgets" / "smoke.yaml"
    budget.write_text(yaml.safe_dump({**yaml.safe_load(budget.read_text()), "filters": filters}))
    with pytest.raises(ValueError, match=r"smoke\.yaml.*filters"):
        load_run("bbgm", "smoke", 0, tmp_path / "config", protocol={"filter": "unfiltered"})


@pytest.mark.parametrize("protocol", [3, ["all"], {"filter": ["all"]}, {"filter": {}}])
def test_a_wrong_protocol_is_named(protocol: object) -> None:
    with pytest.raises(ValueError, match=r"protocol.*given"):
        load_run("bbgm", "smoke", 0, protocol=protocol)
