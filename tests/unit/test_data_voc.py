"""Pascal VOC with keypoints: the real split and annotations, a tree in the original formats, every fault."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bbgm.config import DataConfig, ProtocolConfig, load_run
from bbgm.data import FRAME, open_dataset, sample_training_batch
from bbgm.data import test_sets as fixed_sets
from bbgm.data.keypoints import SUBSETS
from bbgm.data.registry import find
from bbgm.data.status import data_status
from bbgm.data.voc import DEVKITS, FOLDER, read_keypoints, read_voc
from bbgm.data.voc_split import CLASSES, FILE, Split, read_split
from bbgm.train import run

SIZE = (60, 50)
BOUNDS = {"xmin": 10, "ymin": 5, "width": 40, "height": 20}
# Two within the bounds, one on their border, one outside.
POINTS = {"L_Eye": (20.0, 15.0), "R_Eye": (40.0, 10.0), "Nose": (50.0, 25.0), "Tail": (50.1, 20.0)}
COUNTS = {  # objects of the real split, before any is left out
    **{"aeroplane": (703, 208), "bicycle": (597, 156), "bird": (935, 184), "boat": (705, 145), "bottle": (1084, 245)},
    **{"bus": (535, 103), "car": (1637, 467), "cat": (1015, 251), "chair": (1486, 404), "cow": (524, 118)},
    **{"diningtable": (354, 114), "dog": (1247, 324), "horse": (593, 167), "motorbike": (606, 157)},
    **{"person": (3326, 842), "pottedplant": (840, 215), "sheep": (706, 172), "sofa": (465, 101)},
    **{"train": (510, 118), "tvmonitor": (685, 154)},
}


class Tree:
    """A data set in the original formats; every image is of SIZE and has one object a class name."""

    def __init__(self, root: Path) -> None:
        self.root, self.kit = root, root / "VOC2011"
        for folder in ("VOC2011/JPEGImages", "VOC2011/Annotations", "annotations"):
            (root / folder).mkdir(parents=True)
        self.split: dict[str, dict[str, list[str]]] = {"train": {}, "test": {}}

    def image(self, name: str, objects: list[dict[str, Any]], size: tuple[int, int] = SIZE) -> None:
        pixels = np.random.default_rng(int(name[-3:])).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
        Image.fromarray(pixels).save(self.kit / "JPEGImages" / f"{name}.jpg")
        tags = ["".join(f"<{key}>{value}</{key}>" for key, value in item.items()) for item in objects]
        text = f"<annotation>{''.join(f'<object>{tag}</object>' for tag in tags)}</annotation>"
        (self.kit / "Annotations" / f"{name}.xml").write_text(text)

    def object(
        self, part: str, cls: str, name: str, points: Any = POINTS, bounds: Any = BOUNDS, text: str | None = None
    ) -> Path:
        path = self.root / "annotations" / cls / f"{name}.xml"
        path.parent.mkdir(exist_ok=True)
        if text is None:
            items = points.items() if isinstance(points, dict) else points
            marks = "".join(f'<keypoint name="{key}" visible="0" x="{x}" y="{y}" z="0"/>' for key, (x, y) in items)
            box = " ".join(f'{key}="{value}"' for key, value in bounds.items())
            text = f"<annotation><visible_bounds {box}/><keypoints>{marks}</keypoints></annotation>"
        path.write_text(text)
        self.split[part].setdefault(cls, []).append(name)
        self.split["test" if part == "train" else "train"].setdefault(cls, [])
        self.write_split()
        return path

    def write_split(self) -> None:
        (self.root / "voc2011_pairs.json").write_text(json.dumps(self.split))

    def read_split(self) -> Split:
        return read_split(self.root, self.root)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Three cats to train, two to test."""
    monkeypatch.setenv("BBGM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path / "cache"))
    tree = Tree(tmp_path / "data" / FOLDER)
    for k in range(5):
        tree.image(f"2008_00000{k}", [{"name": "cat", "difficult": 0, "truncated": 0, "occluded": 0}])
        tree.object("train" if k < 3 else "test", "cat", f"2008_00000{k}_1")
    return tree


def voc(**options: Any) -> DataConfig:
    return DataConfig(dataset="voc", source="original", **options)


@pytest.fixture(scope="module")
def real_folder() -> Path:
    """The folder of real samples; skips where they are absent."""
    folder = Path(os.environ.get("BBGM_DATA", "")) / "voc2011_keypoints_sample"
    if not folder.is_dir():
        pytest.skip("real keypoint annotations of VOC: no voc2011_keypoints_sample in BBGM_DATA")
    return folder.parent


def test_real_split(real_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = read_split(real_folder / "voc2011_split", tmp_path)
    assert {cls: (len(split["train"][cls]), len(split["test"][cls])) for cls in CLASSES} == COUNTS
    for part, objects, images in zip(SUBSETS, (18553, 4645), (9227, 2275), strict=True):
        names = [name for members in split[part].values() for name in members]
        assert len(names) == objects
        assert len({name[:11] for name in names}) == images
    train, test = ({name[:11] for names in split[part].values() for name in names} for part in SUBSETS)
    assert not train & test
    assert all(int(name[:4]) <= 2008 for part in split.values() for name in part["person"])
    of_2007 = {cls: sum(name.startswith("2007") for name in split["train"][cls]) for cls in ("car", "motorbike")}
    assert of_2007 == {"car": 63, "motorbike": 40}

    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("unpickled again"))
    assert read_split(real_folder / "voc2011_split", tmp_path) == split


def test_another_split_file_is_not_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / FILE, train=np.array([[]], dtype=object), test=np.array([[]], dtype=object))
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("unpickled"))
    with pytest.raises(
        ValueError, match=r"voc2011_pairs\.npz has the SHA-256 [0-9a-f]{64}, must have ef2f.*not opened"
    ):
        read_split(tmp_path, tmp_path)
    (tmp_path / FILE).unlink()
    with pytest.raises(FileNotFoundError, match=r"no split file .*707,237 bytes.*https://"):
        read_split(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is no split"),
        ("[]", "is no split"),
        ('{"train": {}}', "is no split .*'test'"),
        ('{"train": {"cat": [3]}, "test": {}}', "is no split"),
        ('{"train": {"cat": ["2008_1_1"]}, "test": {}}', "object '2008_1_1': names look like"),
        ('{"train": {"cow2": []}, "test": {}}', "class 'cow2', which is not one of .*'cow'"),
        ('{"train": {"cat": ["2008_000001_1"]}, "test": {"cat": ["2008_000001_1"]}}', "cat/2008_000001_1 twice"),
    ],
)
def test_split_of_ones_own_that_is_none(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "voc2011_pairs.json").write_text(content)
    with pytest.raises(ValueError, match=r"voc2011_pairs\.json .*" + message):
        read_split(tmp_path, tmp_path)


