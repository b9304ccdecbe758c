"""``predictions.npz``. A first byte of k > 0: the rest is the k-th array's .npy file, in an archive that is right."""

import io
import zipfile
from functools import cache
from pathlib import Path

from bbgm.base.paths import project_root
from bbgm.scoring.predictions import read_predictions
from tests.fuzz.check import Subject
from tests.fuzz.readers.config import STORED


@cache
def _members() -> dict[str, bytes]:
    path = sorted(project_root().glob(f"{STORED}/*/*/*/*/predictions.npz"))[0]
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def pack(data: bytes) -> bytes:
    """The file."""
    members = _members()
    if not data or not data[0]:
        return data[1:]
    return _zipped({**members, list(members)[data[0] % len(members)]: data[1:]})


def _seeds() -> list[bytes]:
    members = list(_members().values())
    single = [bytes([k]) + members[k] for k in range(1, len(members)) if len(members[k]) < 1 << 16]
    return [b"\0" + _zipped(_members()), *single]


def _read(folder: Path) -> object:
    return read_predictions(folder / "predictions.npz")


SUBJECT = Subject(
    file="predictions.npz",
    read=_read,
    seeds=_seeds,
    pack=pack,
    words=(
        b"'descr': '|O'",
        b"'shape': (99999999999,)",
        b"(0, 999999999)",
        b"'<U99999999'",
        b"<i8",
        b"PK\1\2",
        b"(-1,)",
        b"\x93NUMPY\2\0",
    ),
)
