"""The gallery without a browser: what it sends, which runs it takes, and the page that it writes."""

import base64
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bbgm.config import load_run
from bbgm.runs.results import RunRecord
from bbgm.runs.train import run
from bbgm.widgets import Gallery, gallery, matchings
from bbgm.widgets.compared import compare_records
from bbgm.widgets.pictures import STATIC

METHODS = ("bbgm_untrained", "unary_costs")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RunRecord]]:
    """Runs of two methods, without training: with edges, and without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BBGM_RESULTS", str(tmp_path_factory.mktemp("results")))
        yield [run(load_run(name, "smoke", 0, optimiser={"epochs": 0})) for name in METHODS]


@pytest.fixture(scope="module")
def shown(records: list[RunRecord]) -> Gallery:
    return gallery(budget="smoke", methods=METHODS)


def test_what_is_sent_gives_the_accuracy_of_the_runs(shown: Gallery, records: list[RunRecord]) -> None:
    for k, record in enumerate(records):
        assert shown.methods[k] == {"title": record.config.title, "accuracy": record.metrics["mean"]["accuracy"]}
        for cls, scores in record.metrics["per_class"].items():
            pairs = [pair for pair in shown.pairs if pair["cls"] == cls]
            found, truth = (np.concatenate(x) for x in ([p["found"][k] for p in pairs], [p["truth"] for p in pairs]))
            assert len(pairs) == scores["n_pairs"]
            assert np.mean(found == truth) == pytest.approx(scores["accuracy"])
    errors = [sum(j != t for j, t in zip(p["found"][0], p["truth"], strict=True)) for p in shown.pairs]
    assert shown.compared.errors[0].tolist() == errors
    assert shown.limit == shown.most == shown.compared.errors.max() > 0


def test_images_are_sent_once_with_the_keypoints_of_the_network_s_input(shown: Gallery) -> None:
    assert len(shown.pictures) == len(shown.images) == len({one["name"] for one in shown.images})
    assert len(shown.images) < 2 * len(shown.pairs)
    pair, plain = shown.compared.pairs[7], shown.pairs[7]
    for image, at, kept in zip((pair.source, pair.target), plain["images"], plain["kept"], strict=True):
        assert shown.images[at]["name"] == image.image_id
        np.testing.assert_allclose(np.array(shown.images[at]["xy"])[kept], image.xy[kept], atol=0.051)
        pixels = np.asarray(Image.open(io.BytesIO(shown.pictures[at])), dtype=float)
        assert np.abs(pixels - image.crop()).mean() < 6
    names = [np.array(shown.images[at]["names"])[kept] for at, kept in zip(plain["images"], plain["kept"], strict=True)]
    assert names[0].tolist() == names[1][plain["truth"]].tolist()


def test_of_many_images_those_are_sent_that_are_shown(
    shown: Gallery, records: list[RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matchings, "MANY", len(shown.images) - 1)
    later = Gallery(shown.compared)
    assert set(later.pictures) == {b""}
    sent: list[Any] = []
    monkeypatch.setattr(Gallery, "send", lambda _self, content, buffers: sent.append((content, buffers)))
    later._handle_custom_msg({"kind": "images", "wanted": [4, 2, 10_000]}, [])
    assert sent == [({"kind": "images", "wanted": [4, 2]}, [shown.pictures[4], shown.pictures[2]])]


def test_runs_are_in_the_order_asked_for_or_the_most_accurate_first(records: list[RunRecord]) -> None:
    titles = [one.config.title for one in records]
    assert [one["title"] for one in gallery(budget="smoke", methods=METHODS[::-1]).methods] == titles[::-1]
    scores = [one["accuracy"] for one in gallery(budget="smoke").methods]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1]
    assert [one["title"] for one in gallery(budget="smoke", methods=("dgmc", METHODS[1])).methods] == titles[1:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"methods": ["dgmc"]},
            r"no finished run of dgmc with seed 0 in .*intersection: make one with 'bbgm train --m",
        ),
        ({"seed": 3}, r"no finished run with seed 3 in .*--budget smoke .*--seed 3'"),
        ({"keypoint_filter": "unfiltered"}, r"with 'bbgm train .*--dataset willow --filter unfiltered"),
        ({"methods": ["bgm"]}, r"'bgm' is not one of .*'bbgm'"),
        ({"dataset": "vok"}, r"not one of \['willow', 'voc'.*given: 'vok'"),
        ({"budget": "huge"}, "'huge' is not one of"),
    ],
)
@pytest.mark.usefixtures("records")
def test_where_there_is_no_run_the_error_says_how_to_make_one(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gallery(**{"budget": "smoke", **options})


def test_runs_that_were_tested_on_different_pairs_are_refused(records: list[RunRecord], tmp_path: Path) -> None:
    few = {"test_pairs_per_class": 2}
    other = run(load_run(METHODS[0], "smoke", 0, optimiser={"epochs": 0}, protocol=few), tmp_path)
    with pytest.raises(ValueError, match="were tested on different pairs") as refused:
        compare_records([records[1], other])
    assert str(records[1].folder) in str(refused.value)
    assert str(tmp_path) in str(refused.value)
    with pytest.raises(ValueError, match="no runs to compare"):
        compare_records([])


def test_methods_of_one_title_are_told_apart(records: list[RunRecord]) -> None:
    config = records[1].config.model_copy(update={"title": records[0].config.title})
    titles = compare_records([records[0], replace(records[1], config=config)]).titles
    assert titles == tuple(f"{config.title} ({name})" for name in METHODS)


def test_a_picture_of_the_worst_pairs_stands_for_it_without_a_kernel(shown: Gallery) -> None:
    data, metadata = shown._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).width > 1000
    worst = int(shown.compared.errors[0].argmax())
    pair, found = shown.compared.pairs[worst], shown.compared.found
    for title, each in zip(shown.compared.titles, found, strict=True):
        right = int(np.sum(each[worst] == pair.truth))
        assert f"{title}, {pair.source.cls}: {right} of {len(pair.truth)}" in metadata["image/png"]["alt"]
    assert data["text/plain"].startswith(f"{len(shown.pairs)} pairs, matched by BB-GM")


def test_the_page_holds_everything_and_loads_nothing(shown: Gallery, tmp_path: Path) -> None:
    text = shown.save(tmp_path / "matchings.html").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "{{" not in text
    assert "export default" not in text
    found = re.search(r"^const values = (.*);$", text, re.MULTILINE)
    assert found
    values = json.loads(found[1])
    assert [base64.b64decode(one) for one in values.pop("pictures")] == shown.pictures
    assert values["pairs"] == shown.pairs
    program = (STATIC / "gallery.js").read_text(encoding="utf-8")
    assert set(re.findall(r'model\.get\("(\w+)"\)', program)) <= {*values, "pictures"}


def test_the_orders_are_those_of_the_program() -> None:
    program = (STATIC / "gallery.js").read_text(encoding="utf-8")
    block = re.search(r"const ORDERS = \{(.*?)\n\};", program, re.DOTALL)
    assert block
    assert tuple(re.findall(r'^  "(.+?)":', block[1], re.MULTILINE)) == matchings.ORDERS
