"""The editor without a browser: what it computes when the browser reports a change, and what it saves."""

import io
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import bbgm
from bbgm.cli import main
from bbgm.data import KeypointPair
from bbgm.photos import Model, View
from bbgm.widgets import MatchingEditor, points_in_file
from bbgm.widgets.pair import MOST


def report(editor: MatchingEditor, **state: Any) -> None:
    """A change as it comes from the browser: all of it at once."""
    editor.set_state({**state, "revision": editor.revision + 1})


def changed(editor: MatchingEditor, side: int, index: int, **values: Any) -> list[list[dict[str, Any]]]:
    keypoints = [[dict(one) for one in each] for each in editor.keypoints]
    keypoints[side][index].update(values)
    return keypoints


def test_points_of_a_data_set_are_in_px_of_the_file(pair: KeypointPair) -> None:
    image = pair.source
    xy = np.array(list(points_in_file(image).values()))
    left, top, right, bottom = image.box or (0, 0, *image.size)
    np.testing.assert_allclose((xy - (left, top)) * 256 / np.array([right - left, bottom - top]), image.xy)


def test_it_starts_with_the_matching_of_bbgm_match(editor: MatchingEditor, pair: KeypointPair) -> None:
    result = editor.result
    assert [one["right"] for one in result["matches"]] == [True] * 10
    assert "10 of 10 right" in result["summary"]
    assert "proved optimal" in result["summary"]
    assert sum(one["unary"] + one["edges"] for one in result["matches"]) == pytest.approx(editor.match.objective)
    points = [
        {name: tuple(np.round(xy, 2)) for name, xy in points_in_file(x).items()} for x in (pair.source, pair.target)
    ]
    same = bbgm.match(pair.source.path, points[0], pair.target.path, points[1])
    assert same.objective == editor.match.objective


def test_a_change_is_answered_with_its_number(editor: MatchingEditor) -> None:
    before = editor.match.objective
    report(editor, keypoints=changed(editor, 0, 0, x=editor.keypoints[0][0]["x"] + 20))
    assert editor.result["revision"] == editor.revision == 1
    assert editor.match.objective != before
    report(editor)  # nothing has changed
    assert editor.result["revision"] == 2


def test_a_drag_does_not_need_the_backbone_and_its_end_is_exact(
    editor: MatchingEditor, pair: KeypointPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Any] = []
    look = Model.look

    def counted(self: Model, *given: Any, **options: Any) -> View:
        looks.append(options.get("box"))
        return look(self, *given, **options)

    monkeypatch.setattr(Model, "look", counted)
    xs = [one["x"] for one in editor.keypoints[0]]
    outermost = int(np.argmax(xs))
    inwards = changed(editor, 0, outermost, x=xs[outermost] - 9)
    report(editor, keypoints=inwards, moving=True)
    assert [box for box in looks if box] == []
    during = editor.match.objective
    report(editor, keypoints=inwards, moving=False)
    assert len([box for box in looks if box]) == 1  # the box around the keypoints is smaller now
    texts = [json.loads(one["text"]) for one in editor.result["files"]]
    same = bbgm.match(pair.source.path, texts[0], pair.target.path, texts[1])
    assert editor.match.objective == same.objective != during


def test_hidden_keypoints_are_left_out(editor: MatchingEditor) -> None:
    hidden = editor.keypoints[1][4]
    report(editor, keypoints=changed(editor, 1, 4, hidden=True))
    assert len(editor.result["matches"]) == 9
    assert all(one["ids"][1] != hidden["id"] for one in editor.result["matches"])
    assert hidden["name"] not in json.loads(editor.result["files"][1]["text"])
    names = {one["id"]: one["name"] for one in editor.keypoints[1]}
    for match in editor.result["matches"]:
        assert names[match["ids"][1]] == match["names"][1]
    report(editor, keypoints=changed(editor, 1, 4, hidden=False))
    assert len(editor.result["matches"]) == 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda k: [k[0][:2], k[1]], "Click at least 3 keypoints on each image: 1 more on the left."),
        (lambda k: [[], []], "3 more on the left and 3 more on the right"),
        (lambda k: [k[0], [{**one, "name": "same"} for one in k[1]]], "two keypoints with the name 'same'"),
        (lambda k: [[{**one, "x": 5.0, "y": 7.0 * one["id"]} for one in k[0]], k[1]], "on one line"),
        (lambda k: [[{**one, "x": 5.0, "y": 5.0} for one in k[0]], k[1]], "are both at"),
        (lambda k: [[{"id": 0}], k[1]], "does not have id, x, y, name and hidden"),
        (lambda k: [[{**k[0][0], "x": float("nan")}], k[1]], "no finite position"),
        (lambda k: [[{**k[0][0], "id": i, "name": ""} for i in range(MOST + 1)], k[1]], f"the limit is {MOST}"),
    ],
)
def test_what_cannot_be_matched_is_explained(editor: MatchingEditor, change: Any, message: str) -> None:
    good = editor.keypoints
    report(editor, keypoints=change(good))
    assert message in editor.result["summary"]
    assert "matches" not in editor.result
    with pytest.raises(ValueError, match="there is no matching to take"):
        _ = editor.match
    report(editor, keypoints=good)
    assert len(editor.result["matches"]) == 10