def test_real_annotation(real_folder: Path) -> None:
    """Read off the file by eye: 14 keypoints, 271 x 105 px at (104, 78)."""
    path = real_folder / "voc2011_keypoints_sample" / "annotations" / "aeroplane" / "2007_000032_1.xml"
    box, names, xy = read_keypoints(path)
    assert box == (104, 78, 375, 183)
    assert (len(names), names[0], names[-1]) == (14, "Top_Rudder", "Bot_Rudder_Front")
    np.testing.assert_array_equal(xy[[0, 5, 13]], [[245.14, 81.07], [107.97, 128.62], [244.26, 105.22]])


def test_real_annotations_in_crop_coordinates(real_folder: Path, tmp_path: Path) -> None:
    """The genuine keypoint files, beside stand-ins for the photographs and for VOC's own annotations."""
    tree = Tree(tmp_path)
    annotations = real_folder / "voc2011_keypoints_sample" / "annotations" / "aeroplane"
    for name, size in (("2007_000032", (500, 281)), ("2007_000033", (500, 366)), ("2008_000585", (500, 375))):
        tree.image(name, [{"name": "aeroplane"}], size)
        tree.object("train", "aeroplane", f"{name}_1", text=(annotations / f"{name}_1.xml").read_text())
    images = read_voc(tmp_path, tree.read_split()).train["aeroplane"]
    assert [len(image.names) for image in images] == [14, 12, 12]
    first, _, last = images
    assert first.image_id == "aeroplane/2007_000032_1"
    assert first.box == (104, 78, 375, 183)
    at = dict(zip(first.names, first.xy.tolist(), strict=True))
    assert at["Top_Rudder"] == pytest.approx([141.14 * 256 / 271, 3.07 * 256 / 105])
    assert at["NoseTip"] == pytest.approx([103.628, 193.292], abs=1e-3)
    at = dict(zip(last.names, last.xy.tolist(), strict=True))
    assert at["Left_Engine_Front"] == pytest.approx([497.6 * 256 / 498, 276.61 * 256 / 370])


