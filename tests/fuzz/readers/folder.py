"""A folder of your own images, in our format and in COCO's (as AnimalPose comes)."""

import json
import os
from pathlib import Path

from PIL import Image

from bbgm.data.readers.folder import FILE, read_folder
from tests.fuzz.check import Subject

OWN_CONTENT = {
    "images": [
        {"file": "a.jpg", "class": "rabbit", "keypoints": {"nose": [12.5, 8], "left ear": [39, 3]}, "split": "train"},
        {"file": "a.jpg", "class": "rabbit", "keypoints": {"nose": [5, 6]}, "box": [1, 2, 30, 24], "split": "test"},
        {"file": "b.png", "class": "hare", "keypoints": {}, "size": [40, 30], "split": "test"},
    ]
}
COCO_CONTENT = {
    "info": {"year": 2019},
    "categories": [{"id": 1, "name": "dog", "keypoints": ["L_Eye", "R_Eye", "Nose"], "skeleton": [[1, 2]]}],
    "images": [{"id": 7, "file_name": "a.jpg", "width": 40, "height": 30}, {"id": "x", "file_name": "b.png"}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 1, "keypoints": [1, 2, 2, 0, 0, 0, 9.5, 8, 1], "bbox": [0, 0, 30, 20]},
        {"id": 2, "image_id": "x", "category_id": 1, "keypoints": [1, 2, 2, None, None, 0, 9, 8, 1], "bbox": []},
    ],
}
PIECES = (
    *(
        b'"file"',
        b'"class"',
        b'"keypoints"',
        b'"box"',
        b'"size"',
        b'"split"',
        b'"train"',
        b'"a.jpg"',
        b'"nose"',
        b'"images"',
    ),
    *(b'"id"', b'"file_name"', b'"bbox"', b'"annotations"', b'"categories"', b'"\\ud800"', b'"a\\u0000.jpg"', b'"."'),
    *(b'".."', b'"/dev/zero"', b'"' + b"x/" * 2000 + b'"', b"[1, 2, 2]", b"[-4, -4]", b"[1e308, 1e308]"),
)


def _write_images(folder: Path) -> None:
    Image.new("RGB", (40, 30)).save(folder / "a.jpg")
    Image.new("RGB", (40, 30)).save(folder / "b.png")


def _animals() -> list[bytes]:
    """The beginning of the real file, without its images: their names are replaced."""
    root = os.environ.get("BBGM_DATA")
    path = Path(root or "") / "voc_animals" / FILE
    if not root or not path.is_file():
        return []
    content = json.loads(path.read_text())
    if "annotations" in content:
        for item in content["images"]:
            item.update(file_name="a.jpg", width=40, height=30)
        content["annotations"] = [
            {**one, "keypoints": [min(x or 0, 29) for x in one["keypoints"]], "bbox": None, "iscrowd": k}
            for k, one in enumerate(content["annotations"][:2])
        ]
        known = {one["image_id"] for one in content["annotations"]}
        content["images"] = [one for one in content["images"] if one["id"] in known]
    else:
        content["images"] = [
            {
                **one,
                "file": name,
                "keypoints": {key: [k, 5] for k, key in enumerate(one["keypoints"])},
                "box": None,
                "size": None,
            }
            for name, one in zip(("a.jpg", "b.png"), content["images"], strict=False)
        ]
    return [json.dumps(content).encode()]


OWN = Subject(
    file=FILE,
    read=read_folder,
    prepare=_write_images,
    seeds=lambda: [json.dumps(OWN_CONTENT).encode(), json.dumps(OWN_CONTENT, indent=1).encode(), *_animals()],
    words=PIECES,
    text=True,
)
COCO = Subject(
    file=FILE,
    read=read_folder,
    prepare=_write_images,
    seeds=lambda: [json.dumps(COCO_CONTENT).encode()],
    words=PIECES,
    text=True,
)
