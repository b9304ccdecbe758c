"""A folder of your own images, in both formats: the same numbers as Willow's reader; the message for each error."""

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
from bbgm.config import DataConfig, ProtocolConfig, RunConfig, load_run, make_data
from bbgm.data import FRAME, Dataset, open_dataset
from bbgm.data.images.pictures import image_size
from bbgm.data.readers.folder import FILE, parse
from bbgm.data.readers.willow import read_points
from bbgm.runs.train import run

SIZE = (80, 60)
SMALL = ProtocolConfig(train_per_class=2, test_pairs_per_class=5)
Content = dict[str, Any]


def entry(k: int, **changes: Any) -> Content:
    return {"file": f"{k}.png", "class": "cat", "keypoints": {"nose": [k + 1, 2], "tail": [60, 50]}, **changes}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., DataConfig]:
    """Writes keypoints.json beside six images; returns the configuration that reads it."""
    monkeypatch.setenv("BBGM_DATA", str(tmp_path))
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "mine").mkdir()
    for k in range(6):
        pixels = np.random.default_rng(k).integers(0, 255, (SIZE[1], SIZE[0], 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "mine" / f"{k}.png")

    def write(content: Any = None, **data: Any) -> DataConfig:
        if content is None:
            content = [entry(k) for k in range(6)]
        if isinstance(content, list):
            content = {"images": content}
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "mine" / FILE).write_text(text)
        return make_data("folder", **{"source": "original", "root": "mine", **data})

    return write


def coco_of(objects: list[Content]) -> Content:
    """The same objects as COCO has them; a keypoint that some lack is not visible there."""
    names: dict[str, list[str]] = {}
    for item in objects:
        names.setdefault(item["class"], []).extend(n for n in item["keypoints"] if n not in names[item["class"]])
    files = list(dict.fromkeys(item["file"] for item in objects))
    annotations = []
    for k, item in enumerate(objects):
        points = [[*item["keypoints"][n], 2] if n in item["keypoints"] else [0, 0, 0] for n in names[item["class"]]]
        box = item.get("box")
        annotations.append(
            {
                "id": k,
                "image_id": files.index(item["file"]) + 100,
                "category_id": list(names).index(item["class"]) + 1,
                "keypoints": [value for point in points for value in point],
                "iscrowd": 0,
                **({"bbox": [box[0], box[1], box[2] - box[0], box[3] - box[1]]} if box else {}),
            }
        )
    return {
        "info": {"year": 2026},
        "categories": [{"id": k + 1, "name": cls, "keypoints": names[cls]} for k, cls in enumerate(names)],
        "images": [{"id": k + 100, "file_name": name} for k, name in enumerate(files)],
        "annotations": annotations,
    }


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


def changed(**changes: Any) -> list[Content]:
    return [entry(0, **changes), *(entry(k) for k in range(1, 6))]


def broken_coco(change: Callable[[Content], object]) -> Content:
    content = coco_of([entry(k) for k in range(6)])
    change(content)
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"is not valid JSON"),
        ("\xff", r"keypoints\.json"),
        (
            '{"images": [{"file": "0.png", "class": "cat", "keypoints": {"a": [1, 2], "a": [3, 4]}}]}',
            r"'a' occurs twice",
        ),
        ([], r"lists no object"),
        ({"pictures": []}, r"images: Field required.*pictures: Extra inputs"),
        (changed(keypoints={"nose": [float("nan"), 1]}), r"images\.0\.keypoints\.nose\.0: .*finite number.*nan"),
        (changed(keypoints={"nose": [1]}), r"images\.0\.keypoints\.nose\.1: Field required"),
        (changed(keypoints={"nose": [90, 1]}), r"0: keypoint 'nose' at \[90\.0, 1\.0\] lies outside .* 80 x 60 px"),
        (changed(box=[10, 10, 10, 20]), r"0: box \[10\.0, 10\.0, 10\.0, 20\.0\] .* has no area"),
        (changed(box=[10, 10, 90, 20]), r"0: box .* is not within the image of 80 x 60 px"),
        (changed(box=[10, 10, 20]), r"images\.0\.box\.3: Field required"),
        (changed(split="val"), r"images\.0\.split: Input should be 'train' or 'test' \(given: val\)"),
        (changed(file="5.jpg/../5.png", keypoints={}, colour="red"), r"images\.0\.colour: Extra inputs"),
        (changed(**{"class": "a/b"}), r"images\.0\.class: String should match"),
        ([entry(k) for k in range(3)], r"class cat has 3 images, protocol\.train_per_class is 2"),
        ([entry(k, keypoints={str(k): [1, 1]}) for k in range(6)], r"no pair of class cat with 2 keypoints or more"),
        (broken_coco(lambda c: c["annotations"][1]["keypoints"].pop()), r"annotation 1 .* has 5 numbers .* 3 x 2"),
        (broken_coco(lambda c: c["annotations"][1].update(image_id=7)), r"annotation 1 of image 7 .* no such image"),
        (broken_coco(lambda c: c["annotations"][1].update(category_id=7)), r"annotation 1 .*category 7\): no such"),
        (broken_coco(lambda c: c["categories"][0].update(keypoints=["a", "a"])), r"cat has two keypoints named 'a'"),
        (broken_coco(lambda c: c["annotations"][0].update(bbox=[1, 1, 0, 5])), r"0: box .* has no area"),
        (broken_coco(lambda c: c.update(categories=[])), r"categories: List should have at least 1 item"),
        (broken_coco(lambda c: c["images"][0].update(width=81, height=60)), r"0\.png is 80 x 60 px.* says 81 x 60"),
    ],
)
def test_faults_are_named(write: Callable[..., DataConfig], content: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        open_dataset(write(content), SMALL)


def test_images_that_are_missing_or_broken(write: Callable[..., DataConfig], tmp_path: Path, capsys: Any) -> None:
    data = write()
    status = ["data", "status", "--folder", str(tmp_path / "mine")]
    assert main([*status, "--check"]) == 0
    assert "  status    found\n  objects   cat 6\n" in capsys.readouterr().out
    image = tmp_path / "mine" / "3.png"
    image.write_bytes(image.read_bytes()[:-2000])
    assert main(status) == 0  # its header is whole
    assert main([*status, "--check"]) == 2
    assert "3.png cannot be decoded" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"3\.png cannot be decoded .*truncated"):
        open_dataset(data, SMALL)
    image.unlink()
    assert main(status) == 2
    assert "3.png is missing" in capsys.readouterr().err
    with pytest.raises(FileNotFoundError, match=r"3\.png is missing: put it back"):
        open_dataset(data, SMALL)