def test_crop_and_keypoints(tree: Tree) -> None:
    dataset = open_dataset(voc(), ProtocolConfig())
    assert (dataset.name, dataset.classes) == ("voc", ("cat",))
    assert [len(dataset.images("cat", part)) for part in SUBSETS] == [3, 2]
    image = dataset.train["cat"][0]
    assert (image.image_id, image.size, image.box) == ("cat/2008_000000_1", SIZE, (10, 5, 50, 25))
    assert image.names == ("L_Eye", "R_Eye", "Nose")  # the tail is outside, the nose on the border
    np.testing.assert_allclose(image.xy, [[64, 128], [192, 64], [256, 256]])
    with Image.open(image.path) as picture:
        expected = picture.resize((FRAME, FRAME), Image.Resampling.BICUBIC, box=(10, 5, 50, 25))
    np.testing.assert_array_equal(image.crop(), np.asarray(expected))
    pairs = sample_training_batch(dataset, ProtocolConfig(), 0, 0, 0, 8)
    assert all(len(pair.kept1) == 3 and (pair.truth >= 0).all() for pair in pairs)

    image = open_dataset(voc(keep_outside=True), ProtocolConfig()).train["cat"][0]
    assert image.names == ("L_Eye", "R_Eye", "Nose", "Tail")
    np.testing.assert_allclose(image.xy[3], [256.64, 192])


def test_what_the_protocol_leaves_out_is_counted(tree: Tree) -> None:
    flags = [{"difficult": 1, "truncated": 1}, {"occluded": 1}, {"truncated": 1}, {"truncated": 0}, {}]
    tree.image("2009_000010", [{"name": "cat", **item} for item in flags])
    for k in range(1, 6):
        tree.object("train", "cat", f"2009_000010_{k}")
    tree.object("test", "cat", "2009_000010_6", points={"Tail": (5, 5)})
    tree.image("2009_000010", [{"name": "cat", **item} for item in [*flags, {}]])
    for name in ("2008_000011", "2008_000012", "2009_000011"):
        tree.image(name, [{}, {}])
        for k in (1, 2):
            tree.object("train" if k == 1 else "test", "person", f"{name}_{k}")
    dataset = open_dataset(voc(), ProtocolConfig())
    assert [image.image_id[-13:] for image in dataset.train["cat"][3:]] == ["2009_000010_4", "2009_000010_5"]
    assert len(dataset.train["person"]) == len(dataset.test["person"]) == 2
    assert dataset.dropped.record() == {
        "train": {
            **{"difficult": {"cat": 1}, "occluded": {"cat": 1}, "truncated": {"cat": 1}},
            "person after 2008": {"person": 1},
        },
        "test": {"without a keypoint in the box": {"cat": 1}, "person after 2008": {"person": 1}},
    }
    assert dataset.dropped.summary("train") == "1 difficult, 1 occluded, 1 truncated, 1 person after 2008"
    assert dataset.dropped.summary("test", "person") == "1 person after 2008"
    assert dataset.dropped.summary("train", "dog") == "none"


def test_classes_of_willow_can_be_left_out(tree: Tree) -> None:
    for cls, number in (("car", 20), ("motorbike", 30)):
        for k, year in enumerate((2007, 2007, 2008, 2009, 2010, 2007)):
            tree.image(f"{year}_0000{number + k}", [{}])
            tree.object("train" if k < 4 else "test", cls, f"{year}_0000{number + k}_1")

    def counts(**options: Any) -> dict[str, tuple[int, int]]:
        dataset = open_dataset(voc(**options), ProtocolConfig())
        return {cls: (len(dataset.train[cls]), len(dataset.test[cls])) for cls in dataset.classes}

    assert counts() == {"car": (4, 2), "cat": (3, 2), "motorbike": (4, 2)}
    assert counts(exclude_willow="images_of_2007") == {"car": (2, 2), "cat": (3, 2), "motorbike": (2, 2)}
    assert counts(exclude_willow="classes") == {"cat": (3, 2)}
    assert counts(classes=["motorbike", "cat"]) == {"motorbike": (4, 2), "cat": (3, 2)}
    dropped = open_dataset(voc(exclude_willow="images_of_2007"), ProtocolConfig()).dropped
    assert dropped.record() == {"train": {"of 2007, as in Willow": {"car": 2, "motorbike": 2}}}
    with pytest.raises(ValueError, match=r"'Cat' is not one of \['car', 'cat', 'motorbike'\]"):
        counts(classes=["Cat"])