def test_solvers_without_edges_pay_for_it(editor: MatchingEditor) -> None:
    found = editor.compare()
    assert list(found) == list(editor.solvers)
    best = found["best"]
    for name in ("unary", "sinkhorn"):
        match = found[name]
        assert match.right.sum() < best.right.sum()
        assert match.objective > best.objective + 1
        assert not match.optimal
        assert match.lower_bound == best.lower_bound
        assert match.unary_costs.sum() <= best.unary_costs.sum() + 1e-9
    report(editor, solver="unary")
    assert "a cheaper matching may exist" in editor.result["summary"]
    assert "--solver unary" in editor.result["command"]


def test_all_solvers_leave_keypoints_unmatched_if_they_may(editor: MatchingEditor) -> None:
    report(editor, keypoints=[editor.keypoints[0], editor.keypoints[1][:6]], partial=True)
    for match in editor.compare().values():
        assert match.partial
        assert len(match.pairs) <= 6
        assert len(set(match.pairs[:, 1].tolist())) == len(match.pairs)
        assert match.objective >= match.lower_bound - 1e-9


def test_the_command_gives_the_matching_that_is_shown(
    editor: MatchingEditor, pair: KeypointPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for image in (pair.source, pair.target):
        (tmp_path / image.path.name).write_bytes(image.path.read_bytes())
    report(editor, solver="unary", keypoints=changed(editor, 0, 2, x=123.456, hidden=False))
    paths = editor.save(tmp_path)
    assert [path.read_text() for path in paths] == [one["text"] for one in editor.result["files"]]
    monkeypatch.chdir(tmp_path)
    main([*shlex.split(editor.result["command"])[1:], "--json"])
    record = json.loads(capsys.readouterr().out)
    assert record["objective"] == editor.match.objective
    assert [one["names"] for one in record["matches"]] == [one["names"] for one in editor.result["matches"]]


def upload(editor: MatchingEditor, side: int, name: str, data: bytes, parts: int = 1) -> None:
    """Send a file as the browser does."""
    size = -(-len(data) // parts)
    for part in range(parts):
        content = {"kind": "upload", "side": side, "name": name, "part": part, "parts": parts}
        editor._handle_custom_msg(content, [memoryview(data[part * size : (part + 1) * size])])


def test_an_image_comes_in_parts(editor: MatchingEditor, pair: KeypointPair) -> None:
    upload(editor, 1, "../mine.png", pair.source.path.read_bytes(), parts=3)
    assert editor.pictures[1]["name"] == "mine.png"
    assert (editor.pictures[1]["width"], editor.pictures[1]["height"]) == pair.source.size
    assert editor.keypoints[1] == []
    assert len(editor.keypoints[0]) == 10
    report(editor, keypoints=[editor.keypoints[0], editor.keypoints[0]])
    assert editor.match.right.all()  # an image with itself


def test_an_image_that_its_tag_turns_is_shown_upright(editor: MatchingEditor) -> None:
    image, buffer = Image.new("RGB", (60, 40)), io.BytesIO()
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(buffer, "JPEG", exif=exif)
    upload(editor, 0, "turned.jpg", buffer.getvalue())
    assert (editor.pictures[0]["width"], editor.pictures[0]["height"]) == (40, 60)
    assert "mogrify -auto-orient turned.jpg" in editor.result["notice"]


def test_a_file_that_is_no_image_changes_nothing(editor: MatchingEditor) -> None:
    before = editor.pictures
    upload(editor, 0, "notes.txt", b"not an image")
    assert "notes.txt" in editor.result["notice"]
    assert editor.pictures == before
    assert len(editor.result["matches"]) == 10


def test_networks(editor: MatchingEditor, pair: KeypointPair, tmp_path: Path) -> None:
    editor._handle_custom_msg({"kind": "load", "path": str(tmp_path / "none.safetensors")}, [])
    assert "none.safetensors" in editor.result["notice"]
    from bbgm.models.load import SHIPPED

    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(SHIPPED.read_bytes())
    editor._handle_custom_msg({"kind": "load", "path": f" {copy} "}, [])
    assert editor.network == editor.networks[1]
    assert str(copy) in editor.network
    assert shlex.split(editor.result["command"])[-2:] == ["--model", str(copy)]
    assert len(editor.result["matches"]) == 10


def test_a_picture_stands_for_it_without_a_kernel(editor: MatchingEditor) -> None:
    data, _ = editor._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["image/png"].startswith("iVBOR")
    assert data["text/plain"] == str(editor.match)
    report(editor, keypoints=[[], []])
    data, _ = editor._repr_mimebundle_()
    assert "image/png" not in data
    assert data["text/plain"].startswith("Click at least 3")


def test_images_of_one_name_are_saved_apart(pair: KeypointPair, tmp_path: Path) -> None:
    points = points_in_file(pair.source)
    twice = MatchingEditor(pair.source.path, points, pair.source.path, points)
    one, two = twice.save(tmp_path)
    assert one != two
    assert json.loads(one.read_text()) == json.loads(two.read_text())
