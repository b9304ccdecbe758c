"""Every fault of Pascal VOC's files is named, when they are read and by the status of the data."""

import re
import shutil
from typing import Any

import pytest

from bbgm.config import ProtocolConfig, make_data
from bbgm.data import open_dataset
from bbgm.data.fetch.sources import find
from bbgm.data.readers.voc import DEVKITS
from bbgm.data.status import data_status

VOC = make_data(dataset="voc", source="original")
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
        ("<annotation>", r"is not an XML file \(no element found.*copy it again"),
        ("", r"is not an XML file"),
    ],
)
def test_broken_annotations_are_named(tree: Any, text: str, message: str) -> None:
    (tree.root / "annotations" / "cat" / "2008_000001_1.xml").write_text(text)
    with pytest.raises(ValueError, match=r"2008_000001_1\.xml:? " + message):
        open_dataset(VOC, ProtocolConfig())


def test_broken_images_are_named_before_training(tree: Any) -> None:
    path = tree.kit / "JPEGImages" / "2008_000004.jpg"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"2008_000004\.jpg cannot be decoded .*truncated"):
        open_dataset(VOC, ProtocolConfig())
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"2008_000004\.jpg cannot be read"):
        open_dataset(VOC, ProtocolConfig())


@pytest.mark.parametrize(
    "lost",
    ["VOC2011/JPEGImages/2008_000002.jpg", "VOC2011/Annotations/2008_000002.xml", "annotations/cat/2008_000002_1.xml"],
)
def test_missing_files_are_named(tree: Any, lost: str) -> None:
    (tree.root / lost).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{lost} is missing \(1 of 15 files .*https://"):
        open_dataset(VOC, ProtocolConfig())


@pytest.mark.parametrize("lost", ["VOC2011", "VOC2011/Annotations", "annotations", "voc2011_pairs.json", "."])
def test_missing_folders_say_how_to_get_them(tree: Any, lost: str) -> None:
    if (tree.root / lost).is_dir():
        shutil.rmtree(tree.root / lost)
    else:
        (tree.root / lost).unlink()
    with pytest.raises(
        FileNotFoundError, match=r"no (folders?|split file) .*'bbgm data download .*voc-split'.*https?://"
    ):
        open_dataset(VOC, ProtocolConfig())


def test_without_the_data_set_all_of_its_parts_are_named(tree: Any) -> None:
    shutil.rmtree(tree.root)
    with pytest.raises(
        FileNotFoundError, match=r"'bbgm data download voc voc-keypoints voc-split'.*\.tar.*\.tgz.*\.npz"
    ):
        open_dataset(VOC, ProtocolConfig())


def test_object_that_voc_does_not_have(tree: Any) -> None:
    tree.object("train", "cat", "2008_000001_2")
    with pytest.raises(ValueError, match=r"2008_000001\.xml has 1 objects, the split names its object 2"):
        open_dataset(VOC, ProtocolConfig())


def test_class_with_too_few_usable_images(tree: Any) -> None:
    tree.image("2008_000003", [{"name": "cat", "occluded": 1}])
    with pytest.raises(
        ValueError, match=r"class cat of voc has no pair in its test part, .* are 1 \(left out: 1 occluded\)"
    ):
        open_dataset(VOC, ProtocolConfig())
    assert "  no pair   in the test part of cat: runs must leave them out with data.classes\n" in data_status().text
    for k in (3, 4):
        tree.image(f"2008_00000{k}", [{}])
        (tree.root / "annotations" / "cat" / f"2008_00000{k}_1.xml").write_text(
            XML.format(BOX, MARK.format(f"own{k}", 20, 20))
        )
    with pytest.raises(ValueError, match=r"no pair of class cat with 2 keypoints or more after the filter"):
        open_dataset(VOC, ProtocolConfig())


def test_status_counts_what_is_used_and_what_is_not(tree: Any) -> None:
    tree.image("2008_000003", [{"occluded": 1}])
    report = data_status().text
    assert "  train     3 objects in 1 classes; left out: none\n" in report
    assert report.count("  test      1 objects in 1 classes; left out: 1 occluded\n") == 1
    (tree.root / "annotations" / "cat" / "2008_000001_1.xml").unlink()
    assert [problem for problem in data_status().problems if "2008_000001_1.xml" in problem]  # the split names it
    shutil.rmtree(tree.root)
    assert "  not read  " not in data_status().text


def test_status_finds_what_would_end_a_run(tree: Any) -> None:
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
def test_status_looks_where_the_reader_looks(tree: Any, place: str) -> None:
    (tree.root / place).parent.mkdir(parents=True, exist_ok=True)
    tree.kit.rename(tree.root / place)
    assert find("voc").locate(find("voc").folder()) == tree.root / place
    assert "  train     3 objects in 1 classes; left out: none\n" in data_status(["voc"]).text