def test_the_status_names_every_fault(write: Callable[..., DataConfig], tmp_path: Path, capsys: Any) -> None:
    def faults(content: list[Content]) -> str:
        write(content)
        assert main(["data", "status", "--folder", str(tmp_path / "mine"), "--check"]) == 2
        return capsys.readouterr().err

    every = [entry(k) for k in range(6)]
    text = faults([entry(0, file="gone.png"), entry(1, box=[5, 5, 5, 9]), *every[2:]])
    assert "gone.png is missing" in text
    assert "box [5.0, 5.0, 5.0, 9.0] (left, top, right, bottom) has no area" in text
    assert "class dog has 1 objects, a run needs 4" in faults([entry(0, **{"class": "dog"}), *every[1:]])
    assert "the test part of class cat has 0 objects" in faults([entry(k, split="train") for k in range(6)])
    assert "the test part of class cat has 1 objects" in faults(
        [entry(k, split="train" if k else "test") for k in range(6)]
    )
    assert "class cat has no two images with two common" in faults(
        [entry(k, keypoints={f"n{k}": [1, 1], "nose": [2, 2]}) for k in range(6)]
    )
    assert "no object has a keypoint" in faults([entry(k, keypoints={}) for k in range(6)])


def test_images_that_would_be_read_otherwise_than_meant(write: Callable[..., DataConfig], tmp_path: Path) -> None:
    read = write()
    turned, path = Image.Exif(), tmp_path / "mine/0.png"
    turned[0x0112] = 6
    Image.new("RGB", SIZE).save(path, exif=turned)
    with pytest.raises(ValueError, match=r"0\.png has an EXIF tag that asks viewers to rotate .*auto-orient"):
        open_dataset(read, SMALL)
    Image.fromarray(np.full(SIZE[::-1], 40000, np.uint16)).save(path)
    with pytest.raises(
        ValueError, match=r"0\.png has more than 8 bits per channel \(mode I;16\): convert it to 8 bits, for"
    ):
        open_dataset(read, SMALL)
    Image.new("1", (14_000, 14_000)).save(path)
    with pytest.raises(ValueError, match=r"0\.png is too large .*: scale it down, and its keypoints with it$"):
        open_dataset(read, SMALL)


def test_two_images_without_a_common_keypoint_cannot_be_matched(
    write: Callable[..., DataConfig], tmp_path: Path, capsys: Any
) -> None:
    data = write([*(entry(k) for k in range(5)), entry(5, keypoints={"ear": [1, 2], "paw": [30, 40]})])
    config = load_run("bbgm_untrained", "smoke", 0, data=data.model_dump(), protocol=SMALL.model_dump())
    run(config, tmp_path / "run")
    assert main(["match", str(tmp_path / "run"), "0", "1"]) == 0
    assert main(["match", str(tmp_path / "run"), "0", "5"]) == 2
    assert "0 and 5 have no keypoints to match under the filter 'intersection'" in capsys.readouterr().err


def test_a_byte_order_mark_is_skipped(write: Callable[..., DataConfig]) -> None:
    read = write("\ufeff" + json.dumps({"images": [entry(k) for k in range(6)]}))
    assert open_dataset(read, SMALL).classes == ("cat",)


def test_equal_ids_and_unknown_classes_are_named(write: Callable[..., DataConfig], tmp_path: Path) -> None:
    shutil.copyfile(tmp_path / "mine" / "0.png", tmp_path / "mine" / "0.jpg")
    with pytest.raises(ValueError, match=r"two objects get the id '0'"):
        open_dataset(write([entry(0), entry(0, file="0.jpg"), *(entry(k) for k in (1, 2, 4))]), SMALL)
    with pytest.raises(ValueError, match=r"class 'dog' is not one of \['cat'\], which have keypoints"):
        open_dataset(write(classes=["dog"]), SMALL)


def test_an_object_that_is_listed_twice_is_named(write: Callable[..., DataConfig]) -> None:
    objects = [entry(k) for k in range(6)]
    with pytest.raises(ValueError, match=r"keypoints\.json: the same object of 2\.png is listed twice"):
        open_dataset(write([*objects, entry(2)]), SMALL)
    parts = [entry(k, split="train" if k % 2 else "test") for k in range(6)]
    with pytest.raises(ValueError, match=r"the same object of 2\.png is listed twice"):
        open_dataset(write([*parts, entry(2, split="train")]), SMALL)
    # Other objects of the image, and objects that are left out anyway.
    others = [entry(2, keypoints={"nose": [9, 9], "tail": [60, 50]}), *[entry(2, keypoints={}) for _ in range(2)]]
    dataset = open_dataset(write([*objects, *others]), SMALL)
    assert len(dataset.train["cat"]) + len(dataset.test["cat"]) == 7


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
