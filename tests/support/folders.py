"""Small folders of images with keypoints, in both formats."""

from typing import Any

from bbgm.config import ProtocolConfig

SIZE = (80, 60)
SMALL = ProtocolConfig(train_per_class=2, test_pairs_per_class=5)
Content = dict[str, Any]


def entry(k: int, **changes: Any) -> Content:
    return {"file": f"{k}.png", "class": "cat", "keypoints": {"nose": [k + 1, 2], "tail": [60, 50]}, **changes}


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
