"""Configurations: every budget and experiment is valid, and what is not says so."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from bbgm.config import list_runs, load_run, make_run

BUDGETS = sorted(path.stem for path in (Path(__file__).resolve().parents[2] / "config" / "budgets").glob("*.yaml"))


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_listed_run_is_valid_and_comes_back_from_yaml(budget: str) -> None:
    runs = list_runs(budget)
    for config in runs:
        again = make_run(yaml.safe_load(config.to_yaml()))
        assert again == config
        assert again.hash() == config.hash()
    assert len({run.folder for run in runs}) == len(runs)
    assert len({run.hash() for run in runs}) == len(runs)


def test_the_paper_budget_is_the_paper() -> None:
    """Iterations, schedules and test pairs of the authors' code; restarts of the paper's tables."""
    runs = {(run.data.dataset, str(run.protocol.filter), run.method): run for run in list_runs("paper")}
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


def test_a_configuration_cannot_be_changed() -> None:
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
        ({"solvr": {}}, r"solvr: no such key; the keys here are \['method', .*'optimiser', .*'solver'.*\]"),
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
            r"network\.backbone: not one of \['vgg16_bn', 'vgg16', 'small'\] \(given: 'resnet'\)",
        ),
        (
            {"data": {"dataset": "imagenet"}},
            r"data\.dataset: not one of \['willow', 'voc', 'spair', 'folder'\] \(given: 'imagenet'\)",
        ),
        (
            {"data": {"dataset": "voc", "source": "original", "hidden_keypoints": 0.1}},
            r"data: hidden_keypoints is an option of willow, not of voc: leave it out",
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
        (
            {"model": "dgmc", "protocol": {"filter": "unfiltered", "test_sets_per_class": 2}},
            r".*which dgmc does not have",
        ),
        ({"solver": {"layer": "sinkhorn"}}, r".*sinkhorn knows unary costs only: set network\.quadratic: false"),
        ({"data": {"keep_outside": True}}, r"data: keep_outside is an option of voc, not of willow: leave it out"),
        ({"data": {"dataset": "voc", "exclude_willow": "all"}}, r"data\.exclude_willow: .*'none', 'images_of_2007' or"),
    ],
)
def test_errors_name_the_key_the_value_and_what_is_allowed(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"smoke\.yaml with bbgm\.yaml is not valid:\n  " + message):
        load_run("bbgm", "smoke", 0, **change)


def test_all_wrong_keys_are_reported_at_once() -> None:
    with pytest.raises(ValueError, match="method: Field required") as caught:
        make_run({"seed": -1})
    for name in ("title", "budget", "seed"):
        assert f"  {name}: " in str(caught.value)


def test_seeds_are_what_torch_takes() -> None:
    assert load_run("bbgm", "smoke", 2**63 - 1).seed == 2**63 - 1
    with pytest.raises(ValueError, match="seed: Input should be less than 9223372036854775808"):
        load_run("bbgm", "smoke", 2**63)


@pytest.mark.parametrize("protocol", [3, ["all"], {"filter": ["all"]}, {"filter": {}}])
def test_a_wrong_protocol_is_named(protocol: object) -> None:
    with pytest.raises(ValueError, match=r"protocol.*given"):
        load_run("bbgm", "smoke", 0, protocol=protocol)


@pytest.mark.parametrize("dataset", ["willow", "voc", "spair"])
def test_a_class_that_is_named_twice_is_an_error(dataset: str) -> None:
    with pytest.raises(ValueError, match=r"data\.classes names 'Car' twice"):
        load_run("bbgm", "smoke", 0, dataset=dataset, data={"classes": ["Car", "Duck", "Car"]})
