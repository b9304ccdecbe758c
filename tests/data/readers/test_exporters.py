"""keypoints.json as real exporters write it: read as meant, or refused with all that is wrong and the remedy."""

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bbgm.data.images.keypoints import FRAME
from bbgm.data.readers.folder import FILE, find_faults, read_folder
from bbgm.data.usable import describe_folder

SIZE = (80, 60)
Content = dict[str, Any]


def coco(*annotations: Content, **image: Any) -> Content:
    """One image for each annotation, which need only say what is special about it."""
    plain = {"category_id": 1, "keypoints": [10, 20, 2, 60, 50, 1], "bbox": [5, 5, 60, 50]}
    return {
        "categories": [{"id": 1, "name": "cat", "keypoints": ["nose", "tail"]}],
        "images": [{"id": k, "file_name": f"{k}.png", "width": 80, "height": 60, **image} for k in range(6)],
        "annotations": [{"id": 100 + k, "image_id": k, **plain, **one} for k, one in enumerate(annotations)],
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    """Writes keypoints.json beside six images; returns the folder."""
    for k in range(6):
        Image.new("RGB", SIZE, (40 * k, 9, 9)).save(tmp_path / f"{k}.png")

    def write(content: Any) -> Path:
        (tmp_path / FILE).write_text(json.dumps(content))
        return tmp_path

    return write


def positions(root: Path, **options: Any) -> dict[str, list[list[float]]]:
    """Of the keypoints that are read, px of the image file."""
    images, _, _ = read_folder(root, **options)
    found = {}
    for one in images.get("cat", ()):
        left, top, right, bottom = one.box or (0, 0, *one.size)
        found[one.image_id] = (one.xy / FRAME * [right - left, bottom - top] + [left, top]).round(6).tolist()
    return found


def test_objects_without_a_visible_keypoint_are_counted_whatever_else_they_have(write: Callable[[Any], Path]) -> None:
    nothing: Content = {"keypoints": [0, 0, 0, 0, 0, 0]}
    root = write(
        coco({}, {**nothing, "bbox": [10, 10, 0, 0]}, {**nothing, "bbox": [-500, 0, 9, 9]}, {"keypoints": []})
        | {"images": [{"id": k, "file_name": f"{k if k < 2 else 'gone'}.png"} for k in range(6)]}
    )
    images, _, report = read_folder(root)
    assert [one.image_id for one in images["cat"]] == ["0"]
    assert report.record() == {"either": {"without a keypoint": {"cat": 3}}}
    assert find_faults(root) == []


def test_a_box_without_area_around_its_keypoints_is_left_out_and_counted(write: Callable[[Any], Path]) -> None:
    one = {"keypoints": [10, 20, 2, 0, 0, 0], "bbox": [10, 20, 0, 0]}
    line = {"keypoints": [10, 20, 2, 10, 50, 2], "bbox": [10, 20, 0, 30]}
    root = write(coco({}, one, line))
    images, _, report = read_folder(root)
    assert [image.image_id for image in images["cat"]] == ["0"]
    assert report.record() == {"either": {"with a box without area around its keypoints": {"cat": 2}}}
    assert positions(root, boxes=False) == {"0": [[10, 20], [60, 50]], "1": [[10, 20]], "2": [[10, 20], [10, 50]]}
    root = write(coco({"bbox": [30, 30, 0, 20]}))
    with pytest.raises(
        ValueError, match=r"keypoints\.json: 0: box \[30\.0, 30\.0, 30\.0, 50\.0\] .* has no area: correct"
    ):
        read_folder(root)


@pytest.mark.parametrize(
    "nowhere", [[None, None, 0], [float("nan"), float("nan"), 0], [None, None, None], [0, 0, None]]
)
def test_what_stands_where_nothing_is_seen(write: Callable[[Any], Path], nowhere: list[Any]) -> None:
    root = write(coco({"keypoints": [10, 20, 2, *nowhere]}))
    assert positions(root) == {"0": [[10, 20]]}


@pytest.mark.parametrize(
    "change", [{"bbox": None}, {"bbox": []}, {"bbox": [None] * 4}, {"bbox": [float("nan")] * 4}, {"id": None}]
)
def test_null_and_empty_lists_stand_for_none(write: Callable[[Any], Path], change: Content) -> None:
    root = write(coco(change, {"keypoints": None}, {"keypoints": []}, split=None, width=None, height=None))
    images, splits, report = read_folder(root)
    (image,) = images["cat"]
    assert (image.box is None) == ("bbox" in change)
    assert (splits, report.record()) == ({}, {"either": {"without a keypoint": {"cat": 2}}})
    entries = [
        {"file": "0.png", "class": "cat", "keypoints": {"nose": [1, 2]}, "box": [], "size": [], "split": None},
        {"file": "1.png", "class": "cat", "keypoints": None},
        {"file": "2.png", "class": "cat", "keypoints": []},
    ]
    images, splits, report = read_folder(write({"images": entries}))
    assert [one.image_id for one in images["cat"]] == ["0"]
    assert report.record() == {"either": {"without a keypoint": {"cat": 2}}}


def test_without_annotations_nothing_is_listed(write: Callable[[Any], Path]) -> None:
    with pytest.raises(ValueError, match=r"keypoints\.json lists no object"):
        read_folder(write(coco() | {"annotations": None}))


def test_a_visible_keypoint_is_somewhere(write: Callable[[Any], Path]) -> None:
    root = write(coco({"keypoints": [None, 4, 2, 1, float("inf"), 1]}, {"keypoints": [1, 2]}, {"image_id": 77}))
    faults = [
        r"annotation 100 of image 0 has keypoint 'nose' at \[None, 4\.0\] with visibility 2\.0: give its position",
        r"annotation 100 of image 0 has keypoint 'tail' at \[1\.0, inf\]",
        r"annotation 101 of image 1 has 2 numbers in keypoints, category cat needs 3 x 2",
        r"annotation 102 of image 77 \(category 1\): no such image or category",
    ]
    with pytest.raises(ValueError, match=r"keypoints\.json: " + ".*; ".join(faults)):
        read_folder(root)


def test_positions_a_few_px_outside_are_cut_and_counted(write: Callable[[Any], Path]) -> None:
    root = write(
        coco(
            {"keypoints": [-4, 20, 2, 60, 63, 2], "bbox": None},
            {"keypoints": [-4, 20, 2, 60, 50, 2], "bbox": [-3, 5, 85, 50]},
            {"keypoints": [-0.5, 20, 2, 60, 50, 2], "bbox": None},
        )
    )
    assert positions(root) == {"0": [[0, 20], [60, 60]], "1": [[0, 20], [60, 50]], "2": [[-0.5, 20], [60, 50]]}
    _, _, report = read_folder(root)
    kinds = {"keypoints outside of the image": {"cat": 3}, "boxes partly outside of the image": {"cat": 1}}
    assert report.cut_record() == {"either": kinds}
    assert report.record() == {}
    lines, _ = describe_folder(root)
    assert "  cut       to the border: 3 keypoints outside of the image, 1 boxes partly outside of the image" in lines


def test_positions_far_outside_are_told_all_at_once(write: Callable[[Any], Path]) -> None:
    root = write(
        coco(
            {"keypoints": [300, 20, 2, 60, 400, 2]},
            {},
            {"bbox": [5, 5, 300, 50]},
            {"keypoints": [10, -70, 2, 60, 50, 2], "bbox": [0, -90, 20, 500]},
        )
    )
    faults = [
        r"0: keypoints 'nose' at \[300\.0, 20\.0\], 'tail' at \[60\.0, 400\.0\] lie outside the image of 80 x 60 px",
        r"2: box \[5\.0, 5\.0, 305\.0, 55\.0\] .* is not within the image of 80 x 60 px",
        r"3: keypoint 'nose' at \[10\.0, -70\.0\] lies outside .*, box \[0\.0, -90\.0",
    ]
    with pytest.raises(ValueError, match=r"keypoints\.json: " + ".*; ".join(faults)):
        read_folder(root)
    assert len(find_faults(root)) == 3


def test_turned_photographs_are_named_before_their_size(write: Callable[[Any], Path], tmp_path: Path) -> None:
    root = write(coco({}, {}, width=60, height=80))
    exif = Image.Exif()
    exif[0x0112] = 6
    for k in range(2):
        Image.new("RGB", SIZE).save(tmp_path / f"{k}.png", exif=exif)
    shown = (
        r"1\.png has an EXIF tag that asks viewers to rotate or mirror it, and keypoints\.json has the size as shown, "
        r"60 x 80: store it upright \('mogrify -auto-orient 1\.png'\)"
    )
    with pytest.raises(ValueError, match=r"0\.png has an EXIF tag.*; .*" + shown):
        read_folder(root)
    with Image.open(tmp_path / "0.png") as image:  # what the remedy does
        upright = image.transpose(Image.Transpose.ROTATE_270)
    for k in range(2):
        upright.save(tmp_path / f"{k}.png")
    assert list(positions(root)) == ["0", "1"]
    Image.new("RGB", SIZE).save(tmp_path / "0.png", exif=exif)
    with pytest.raises(ValueError, match=r"0\.png has an EXIF tag .* may fit either version: .*, or remove the tag"):
        read_folder(write(coco({}, width=80, height=60)))


@pytest.mark.parametrize(
    ("named", "there"),
    [
        ("photos\\a.png", "photos/a.png"),
        ("C\\photos\\a.png", "photos/a.png"),
        ("a.png", "images/a.png"),
        ("images/a.png", "a.png"),
        ("images/a.png", "train2017/a.png"),
        ("images/A.PNG", "images/a.png"),
        (unicodedata.normalize("NFC", "Bär/Köter.png"), unicodedata.normalize("NFD", "Bär/Köter.png")),
        (unicodedata.normalize("NFD", "Köter.png"), unicodedata.normalize("NFC", "Köter.png")),
    ],
)
def test_names_of_other_systems_are_suggested(
    write: Callable[[Any], Path], tmp_path: Path, named: str, there: str
) -> None:
    (tmp_path / there).parent.mkdir(exist_ok=True)
    Image.new("RGB", SIZE).save(tmp_path / there)
    content = coco({}, {})
    content["images"][0]["file_name"] = named
    content["images"][1]["file_name"] = "nowhere.png"
    root = write(content)
    with pytest.raises(FileNotFoundError) as error:
        read_folder(root)
    if named.startswith("C\\"):
        assert "did you mean" not in str(error.value)  # of another disk
        return
    assert f"did you mean {tmp_path / there}? Correct the name, or rename the file; " in str(error.value)
    assert str(error.value).endswith("nowhere.png is missing: put it back")
    content["images"][0]["file_name"] = there
    content["images"][1]["file_name"] = "1.png"
    assert len(positions(write(content))) == 2


def test_a_web_page_is_named(write: Callable[[Any], Path], tmp_path: Path) -> None:
    root = write(coco({}))
    (tmp_path / "0.png").write_text("<!DOCTYPE html><title>Sign in</title>")
    with pytest.raises(ValueError, match=r"0\.png is a web page \(HTML\) .*: download the file again"):
        read_folder(root)
    (tmp_path / FILE).write_text("\ufeff\n<html>")
    with pytest.raises(ValueError, match=r"keypoints\.json is a web page \(HTML\)"):
        read_folder(root)
    (tmp_path / FILE).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n")
    with pytest.raises(ValueError, match=r"keypoints\.json is a pointer of Git LFS, .*: run 'git lfs pull'"):
        read_folder(root)


def test_missing_splits_and_copies_are_told_together(write: Callable[[Any], Path]) -> None:
    entries = [
        {"file": f"{k}.png", "class": "cat", "keypoints": {"nose": [1, 2]}, **({"split": "train"} if k < 2 else {})}
        for k in (0, 1, 2, 3, 3)
    ]
    with pytest.raises(ValueError, match=r"2\.png; 3\.png have no split .*; the same object of 3\.png is listed twice"):
        read_folder(write({"images": entries}))


def test_numbers_of_the_image_are_those_of_numpy(write: Callable[[Any], Path]) -> None:
    """The cut moves a keypoint along one axis only."""
    root = write(coco({"keypoints": [83.5, 31.25, 2, 0, 0, 0], "bbox": None}))
    (image,) = read_folder(root)[0]["cat"]
    np.testing.assert_allclose(image.xy, [[FRAME, 31.25 / 60 * FRAME]])
