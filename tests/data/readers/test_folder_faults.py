"""A folder of your own images: the message for each error."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bbgm.cli import main
from bbgm.config import DataConfig, load_run
from bbgm.data import open_dataset
from bbgm.runs.train import run
from tests.support.folders import SIZE, SMALL, Content, coco_of, entry


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
