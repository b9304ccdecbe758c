"""The format of Pascal VOC: the same bytes for the same seed, and objects are seen from all sides."""

from collections import Counter
from pathlib import Path

import numpy as np
from bbgm_demo.formats import voc
from bbgm_demo.formats.voc import NAMES, Scene

SEED, IMAGES = 0, 8
"""Of the fixture ``trees``."""


def test_all_sides_are_seen(scenes: list[Scene]) -> None:
    """Every quarter of the azimuths, in every class; opposite sides show other keypoints."""
    for cls in NAMES.values():
        quarters = Counter(int(one.azimuth // 90) for one in scenes if one.cls == cls)
        assert min(quarters[k] for k in range(4)) >= 1, cls
    labels = [one.keypoints for one in scenes if one.cls == "bottle"]
    for name in ("Label_Emblem", "BackLabel_Code"):
        assert sum(points[name] is not None for points in labels) >= 3, name
    assert {one.pose for one in scenes if one.cls == "car"} == {"Left", "Right", "Frontal", "Rear"}
    clear = [one for one in scenes if not (one.occluded or one.truncated or one.difficult)]
    shown: dict[str, list[bool]] = {"front": [], "back": []}  # a small thing may cover a keypoint of a clear object
    for one in (one for one in clear if one.cls == "person"):
        turned = abs((one.azimuth + 180) % 360 - 180)
        if turned < 30:
            shown["front"] += [one.keypoints[name] is not None for name in ("L_Eye", "R_Eye")]
            assert one.keypoints["B_Head"] is None
        if turned > 140:
            shown["back"] += [one.keypoints["B_Head"] is not None]
            assert one.keypoints["L_Eye"] is None
    assert all(np.mean(seen) >= 0.75 and len(seen) >= 2 for seen in shown.values()), shown
    for one in clear:
        turned = abs((one.azimuth + 180) % 360 - 180)
        if one.cls == "bottle" and turned < 30:
            assert one.keypoints["BackLabel_Code"] is None, one
        if one.cls == "bottle" and turned > 150:
            assert one.keypoints["Label_Emblem"] is None, one
        if one.cls == "car" and one.elevation < 30:
            near, far = ("R", "L") if np.cos(np.radians(one.azimuth)) > 0.5 else ("L", "R")
            if abs(np.cos(np.radians(one.azimuth))) > 0.5:
                assert one.keypoints[f"{far}_F_WheelCenter"] is None, one
                assert any(one.keypoints[f"{near}_{end}_WheelCenter"] is not None for end in "FB"), one


def test_same_bytes_for_the_same_seed(trees: dict[str, Path], tmp_path: Path) -> None:
    """One photograph by itself is what it was in the middle of the data set; another seed gives another one."""
    photos = round(voc.PHOTOS * IMAGES)
    for seed, folder in ((SEED, tmp_path / "same"), (SEED + 1, tmp_path / "other")):
        for cls in NAMES.values():
            (folder / "annotations" / cls).mkdir(parents=True)
        for name in ("JPEGImages", "Annotations"):
            (folder / "VOC2011" / name).mkdir(parents=True)
        for number, cls in enumerate(NAMES):
            voc.write_photo(folder, photos * number + 4, 4, cls, seed)
    made = [file for file in (tmp_path / "same").rglob("*") if file.is_file()]
    assert len(made) >= 15
    for file in made:
        below = file.relative_to(tmp_path / "same")
        assert file.read_bytes() == (trees["voc"] / below).read_bytes(), below
        other = tmp_path / "other" / below
        assert file.parent.name == "Annotations" or not other.exists() or other.read_bytes() != file.read_bytes()