@pytest.mark.parametrize("place", ["VOCdevkit/VOC2011", "TrainVal/VOCdevkit/VOC2011", "VOC2012"])
def test_as_the_archives_unpack(tree: Tree, place: str) -> None:
    (tree.root / place).parent.mkdir(parents=True, exist_ok=True)
    tree.kit.rename(tree.root / place)
    assert len(open_dataset(voc(), ProtocolConfig()).train["cat"]) == 3


MARK = '<keypoint name="{}" x="{}" y="{}"/>'
XML = "<annotation>{}<keypoints>{}</keypoints></annotation>"
BOX = '<visible_bounds height="20" width="40" xmin="10" ymin="5"/>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (XML.format("", MARK.format("a", 20, 20)), r"has no visible_bounds"),
        (XML.format(BOX.replace("40", "0"), ""), r"visible_bounds are 0\.0 x 20\.0 px, which has no area"),
        (XML.format(BOX.replace("20", "-1"), ""), r"visible_bounds are 40\.0 x -1\.0 px"),
        (XML.format(BOX.replace("20", "inf"), ""), r"height of visible_bounds is 'inf', must be a finite number"),
        (XML.format(BOX.replace('width="40"', ""), ""), r"width of visible_bounds is None"),
        (XML.format(BOX, MARK.format("a", "nan", 20)), r"x of keypoint a is 'nan', must be a finite number"),
        (XML.format(BOX, MARK.format("a", 1, "")), r"y of keypoint a is '', must be a finite number"),
        (XML.format(BOX, 2 * MARK.format("a", 20, 20)), r"has 2 keypoints named 'a'"),
        (XML.format(BOX, '<keypoint x="1" y="1"/>'), r"has 1 keypoints named ''"),
        (XML.format(BOX.replace('"40"', '"51"'), ""), r"visible_bounds \(10\.0.*not within .*\.jpg of 60 x 50"),
        (XML.format(BOX.replace('"5"', '"-1"'), ""), r".* is not within 2008_000001\.jpg"),
        ("<annotation>", r"is no XML file \(no element found.*copy it again"),
        ("", r"is no XML file"),
    ],
)
def test_broken_annotations_are_named(tree: Tree, text: str, message: str) -> None:
    (tree.root / "annotations" / "cat" / "2008_000001_1.xml").write_text(text)
    with pytest.raises(ValueError, match=r"2008_000001_1\.xml:? " + message):
        open_dataset(voc(), ProtocolConfig())


def test_broken_images_are_named_before_training(tree: Tree) -> None:
    path = tree.kit / "JPEGImages" / "2008_000004.jpg"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"2008_000004\.jpg cannot be decoded .*truncated"):
        open_dataset(voc(), ProtocolConfig())
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"2008_000004\.jpg cannot be read"):
        open_dataset(voc(), ProtocolConfig())


