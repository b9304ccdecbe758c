"""Matching two pictures: what decides the result and what must not, costs, proofs, figures."""

import json
import subprocess
import sys
from pathlib import Path

import bbgm_solver
import numpy as np
import pytest
import torch
from PIL import Image

import bbgm
from bbgm.config import load_run
from bbgm.data.images.keypoints import KeypointImage
from bbgm.data.sampling.pairs import KeypointPair
from bbgm.models.load import load_model
from bbgm.photos import Match, Model
from bbgm.runs.train import run

Drawn = tuple[Path, dict[str, tuple[float, float]]]


@pytest.fixture(scope="module")
def match(drawn: list[Drawn], model: Model) -> Match:
    (one, points1), (two, points2), *_ = drawn
    return bbgm.match(one, points1, two, points2, model=model)


def test_importing_bbgm_is_cheap() -> None:
    program = "import sys, bbgm; print(sorted({'torch', 'numpy', 'pydantic', 'PIL'} & set(sys.modules)), bbgm.__all__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("[] ['Match', 'Model'")
    with pytest.raises(AttributeError, match="has no attribute 'matcher'"):
        _ = bbgm.matcher


def test_the_costs_are_those_of_training_and_evaluation(images: list[KeypointImage], drawn: list[Drawn]) -> None:
    """The whole picture as the box: the same instance as from the data set, through the matcher's own features."""
    matcher = load_model().matcher
    one, two = (np.lexsort(image.xy.T) for image in images[:2])
    expected = matcher.instances([KeypointPair(images[0], images[1], one, two)])[0]
    boxes = [(0.0, 0.0, float(image.size[0]), float(image.size[1])) for image in images[:2]]
    (path1, points1), (path2, points2), *_ = drawn
    found = bbgm.match(path1, points1, path2, points2, box1=boxes[0], box2=boxes[1]).instance
    np.testing.assert_allclose(found.unary[np.ix_(one, two)], expected.unary, atol=1e-5)
    assert found.quadratic.sum() == pytest.approx(expected.quadratic.sum(), abs=1e-2)
    assert len(found.edges1) == len(expected.edges1)


def test_cost_bound_and_proof(match: Match) -> None:
    problem = match.instance.problem()
    assert match.objective == pytest.approx(bbgm_solver.evaluate(problem, match.assignment))
    assert match.objective == pytest.approx(match.unary_costs.sum() + match.edge_costs.sum())
    assert match.lower_bound <= match.objective + 1e-9
    exact = bbgm_solver.solve(problem, "exact", full=True)
    assert exact.optimal
    assert match.optimal
    assert match.objective == pytest.approx(exact.objective)
    assert sorted(match.assignment.tolist()) == list(range(10))
    assert match.pairs.tolist() == [[i, j] for i, j in enumerate(match.assignment)]


def test_neither_order_nor_names_decide(match: Match, drawn: list[Drawn], model: Model) -> None:
    (one, points1), (two, points2), *_ = drawn
    rng = np.random.default_rng(0)
    p, q = rng.permutation(10), rng.permutation(10)
    names1, names2 = list(points1), list(points2)
    xy1, xy2 = np.array(list(points1.values())), np.array(list(points2.values()))
    moved = model.match(one, xy1[p], two, dict(zip(rng.permutation(names2), xy2[q], strict=True)))
    assert moved.objective == match.objective
    assert {(int(p[i]), int(q[j])) for i, j in moved.pairs} == {(i, j) for i, j in match.pairs.tolist()}
    np.testing.assert_array_equal(moved.instance.unary, match.instance.unary[np.ix_(p, q)])
    assert moved.right is None
    assert match.names == [(names1[i], names2[j]) for i, j in match.pairs]
    edges = {frozenset(p[edge].tolist()) for edge in moved.instance.edges1}
    assert edges == {frozenset(edge.tolist()) for edge in match.instance.edges1}


def test_a_picture_with_itself(drawn: list[Drawn], model: Model) -> None:
    path, points = drawn[0]
    same = model.match(path, points, path, points)
    assert same.right is not None
    assert same.right.all()
    assert same.truth.tolist() == list(range(10))


def test_sets_of_different_sizes(drawn: list[Drawn], model: Model) -> None:
    (one, points1), (two, points2), *_ = drawn
    few = dict(list(points1.items())[:6])
    full = model.match(one, few, two, points2)
    assert len(full.pairs) == 6
    other_way = model.match(two, points2, one, few)
    assert len(other_way.pairs) == 6
    assert (other_way.assignment < 0).sum() == 4
    partial = model.match(one, few, two, points2, partial=True)
    assert partial.partial
    assert partial.objective <= min(full.objective, 0) + 1e-9


def test_keypoints_may_stay_unmatched(drawn: list[Drawn], model: Model) -> None:
    (one, points1), (two, points2), *_ = drawn
    found = model.match(one, points1, two, points2, partial=True)
    exact = model.match(one, points1, two, points2, partial=True, solver="exact")
    assert found.objective == pytest.approx(exact.objective)
    assert found.objective <= model.match(one, points1, two, points2).objective + 1e-9


def test_scores_need_names_in_both_pictures(match: Match, drawn: list[Drawn], model: Model) -> None:
    assert match.truth is not None
    assert match.right is not None
    assert match.right.tolist() == [match.names[k][0] == match.names[k][1] for k in range(10)]
    (one, points1), (two, points2), *_ = drawn
    renamed = {("other" if k == 0 else name): xy for k, (name, xy) in enumerate(points2.items())}
    some = model.match(one, points1, two, renamed)
    assert some.truth.tolist() == [-1, *range(1, 10)]
    np.testing.assert_array_equal(some.assignment, match.assignment)


def test_a_moved_keypoint_does_not_need_the_backbone(
    drawn: list[Drawn], model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one, points1), (two, points2), *_ = drawn
    views = model.look(one, points1), model.look(two, points2)
    before = model.match(views[0], points1, views[1], points2)
    monkeypatch.setattr(type(model._matcher.backbone), "forward", lambda *_: pytest.fail("looked again"))
    name = next(iter(points1))
    middle = tuple(np.mean(list(points1.values()), axis=0).tolist())
    after = model.match(views[0], {**points1, name: middle}, views[1], points2)
    assert (after.instance.unary[0] != before.instance.unary[0]).any()
    again = model.match(views[0], points1, views[1], points2)
    assert again.objective == before.objective
    nodes, pooled = model.features(views[0], points1)
    assert nodes.shape == (10, model._matcher.backbone.node_channels)
    assert torch.equal(pooled, model.features(views[1], points2)[1]) is False


def test_points_move_within_the_box_of_a_view(drawn: list[Drawn], model: Model) -> None:
    path, points = drawn[0]
    view = model.look(path, points, box=(60, 60, 180, 180))
    with pytest.raises(ValueError, match="is outside of the box"):
        model.features(view, [[61, 61], [100, 150], [200, 61]])


def test_views_of_another_model_or_box(drawn: list[Drawn], model: Model) -> None:
    path, points = drawn[0]
    view = model.look(path, points)
    assert model.look(view, box=view.picture.box) is view
    with pytest.raises(ValueError, match="was looked at in another box"):
        model.match(view, points, view, points, box2=(0, 0, 50, 50))
    with pytest.raises(ValueError, match="was looked at by another model"):
        bbgm.match(view, points, view, points)


def test_the_graphs_are_in_px_of_the_pictures(match: Match, drawn: list[Drawn]) -> None:
    for graph, (_, points) in zip(match.graphs, drawn, strict=False):
        np.testing.assert_array_equal(graph.xy, list(points.values()))
        assert (np.bincount(graph.edge_index[0], minlength=10) >= 2).all()


def test_the_record_is_json_and_complete(match: Match) -> None:
    record = json.loads(json.dumps(match.record()))
    assert [one["index"] for one in record["matches"]] == match.pairs.tolist()
    assert sum(one["unary"] + one["edges"] for one in record["matches"]) == pytest.approx(record["objective"])
    assert record["optimal"] is match.optimal
    assert record["right"] == int(match.right.sum())
    assert np.shape(record["unary"]) == (10, 10)
    assert "rendered toys only" in record["model"]
    assert f"{record['right']} of 10 right" in str(match)


@pytest.mark.parametrize("suffix", ["png", "pdf"])
def test_figures(match: Match, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BBGM_ROOT")  # outside of a checkout
    files = [tmp_path / f"{k}.{suffix}" for k in range(2)]
    for file in files:
        match.draw(file, edges=True)
    assert files[0].read_bytes() == files[1].read_bytes()
    figure = match.draw()
    assert figure.axes[0].get_title() == f"{match.right.sum()} of 10 right"


def test_pictures_of_other_shapes_are_drawn_at_one_height(drawn: list[Drawn], model: Model) -> None:
    (path, points), (two, points2), *_ = drawn
    with Image.open(two) as image:
        wide = image.convert("RGB").resize((2 * image.width, image.height))
    stretched = np.array(list(points2.values())) * [2, 1]
    found = model.match(path, list(points.values()), wide, stretched)
    ax = found.draw().axes[0]
    tops = {tuple(image.get_extent()[2:]) for image in ax.get_images()}
    assert len(tops) == 1
    assert ax.get_title().startswith("10 matches")
    colours = {line.get_color() for line in ax.lines if line.get_linestyle() == "-"}
    assert len(colours) == 8


def test_a_run_is_a_model_too(drawn: list[Drawn], tmp_path: Path) -> None:
    config = load_run("bbgm_untrained", "smoke", 0, protocol={"test_pairs_per_class": 2})
    run(config, tmp_path, progress=False)
    (one, points1), (two, points2), *_ = drawn
    assert bbgm.match(one, points1, two, points2, model=tmp_path).model == f"run {tmp_path}"
    other = load_run("dgmc", "smoke", 0, protocol={"test_pairs_per_class": 2}, optimiser={"epochs": 0})
    run(other, tmp_path / "dgmc", progress=False)
    with pytest.raises(ValueError, match=r"DGMC\*, which makes no costs for the solver"):
        Model(tmp_path / "dgmc")


def test_an_unknown_solver(drawn: list[Drawn], model: Model) -> None:
    path, points = drawn[0]
    with pytest.raises(
        ValueError, match=r"solver 'sync' is not one of \['best', 'dual', 'exact', 'unary', 'sinkhorn'\]"
    ):
        model.match(path, points, path, points, solver="sync")
