"""SPair-71k: the annotation of a pair, and the layout that lists the pairs."""

import json
from pathlib import Path

from PIL import Image

from bbgm.data.readers.spair import read_pair, read_spair
from tests.fuzz.check import Subject
from tests.fuzz.readers.voc import genuine

CONTENT = {
    **{"kps_ids": ["0", "1"], "category": "cat", "src_kps": [[1, 2], [3, 4]], "trg_kps": [[1, 2.5], [3, 4]]},
    **{"src_imsize": [40, 30, 3], "trg_imsize": [40, 30, 3], "src_imname": "a.jpg", "trg_imname": "b.jpg"},
    **{"viewpoint_variation": 0, "scale_variation": 2, "truncation": 1, "occlusion": 0, "mirror": 0},
}
LINE = "000001-a-b:cat"


def _write_tree(folder: Path) -> None:
    for part in ("Layout/large", "PairAnnotation/trn", "PairAnnotation/test", "JPEGImages/cat"):
        (folder / part).mkdir(parents=True)
    for part in ("trn", "test"):
        (folder / f"Layout/large/{part}.txt").write_text(f"{LINE}\n")
        (folder / f"PairAnnotation/{part}/{LINE}.json").write_text(json.dumps(CONTENT))
    for name in ("a", "b"):
        Image.new("RGB", (40, 30)).save(folder / f"JPEGImages/cat/{name}.jpg")


PAIR = Subject(
    file=f"PairAnnotation/trn/{LINE}.json",
    read=lambda folder: (read_pair(folder / f"PairAnnotation/trn/{LINE}.json"), read_spair(folder)),
    prepare=_write_tree,
    seeds=lambda: [json.dumps(CONTENT, indent=indent).encode() for indent in (None, 1)],
    words=(
        *(f'"{key}"'.encode() for key in CONTENT),
        b'"cat"',
        b'"a.jpg"',
        b'"\\ud800.jpg"',
        b'"a\\u0000.jpg"',
        b'".."',
    ),
    text=True,
    # An image that is missing, or not as the annotation says, is named itself.
    named="cat",
)
GENUINE = Subject(
    file="pair.json",
    read=lambda folder: read_pair(folder / "pair.json"),
    seeds=lambda: [json.dumps(CONTENT).encode(), *genuine("spair71k_sample/PairAnnotation/trn/*.json")],
    words=PAIR.words,
    text=True,
)
LAYOUT = Subject(
    file="Layout/large/trn.txt",
    read=read_spair,
    prepare=_write_tree,
    seeds=lambda: [f"{LINE}\n".encode(), f"{LINE}\n{LINE}\n".encode()],
    words=(b"000001-", b"a-b", b":cat", b"_cat", b"..", b"/", b"\n" + b"9" * 300),
    text=True,
    named="trn",
)