@pytest.mark.parametrize(
    "lost",
    ["VOC2011/JPEGImages/2008_000002.jpg", "VOC2011/Annotations/2008_000002.xml", "annotations/cat/2008_000002_1.xml"],
)
def test_missing_files_are_named(tree: Tree, lost: str) -> None:
    (tree.root / lost).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{lost} is missing \(1 of 15 files .*https://"):
        open_dataset(voc(), ProtocolConfig())


@pytest.mark.parametrize("lost", ["VOC2011", "VOC2011/Annotations", "annotations", "voc2011_pairs.json", "."])
def test_missing_folders_say_how_to_get_them(tree: Tree, lost: str) -> None:
    if (tree.root / lost).is_dir():
        shutil.rmtree(tree.root / lost)
    else:
        (tree.root / lost).unlink()
    with pytest.raises(
        FileNotFoundError, match=r"no (folders?|split file) .*'bbgm data download .*voc-split'.*https?://"
    ):
        open_dataset(voc(), ProtocolConfig())


def test_without_the_data_set_all_of_its_parts_are_named(tree: Tree) -> None:
    shutil.rmtree(tree.root)
    with pytest.raises(
        FileNotFoundError, match=r"'bbgm data download voc voc-keypoints voc-split'.*\.tar.*\.tgz.*\.npz"
    ):
        open_dataset(voc(), ProtocolConfig())


def test_object_that_voc_does_not_have(tree: Tree) -> None:
    tree.object("train", "cat", "2008_000001_2")
    with pytest.raises(ValueError, match=r"2008_000001\.xml has 1 objects, the split names the object 2"):
        open_dataset(voc(), ProtocolConfig())


def test_class_with_too_few_usable_images(tree: Tree) -> None:
    tree.image("2008_000003", [{"name": "cat", "occluded": 1}])
    with pytest.raises(
        ValueError, match=r"class cat of voc has no pair in its test part, .* are 1 \(left out: 1 occluded\)"
    ):
        open_dataset(voc(), ProtocolConfig())
    assert "  no pair   in the test part of cat: runs must leave it out by data.classes\n" in data_status().text
    for k in (3, 4):
        tree.image(f"2008_00000{k}", [{}])
        (tree.root / "annotations" / "cat" / f"2008_00000{k}_1.xml").write_text(
            XML.format(BOX, MARK.format(f"own{k}", 20, 20))
        )
    with pytest.raises(ValueError, match=r"no pair of class cat with 2 keypoints or more after the filter"):
        open_dataset(voc(), ProtocolConfig())


def test_status_counts_what_is_used_and_what_is_not(tree: Tree) -> None:
    tree.image("2008_000003", [{"occluded": 1}])
    report = data_status().text
    assert "  train     3 objects in 1 classes; left out: none\n" in report
    assert report.count("  test      1 objects in 1 classes; left out: 1 occluded\n") == 1
    (tree.root / "annotations" / "cat" / "2008_000001_1.xml").unlink()
    assert [problem for problem in data_status().problems if "2008_000001_1.xml" in problem]  # the split names it
    shutil.rmtree(tree.root)
    assert "  not read  " not in data_status().text


def test_status_finds_what_would_end_a_run(tree: Tree) -> None:
    """Every truncated image, named; an annotation that cannot be read."""
    assert not any("cannot be" in problem for problem in data_status(check=True).problems)
    for k in (1, 3):
        file = tree.kit / "JPEGImages" / f"2008_00000{k}.jpg"
        file.write_bytes(file.read_bytes()[:-400])
    assert not any("cannot be" in problem for problem in data_status().problems)  # headers only
    (problem,) = (problem for problem in data_status(check=True).problems if "VOC2011" in problem)
    assert re.findall(r"(\d{4}_\d{6})\.jpg cannot be decoded", problem) == ["2008_000001", "2008_000003"]
    tree.object("train", "cat", "2008_000002_2", {"Nose": ("nan", 1)})
    tree.image("2008_000002", [{"name": "cat"}] * 2)
    assert "2008_000002_2.xml: x of keypoint Nose is 'nan'" in " ".join(data_status().problems)


@pytest.mark.parametrize("place", DEVKITS)
def test_status_looks_where_the_reader_looks(tree: Tree, place: str) -> None:
    (tree.root / place).parent.mkdir(parents=True, exist_ok=True)
    tree.kit.rename(tree.root / place)
    assert find("voc").locate(find("voc").folder()) == tree.root / place
    assert "  train     3 objects in 1 classes; left out: none\n" in data_status(["voc"]).text


def test_sets_and_keypoints_without_a_partner(tree: Tree) -> None:
    protocol = ProtocolConfig(filter="unfiltered", test_sets_per_class=3, set_size=2)
    sets = fixed_sets(open_dataset(voc(), protocol), protocol, "cat")
    assert [len({image.image_id for image in one.images}) for one in sets] == [2, 2, 2]
    with pytest.raises(ValueError, match=r"class cat has \d test images, protocol\.set_size is 9: lower it"):
        open_dataset(voc(), protocol.model_copy(update={"set_size": 9}))


def test_pairs_to_draw_must_be_given(tree: Tree) -> None:
    with pytest.raises(ValueError, match=r"test_pairs_per_class is 0, .* voc lists none"):
        open_dataset(voc(), ProtocolConfig(test_pairs_per_class=0))


def test_a_run(tree: Tree, tmp_path: Path) -> None:
    """Training and evaluation from the files to the scores; what was left out is recorded."""
    tree.image("2008_000002", [{"truncated": 1}])
    config = load_run(
        "bbgm", "smoke", 0, data={"dataset": "voc", "source": "original"},
        optimiser={"epochs": 1, "iterations_per_epoch": 2, "batch_size": 2},
    )  # fmt: skip
    record = run(config, tmp_path / "run", progress=False)
    assert (record.metrics["dataset"], record.metrics["n_pairs"]) == ("voc", 20)
    split = json.loads((tmp_path / "run" / "split.json").read_text())
    assert split["train"] == {"cat": ["cat/2008_000000_1", "cat/2008_000001_1"]}
    assert split["dropped"] == {"train": {"truncated": {"cat": 1}}}
