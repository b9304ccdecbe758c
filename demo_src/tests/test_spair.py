"""The format of SPair-71k: its layout, and pairs that follow from the scenes."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from bbgm_demo.formats import spair
from bbgm_demo.formats.voc import Scene
from PIL import Image


def test_pairs_follow_from_the_scenes(trees: dict[str, Path], scenes: list[Scene]) -> None:
    """Keypoints, sizes and difficulty of each pair."""
    known = {(one.image, one.cls): one for one in scenes}
    levels: Counter[int] = Counter()
    for part in ("trn", "test"):
        for path in (trees["spair"] / "PairAnnotation" / part).iterdir():
            pair = json.loads(path.read_text())
            cls = pair["category"]
            source, target = (known[Path(pair[key]).stem, cls] for key in ("src_imname", "trg_imname"))
            assert {source.part, target.part} == {"train" if part == "trn" else "test"}
            turn = abs((source.azimuth - target.azimuth + 180) % 360 - 180)
            levels[pair["viewpoint_variation"]] += 1
            if pair["viewpoint_variation"] == 0:
                assert turn * np.cos(np.radians(max(source.elevation, target.elevation))) <= spair.EASY + 8
            if pair["viewpoint_variation"] == 2:
                assert turn + abs(source.elevation - target.elevation) > spair.MEDIUM
            assert pair["truncation"] == source.truncated + 2 * target.truncated
            assert pair["occlusion"] == source.occluded + 2 * target.occluded
            names = list(source.keypoints)
            for one, side in ((source, "src"), (target, "trg")):
                assert pair[f"{side}_imsize"] == [*one.size, 3]
                for number, at in zip(pair["kps_ids"], pair[f"{side}_kps"], strict=True):
                    np.testing.assert_allclose(np.array(one.keypoints[names[int(number)]]), at, atol=0.51)
            assert len(pair["kps_ids"]) >= 3
            assert pair["src_pose"] == source.pose
    assert min(levels[k] for k in range(3)) > 0.1 * levels.total()


def test_spair_has_the_layout_of_the_real_one(trees: dict[str, Path]) -> None:
    """The keys of the genuine files, and the same types."""
    tree = trees["spair"]
    pair = json.loads(next((tree / "PairAnnotation/test").iterdir()).read_text())
    kinds = {key: type(value) for key, value in pair.items()}
    variations = ("viewpoint_variation", "scale_variation", "truncation", "occlusion", "mirror")
    sides = [f"{side}_{what}" for side in ("src", "trg") for what in ("imsize", "bndbox", "kps")]
    assert kinds == {
        **dict.fromkeys(("pair_id", *variations), int),
        **dict.fromkeys(("filename", "src_imname", "trg_imname", "category", "src_pose", "trg_pose"), str),
        **dict.fromkeys((*sides, "kps_ids"), list),
    }
    line = (tree / "Layout/large/test.txt").read_text().splitlines()[0]
    assert line.startswith("000001-")
    assert (tree / "PairAnnotation/test" / f"{line}.json").is_file()
    image = next((tree / "JPEGImages/car").iterdir())
    annotation = json.loads((tree / "ImageAnnotation/car" / f"{image.stem}.json").read_text())
    with Image.open(image) as opened:
        assert opened.size == (annotation["image_width"], annotation["image_height"])
        assert opened.format == "JPEG"


def test_viewpoints_and_mirrors() -> None:
    """The angle between views, by hand."""

    def view(cls: str, azimuth: float, elevation: float = 0) -> Scene:
        box = (0.0, 0.0, 10.0, 10.0)
        return Scene("2008_000001_1", cls, "train", (100, 100), box, azimuth, elevation, "", False, False, False, {})

    assert spair.viewpoint_variation(view("car", 350), view("car", 20)) == 0
    assert spair.viewpoint_variation(view("car", 0), view("car", 60)) == 1
    assert spair.viewpoint_variation(view("car", 0), view("car", 180)) == 2
    assert spair.viewpoint_variation(view("car", 0, 60), view("car", 180, 60)) == 1  # from above: 60 degrees
    mirrored = spair.direction(view("car", 30), mirrored=True)
    assert spair.angle(mirrored, spair.direction(view("car", 150))) == pytest.approx(0, abs=1e-4)
    mirrored = spair.direction(view("person", 30), mirrored=True)
    assert spair.angle(mirrored, spair.direction(view("person", 330))) == pytest.approx(0, abs=1e-4)
