"""A folder of your own images, in both formats: the same numbers as Willow's reader."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from bbgm.cli import main
from bbgm.config import DataConfig, RunConfig, load_run
from bbgm.data import FRAME, Dataset, open_dataset
from bbgm.data.images.pictures import image_size
from bbgm.data.readers.folder import FILE, parse
from bbgm.data.readers.willow import read_points
from bbgm.runs.train import run
from tests.support.folders import SMALL, Content, coco_of, entry


def described(dataset: Dataset) -> dict[str, list[Any]]:
    """All that is read of the images."""
    parts = {"train": dataset.train, "test": dataset.test}
    return {
        f"{part} {cls}": [(one.image_id, one.names, one.xy.tolist(), one.box, one.size) for one in members]
        for part, images in parts.items()
        for cls, members in images.items()
    }


def test_both_formats_say_the_same(write: Callable[..., DataConfig]) -> None:
    objects = [
        *(entry(k) for k in (5, 3, 4)),
        entry(0, box=[10, 5, 50, 45], keypoints={"nose": [20.5, 10], "ear": [50, 45], "tail": [50.5, 20]}),
        entry(1, **{"class": "dog"}),
        *(entry(1, keypoints={"nose": [1, 1]}), entry(2, keypoints={})),
        *(entry(k, **{"class": "dog"}) for k in (2, 3, 4)),
    ]
    protocol = SMALL.model_copy(update={"min_keypoints": 1})
    dataset = open_dataset(write(objects), protocol)
    assert dataset.classes == ("cat", "dog")
    cats = {image.image_id: image for image in (*dataset.train["cat"], *dataset.test["cat"])}
    assert list(cats) == ["0", "1_2", "3_1", "4_1", "5"]  # by id; of two objects of an image, by their order there
    assert cats["0"].names == ("nose", "ear")  # the tail is outside the box
    np.testing.assert_allclose(cats["0"].xy, np.array([[10.5 / 40, 5 / 40], [1, 1]]) * FRAME)
    np.testing.assert_allclose(cats["5"].xy, np.array([[6 / 80, 2 / 60], [60 / 80, 50 / 60]]) * FRAME)
    with Image.open(cats["0"].path) as whole_image:
        part = whole_image.resize((FRAME, FRAME), Image.Resampling.BICUBIC, box=(10, 5, 50, 45))
    np.testing.assert_array_equal(cats["0"].crop(), np.array(part))
    assert dataset.dropped.record() == {"either": {"without a keypoint": {"cat": 1}}}
    assert described(open_dataset(write(coco_of(objects)), protocol)) == described(dataset)
    whole = open_dataset(write(objects, boxes=False), protocol)
    assert whole.train["cat"][0].box is None
    assert whole.train["cat"][0].names == ("nose", "ear", "tail")
    dogs = open_dataset(write(objects, classes=["dog"]), protocol)
    assert described(dogs) == {key: value for key, value in described(dataset).items() if key.endswith("dog")}


def test_a_split_of_ones_own_is_kept(write: Callable[..., DataConfig]) -> None:
    objects = [entry(k, split="test" if k in (0, 4) else "train") for k in range(6)]
    content = coco_of(objects)
    for image, item in zip(content["images"], objects, strict=True):
        image["split"] = item["split"]
    for one in (objects, content):
        dataset = open_dataset(write(one), SMALL)
        assert dataset.split_record() == {"train": {"cat": ["1", "2", "3", "5"]}, "test": {"cat": ["0", "4"]}}
    with pytest.raises(ValueError, match=r"class cat of folder has no pair in its test part, .* are 1 "):
        open_dataset(write([entry(k, split="train" if k else "test") for k in range(6)]), SMALL)
    with pytest.raises(
        ValueError, match=r"keypoints\.json: 1\.png; 2\.png; .*5\.png have no split but others have one"
    ):
        open_dataset(write([entry(0, split="train"), *(entry(k) for k in range(1, 6))]), SMALL)


def test_the_folder_is_absolute_or_below_the_data_root(
    write: Callable[..., DataConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relative = write()
    absolute = relative.model_copy(update={"root": str(tmp_path / "mine")})
    expected = described(open_dataset(relative, SMALL))
    monkeypatch.setenv("BBGM_DATA", "/nowhere")
    assert described(open_dataset(absolute, SMALL)) == expected
    with pytest.raises(FileNotFoundError, match=r"no file /nowhere/mine/keypoints\.json.*data/README\.md, 'Your"):
        open_dataset(relative, SMALL)
    for data in ({"dataset": "folder"}, {"dataset": "folder", "root": "x"}):
        with pytest.raises(ValueError, match=r"set source: original, and root: to its path"):
            load_run("bbgm", "smoke", 0, data=data)
    with pytest.raises(ValueError, match=r"data: root is an option of folder, not of willow: leave it out"):
        load_run("bbgm", "smoke", 0, data={"root": "mine"})


def test_a_byte_order_mark_is_skipped(write: Callable[..., DataConfig]) -> None:
    read = write("\ufeff" + json.dumps({"images": [entry(k) for k in range(6)]}))
    assert open_dataset(read, SMALL).classes == ("cat",)


SETTINGS: Content = {
    "protocol": {"test_pairs_per_class": 6},
    "optimiser": {"epochs": 1, "iterations_per_epoch": 3, "batch_size": 2},
}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunConfig, list[Content], Path]:
    """Two classes of the demo data: a run's configuration that reads them as Willow, and the same as a folder."""
    config = load_run("bbgm", "smoke", 0, dataset="willow", data={"classes": ["Car", "Duck"]}, **SETTINGS)
    dataset = open_dataset(config.data, config.protocol)
    root = tmp_path_factory.mktemp("mine")
    objects = []
    for image in (image for part in (dataset.train, dataset.test) for one in part.values() for image in one):
        target = root / f"{image.image_id}.png"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(image.path, target)
        points = read_points(image.path.with_suffix(".mat"), 10, image.size).T.tolist()
        keypoints = dict(zip(image.names, points, strict=True))
        objects.append({"file": f"{image.image_id}.png", "class": image.cls, "keypoints": keypoints})
    return config, objects[::-1], root


