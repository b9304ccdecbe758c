"""Pascal VOC with keypoints: a tree in the original formats, and where the real samples are."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bbgm.data.readers.voc import FOLDER
from bbgm.data.readers.voc_split import Split, read_split

SIZE = (60, 50)
BOUNDS = {"xmin": 10, "ymin": 5, "width": 40, "height": 20}
# Two within the bounds, one on their border, one outside.
POINTS = {"L_Eye": (20.0, 15.0), "R_Eye": (40.0, 10.0), "Nose": (50.0, 25.0), "Tail": (50.1, 20.0)}


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
def empty_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Of no object yet; runs read it."""
    monkeypatch.setenv("BBGM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path / "cache"))
    return Tree(tmp_path / "data" / FOLDER)


@pytest.fixture
def tree(empty_tree: Tree) -> Tree:
    """Three cats to train, two to test."""
    for k in range(5):
        empty_tree.image(f"2008_00000{k}", [{"name": "cat", "difficult": 0, "truncated": 0, "occluded": 0}])
        empty_tree.object("train" if k < 3 else "test", "cat", f"2008_00000{k}_1")
    return empty_tree


@pytest.fixture(scope="session")
def real_folder() -> Path:
    """The folder of real samples; skips where they are absent."""
    folder = Path(os.environ.get("BBGM_DATA", "")) / "voc2011_keypoints_sample"
    if not folder.is_dir():
        pytest.skip("real keypoint annotations of VOC: no voc2011_keypoints_sample in BBGM_DATA")
    return folder.parent
