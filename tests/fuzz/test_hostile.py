"""Small files that would cost a reader minutes, gigabytes or an error without a name: each is refused by its name."""

import io
import json
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from bbgm.data.images.pictures import image_size
from tests.fuzz.check import Finding, Subject, check
from tests.fuzz.mutate import changed
from tests.fuzz.readers.pictures import SIGNATURE
from tests.fuzz.subjects import SUBJECTS, load

KEPT = Path(__file__).parent / "kept"

LAUGHS = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
DEEP = b"[" * 300 + b"]" * 300
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"


def aliases(merge: bool) -> bytes:
    """40 lines; with the aliases written out, 4^40 values."""
    if merge:
        lines = ["a0: &a0 {x: 1}", *(f"a{k}: &a{k} {{<<: [{', '.join([f'*a{k - 1}'] * 4)}]}}" for k in range(1, 40))]
    else:
        lines = ["a0: &a0 [x]", *(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 4)}]" for k in range(1, 40))]
    return "\n".join(lines).encode()


def npz(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return b"\0" + buffer.getvalue()


def npy(descr: str, shape: tuple[int, ...], content: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue() + content


def png(width: int, height: int) -> bytes:
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\0" + SIGNATURE + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk)) + b"\0" * 12


def mat(levels: int, size: int) -> bytes:
    content = b"\0" * size
    for _ in range(levels):
        content = zlib.compress(content, 1)
        content = struct.pack("<II", 15, len(content)) + content
    return b"\0" + b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + content


def tar(kind: bytes, size: int) -> bytes:
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, size
    return b"\0" + lzma.compress(info.tobuf() + b"\0" * 1024)


def pth(content: object, method: int) -> bytes:
    buffer, out = io.BytesIO(), io.BytesIO()
    torch.save(content, buffer)
    with zipfile.ZipFile(buffer) as archive, zipfile.ZipFile(out, "w", method) as packed:
        for name in archive.namelist():
            packed.writestr(name, archive.read(name))
    return b"\0" + out.getvalue()


HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a billion laughs": ("voc_keypoints", lambda: f'<!DOCTYPE x [<!ENTITY a "ha">{LAUGHS}]><a>&i;</a>'.encode()),
    "an external entity": ("voc_objects", lambda: b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'),
    "50,000 keypoints": (
        "voc_keypoints",
        lambda: (
            b'<a><visible_bounds xmin="0" ymin="0" width="0" height="1"/><keypoints>'
            + b"".join(b'<keypoint name="%d" x="1" y="1"/>' % k for k in range(50_000))
            + b"</keypoints></a>"
        ),
    ),
    "a zlib bomb": ("willow", lambda: mat(1, 2**26)),
    "compressed twice": ("willow", lambda: mat(2, 100)),
    "100,000 keys": ("own_images", lambda: b"{" + b",".join(b'"%d":1' % k for k in range(100_000)) + b',"a":1,"a":1}'),
    "100,000 images": (
        "coco",
        lambda: json.dumps(
            {
                "images": [{"id": k, "file_name": "a.jpg"} for k in [*range(100_000), 99_999]],
                "annotations": [],
                "categories": [{"id": 1, "name": "a"}],
            }
        ).encode(),
    ),
    "a name with a null": (
        "own_images",
        lambda: b'{"images": [{"file": "a\\u0000", "class": "a", "keypoints": {"n": [1, 2]}}]}',
    ),
    "a name without one": (
        "own_images",
        lambda: b'{"images": [{"file": ".", "class": "a", "keypoints": {"n": [1, 2]}}]}',
    ),
    "a device": (
        "own_images",
        lambda: b'{"images": [{"file": "/dev/zero", "class": "a", "keypoints": {"n": [1, 2]}}]}',
    ),
    "deep JSON": ("own_images", lambda: DEEP),
    "deep lists of points": ("spair_genuine", lambda: b'{"kps_ids": [], "src_kps": %s}' % DEEP),
    "a deep split": ("voc_split", lambda: DEEP),
    "a huge size": (
        "spair_genuine",
        lambda: json.dumps(
            {
                **{"kps_ids": ["0"], "category": "cat", "src_kps": [[1, 2]], "trg_kps": [[1, 2]], "src_imname": "a"},
                **{"src_imsize": [10**400, 1], "trg_imsize": [1, 1], "trg_imname": "b", "viewpoint_variation": 0},
                **{"scale_variation": 0, "truncation": 0, "occlusion": 0, "mirror": 0},
            }
        ).encode(),
    ),
    "a layout in Latin 1": ("spair_layout", lambda: b"000001-a-\xe9:cat\n"),
    "aliases of aliases": ("run_config", lambda: aliases(merge=False)),
    "merges of merges": ("experiment", lambda: aliases(merge=True)),
    "an alias of itself": ("budget", lambda: b"a: &a [*a]"),
    "a day 45": ("budget", lambda: b"title: 2001-13-45"),
    "a tag without a value": ("pipeline_config", lambda: b"a: !!int ''\nb: !!bool x"),
    "a Python object": ("run_config", lambda: b"a: !!python/object/apply:os.system ['true']"),
    "deep YAML": ("experiment", lambda: b"a: " + DEEP),
    "a megabyte of YAML": ("budget", lambda: b"# a comment\n" * 90_000),
    "a long name": ("experiment", lambda: b"like: " + b"a" * 300),
    "a path": ("experiment", lambda: b"like: ../budgets/demo"),
    "objects in an array": ("predictions", lambda: npz(cls=npy("|O", (1,), b"cos\nsystem\n(S'true'\ntR."))),
    "10^12 entries": ("predictions", lambda: npz(n1=npy("<i4", (10**12,)))),
    "a zip bomb": ("predictions", lambda: npz(n1=npy("<i4", (2**27,), b"\0" * 2**29))),
    "a learning curve in Latin 1": ("history", lambda: b"epoch,\xe9\n1,2\n"),
    "an empty learning curve": ("history", lambda: b""),
    "checksums of a long name": (
        "metrics",
        lambda: json.dumps({"checksums": {"metrics.json": "0" * 64, "y" * 300: "0"}}).encode(),
    ),
    "a deep record": ("metrics", lambda: DEEP),
    "a list as split": ("split", lambda: b"[]"),
    "an expanded tensor": ("weights_pth", lambda: pth({"0.weight": torch.zeros(1).expand(10**12)}, zipfile.ZIP_STORED)),
    "compressed weights": ("weights_pth", lambda: pth({"0.weight": torch.zeros(2**20)}, zipfile.ZIP_DEFLATED)),
    "a picture of 8 gigapixels": ("pictures", lambda: png(90_000, 90_000)),
    "a picture just too large": ("pictures", lambda: png(9_500, 9_500)),
    "a program in PostScript": ("pictures", lambda: b"\0" + EPS),
    "an .xz bomb": ("dd", lambda: b"\1" + b"c\n" * 2**24),
    "a line without end": ("dd", lambda: b"\1p 1 1 0 0\nc" + b"x" * 10**5),
    "many problems": ("dd", lambda: b"\1" + b"".join(b"gm 0 %d\np 9999 9999 0 0\n" % k for k in range(1, 2000))),
    "a long name of 8 GB": ("archive", lambda: tar(tarfile.GNUTYPE_LONGNAME, 2**33 - 512)),
    "a header of 8 GB": ("archive", lambda: tar(tarfile.XHDTYPE, 2**33 - 512)),
    "a damaged .xz": ("archive", lambda: b"\0" + lzma.compress(os.urandom(4096))[:-40] + b"\1" * 40),
    "a manifest with a huge field": ("manifest", lambda: b'file,bytes,sha256\n"' + b"x" * 140_000 + b'",1,b\n'),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_files_are_refused_by_name(what: str, tmp_path: Path) -> None:
    name, make = HOSTILE[what]
    subject = load(name)
    subject.prepare(tmp_path)
    assert not check(subject, make(), tmp_path)


@pytest.mark.parametrize("name", SUBJECTS)
def test_genuine_files_are_accepted_and_changed_ones_are_no_findings(name: str, tmp_path: Path) -> None:
    import random

    subject, rng = load(name), random.Random(1)
    subject.prepare(tmp_path)
    seeds = subject.seeds()
    assert seeds
    assert all(check(subject, data, tmp_path) for data in seeds)
    for _ in range(10):
        check(subject, changed(rng.choice(seeds), seeds, subject.words, subject.text, rng), tmp_path)


@pytest.mark.parametrize("path", sorted(KEPT.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_inputs_that_were_findings_are_none(path: Path, tmp_path: Path) -> None:
    subject = load(path.parent.name)
    subject.prepare(tmp_path)
    check(subject, path.read_bytes(), tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"a\.png .*not a file"):
        image_size(tmp_path / "a.png")


PAGES = "import mmap; all = mmap.mmap(-1, 5 * 2**28); all[::4096] = bytes(5 * 2**16)"
"""Writes to 1.25 GiB, which the allocator of this process cannot have had before."""


@pytest.mark.parametrize("fault", ["raise KeyError('x')", "raise ValueError('no name')", "while True: pass", PAGES])
def test_the_check_finds_what_it_is_for(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.check.SECONDS", 1)
    code = compile(fault, "fault", "exec")
    subject = Subject(file="file.bin", read=lambda folder: exec(code), seeds=lambda: [b""])
    with pytest.raises(Finding):
        check(subject, b"", tmp_path)
