"""Pascal VOC: annotations of keypoints, VOC's own annotations of objects, the split as JSON."""

import json
import os
from pathlib import Path

from PIL import Image

from bbgm.data.readers.voc import read_voc
from bbgm.data.readers.voc_split import read_split
from bbgm.data.readers.voc_xml import read_keypoints
from tests.fuzz.check import Subject

NAME, IMAGE = "2008_000001_1", "2008_000001"
WRITTEN = b"""<?xml version="1.0" encoding="utf-8"?>
<annotation><image>2008_000001</image><voc_id>1</voc_id><category>cat</category>
<visible_bounds height="40.5" width="50" xmin="3.5" ymin="0"/>
<keypoints><keypoint name="Nose" visible="1" x="9" y="8.25" z="0"/><keypoint name="L_Eye" x="10" y="8"/></keypoints>
</annotation>"""
FLAGGED = b"""<annotation><folder>VOC2011</folder><filename>2008_000001.jpg</filename>
<size><width>60</width><height>50</height><depth>3</depth></size>
<object><name>cat</name><truncated>0</truncated><occluded>0</occluded>
<bndbox><xmax>50</xmax><xmin>1</xmin></bndbox><difficult>0</difficult></object></annotation>"""
ENTITIES = (
    b'<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d SYSTEM "/etc/passwd">]>'
)
WORDS = (
    *(ENTITIES, b"&c;", b"&d;", b"<![CDATA[", b"<!--", b"-->", b"<?", b"?>", b"<a>" * 3000, b'encoding="utf-16"'),
    *(
        b'encoding="x"',
        b'encoding="utf-7"',
        b'encoding="cp037"',
        b"xmlns:a='b'",
        b'version="1.1"',
        b"&#0;",
        b"&#xd800;",
    ),
    *(b"<object>", b"</object>", b"<keypoint ", b'name="Nose" x="1" y="2"/>', b"visible_bounds", b"\xef\xbb\xbf"),
)


def genuine(place: str) -> list[bytes]:
    """Files of the real data set, where they are."""
    root = os.environ.get("BBGM_DATA")
    return [path.read_bytes() for path in sorted(Path(root).glob(place))[:20]] if root else []


def write_tree(folder: Path) -> None:
    """A data set of one image."""
    for part in ("VOC2011/JPEGImages", "VOC2011/Annotations", "annotations/cat"):
        (folder / part).mkdir(parents=True)
    Image.new("RGB", (60, 50)).save(folder / "VOC2011/JPEGImages" / f"{IMAGE}.jpg")
    (folder / "annotations/cat" / f"{NAME}.xml").write_bytes(WRITTEN)


KEYPOINTS = Subject(
    file=f"{NAME}.xml",
    read=lambda folder: read_keypoints(folder / f"{NAME}.xml"),
    seeds=lambda: [WRITTEN, *genuine("voc2011_keypoints_sample/annotations/*/*.xml")],
    words=WORDS,
    text=True,
)
OBJECTS = Subject(
    file=f"VOC2011/Annotations/{IMAGE}.xml",
    read=lambda folder: read_voc(folder, {"train": {"cat": (NAME,)}, "test": {"cat": ()}}),
    prepare=write_tree,
    seeds=lambda: [FLAGGED],
    words=WORDS,
    text=True,
)
SPLIT_FILE = Subject(
    file="voc2011_pairs.json",
    read=lambda folder: read_split(folder, folder),
    seeds=lambda: [
        json.dumps({"train": {"cat": [NAME]}, "test": {"cat": [f"{IMAGE}_2"], "dog": []}}).encode(),
        json.dumps(
            {part: {"car": [f"2007_00000{k}_{j}" for k in range(9)]} for j, part in enumerate(("train", "test"))}
        ).encode(),
    ],
    words=(b'"2008_000001_1"', b'"2008_\xd9\xa100001_1"', b'"train"', b'"test"', b'"cat"'),
    text=True,
)
