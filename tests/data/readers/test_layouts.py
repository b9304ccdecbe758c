"""Data sets as people unpack them: next door, on a Mac, in another release."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from bbgm.data.fetch.integrity import sizes_in
from bbgm.data.readers.spair import read_pair, read_spair
from bbgm.data.readers.voc import read_voc
from bbgm.data.readers.voc_split import Split
from bbgm.data.readers.voc_xml import read_keypoints
from bbgm.data.readers.willow import KEYPOINT_NAMES, read_points, read_willow

APPLE = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        "
NAME = "2008_000001_1"
SPLIT: Split = {"train": {"cat": (NAME,)}, "test": {"cat": ()}}


def litter(root: Path) -> None:
    """A companion of each file, and one of each folder."""
    for path in [*root.rglob("*")]:
        (path.parent / f"._{path.name}").write_bytes(APPLE)
        if path.is_dir():
            (path / ".DS_Store").write_bytes(b"\x00\x00\x00\x01Bud1")


def willow(root: Path, names: tuple[str, ...] = tuple(KEYPOINT_NAMES)) -> None:
    for cls in names:
        (root / cls).mkdir(parents=True)
        Image.new("RGB", (40, 30)).save(root / cls / "a.png")
        savemat(root / cls / "a.mat", {"pts_coord": np.arange(20.0).reshape(2, 10)})


def voc(root: Path, kit: str = "VOC2011", cls: str = "cat", release: str = "VOC2011") -> None:
    for folder in (f"{kit}/JPEGImages", f"{kit}/Annotations", "annotations/cat"):
        (root / folder).mkdir(parents=True)
    Image.new("RGB", (60, 50)).save(root / kit / "JPEGImages" / "2008_000001.jpg")
    text = f"<annotation><folder>{release}</folder><object><name>{cls}</name></object></annotation>"
    (root / kit / "Annotations" / "2008_000001.xml").write_text(text)
    box = '<visible_bounds xmin="0" ymin="0" width="50" height="40"/>'
    text = f'<annotation>{box}<keypoints><keypoint name="Nose" x="9" y="8"/></keypoints></annotation>'
    (root / "annotations" / "cat" / f"{NAME}.xml").write_text(text)


def spair(root: Path) -> Path:
    for folder in ("Layout/large", "PairAnnotation/trn", "PairAnnotation/test", "JPEGImages/cat"):
        (root / folder).mkdir(parents=True)
    content = {
        **{"kps_ids": ["0", "1"], "category": "cat", "src_kps": [[1, 2], [3, 4]], "trg_kps": [[1, 2], [3, 4]]},
        **{"src_imsize": [40, 30, 3], "trg_imsize": [40, 30, 3], "src_imname": "a.jpg", "trg_imname": "b.jpg"},
        **{"viewpoint_variation": 0, "scale_variation": 0, "truncation": 0, "occlusion": 0, "mirror": 0},
    }
    for part in ("trn", "test"):
        (root / "Layout/large" / f"{part}.txt").write_text("000001-a-b:cat\n")
        (root / "PairAnnotation" / part / "000001-a-b:cat.json").write_text(json.dumps(content))
    for name in "ab":
        Image.new("RGB", (40, 30)).save(root / "JPEGImages/cat" / f"{name}.jpg")
    return root / "PairAnnotation/trn/000001-a-b:cat.json"


def described(part: Any) -> list[Any]:
    return [(one.image_id, one.names, one.xy.tolist()) for images in part.values() for one in images]


def test_companions_of_a_mac_are_not_read(tmp_path: Path) -> None:
    willow(tmp_path / "w")
    voc(tmp_path / "v")
    spair(tmp_path / "s")

    def read() -> list[Any]:
        images = described(read_willow(tmp_path / "w")[0])
        return [images, described(read_voc(tmp_path / "v", SPLIT).train), described(read_spair(tmp_path / "s").train)]

    before, sizes = read(), sizes_in(tmp_path)
    litter(tmp_path)
    assert read() == before
    assert sizes_in(tmp_path) == sizes
    assert len(before[0]) == 5


def test_folders_next_door_are_found(tmp_path: Path) -> None:
    willow(tmp_path / "downloads" / "WILLOW-ObjectClass" / "WILLOW-ObjectClass")
    with pytest.raises(
        FileNotFoundError, match=r"no folder .*but .*/downloads/WILLOW-ObjectClass/WILLOW-ObjectClass is s"
    ):
        read_willow(tmp_path / "WILLOW-ObjectClass")
    spair(tmp_path / "unpacked" / "SPair-71k")
    with pytest.raises(
        FileNotFoundError, match=r"no folder .*but .*/unpacked/SPair-71k is such a folder: move it to .*/SP"
    ):
        read_spair(tmp_path / "SPair-71k")
    voc(tmp_path / "PascalVOC")
    (tmp_path / "PascalVOC" / "annotations").rename(tmp_path / "annotations")
    with pytest.raises(
        FileNotFoundError, match=rf"with the keypoints, but {tmp_path}/annotations is such a folder: move it"
    ):
        read_voc(tmp_path / "PascalVOC", SPLIT)
    shutil.move(tmp_path / "annotations", tmp_path / "PascalVOC" / "annotations")
    (tmp_path / "PascalVOC" / "VOC2011").rename(tmp_path / "VOC2011")
    with pytest.raises(
        FileNotFoundError, match=rf"JPEGImages/ and .*, but {tmp_path}/VOC2011 is such a folder: move it to"
    ):
        read_voc(tmp_path / "PascalVOC", SPLIT)
    shutil.move(tmp_path / "VOC2011", tmp_path / "PascalVOC" / "VOC2011")  # what the remedy says
    assert len(read_voc(tmp_path / "PascalVOC", SPLIT).train["cat"]) == 1


@pytest.mark.parametrize("kit", ["VOC2011", "VOC2012"])
def test_voc_2012_has_the_objects_of_2011(tmp_path: Path, kit: str) -> None:
    """Under its own name or in 2011's place; where it is not the same object, the file and its release are named."""
    voc(tmp_path / "a", kit, release="VOC2012")
    voc(tmp_path / "b")
    assert described(read_voc(tmp_path / "a", SPLIT).train) == described(read_voc(tmp_path / "b", SPLIT).train)
    voc(tmp_path / "c", kit, cls="dog", release="VOC2012")
    with pytest.raises(
        ValueError, match=r"2008_000001\.xml: object 1 is of class dog, .* as cat: .*\(VOC2012\); use that of"
    ):
        read_voc(tmp_path / "c", SPLIT)