@pytest.mark.parametrize("coco", [False, True], ids=["json", "coco"])
def test_the_same_numbers_as_willow(
    rendered: tuple[RunConfig, list[Content], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, coco: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """From the command line: train and evaluate on the folder, match two images of it."""
    config, objects, root = rendered
    expected = run(config, tmp_path / "willow", progress=False)
    boxed = [{**item, "box": [0, 0, *image_size(root / item["file"])]} for item in objects]
    (root / FILE).write_text(json.dumps(coco_of(boxed) if coco else {"images": objects}))
    shutil.copytree(Path(__file__).parents[3] / "config", tmp_path / "config")
    (tmp_path / "Snakefile").touch()
    experiment = {"title": "Mine", "data": {"dataset": "folder", "source": "original", "root": str(root)}, **SETTINGS}
    (tmp_path / "config" / "experiments" / "mine.yaml").write_text(yaml.safe_dump(experiment))
    monkeypatch.setenv("BBGM_ROOT", str(tmp_path))
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path / "results"))
    assert main(["train", "--method", "mine", "--budget", "smoke"]) == 0
    folder = tmp_path / "results" / "smoke" / "folder" / "intersection" / "mine" / "seed0"
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["per_class"] == expected.metrics["per_class"]
    for name in ("model.safetensors", "test_pairs.json"):
        assert (folder / name).read_bytes() == (expected.folder / name).read_bytes()
    capsys.readouterr()
    assert main(["match", str(folder), "Duck/demo_0001", "Duck/demo_0030"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 11
    assert lines[-1].endswith(" of 10 right")


def test_the_example_of_the_readme_is_read(project: Path) -> None:
    text = (project / "bbgm" / "data" / "README.md").read_text(encoding="utf-8")
    section = text[text.index("## Your own images") :]
    example, experiment = (re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)[0] for kind in ("json", "yaml"))
    objects = parse(Path(FILE), json.loads(example))
    assert [(item.file, len(item.keypoints), item.box is None) for item in objects] == [
        ("meadow.jpg", 3, True), ("hutch.jpg", 2, False),
    ]  # fmt: skip
    settings = yaml.safe_load(experiment)
    assert load_run("bbgm", "demo", 0, data=settings["data"], protocol=settings["protocol"]).data.root == "rabbits"