def test_all_faults_of_an_annotation(tmp_path: Path) -> None:
    marks = '<keypoint name="a" x="nan" y="1"/><keypoint name="b" x="1" y="?"/><keypoint name="b" x="1" y="1"/>'
    (tmp_path / "a.xml").write_text(
        f'<a><visible_bounds xmin="0" ymin="0" width="0" height="4"/><keypoints>{marks}</keypoints></a>'
    )
    with pytest.raises(
        ValueError, match=r"a\.xml: .*no area.*; has 2 keypoints named 'b'.*; x of keypoint a.*; y of .* b"
    ):
        read_keypoints(tmp_path / "a.xml")
    points = np.full((2, 10), 5.0)
    points[0, 2], points[1, 4], points[0, 7] = np.nan, 500, -1
    savemat(tmp_path / "a.mat", {"pts_coord": points})
    with pytest.raises(
        ValueError, match=r"a\.mat: keypoint 2 is \[nan.*; keypoint 4 at .*outside.*; keypoint 7 at .*outside"
    ):
        read_points(tmp_path / "a.mat", 10, (40, 30))
    path = spair(tmp_path / "s")
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "src_kps": [[None, 2], [900, 4]]}))
    with pytest.raises(
        ValueError, match=r"cat\.json: keypoint '0' is at \[nan, 2\.0\].*; keypoint '1' at \[900\.0.* far outs"
    ):
        read_pair(path)


@pytest.mark.parametrize("kind", ["xml", "mat", "json"])
def test_web_pages_are_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    path.write_text("<!DOCTYPE html>\n<html><body>Quota exceeded & gone</body></html>")
    read = {"xml": read_keypoints, "json": read_pair, "mat": lambda one: read_points(one, 10, (4, 3))}[kind]
    with pytest.raises(
        ValueError, match=rf"a\.{kind} is a web page \(HTML\) that was saved .*: download the file again"
    ):
        read(path)
