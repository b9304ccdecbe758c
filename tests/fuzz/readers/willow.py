"""Willow ObjectClass: MATLAB files. A first byte of 1 means that the variables are compressed, as MATLAB does."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from scipy.io import savemat

from bbgm.data.readers.willow import read_points
from tests.fuzz.check import Subject
from tests.fuzz.readers.voc import genuine

HEADER = 128


def pack(data: bytes) -> bytes:
    """The file; compresses what follows the header, so that changes get past the checksum."""
    kind, content = data[:1], data[1:]
    if kind != b"\x01":
        return content
    packed = zlib.compress(content[HEADER:], 1)
    return content[:HEADER] + struct.pack("<II", 15, len(packed)) + packed


def _unpacked(content: bytes) -> bytes:
    kind, size = struct.unpack_from("<II", content, HEADER)
    return content[:HEADER] + zlib.decompress(content[HEADER + 8 : HEADER + 8 + size]) if kind == 15 else content


def _seeds() -> list[bytes]:
    points = np.linspace(1, 30, 20).reshape(2, 10)
    files = genuine("WILLOW-ObjectClass/Duck/*.mat")[:4]
    for values, compressed in ((points, False), (points, True), (points.astype(np.uint8), False)):
        buffer = io.BytesIO()
        savemat(buffer, {"pts_coord": values, "z": np.array([1 + 2j])}, do_compression=compressed)
        files.append(buffer.getvalue())
    return [bytes([kind]) + (_unpacked(file) if kind else file) for file in files for kind in (0, 1)]


def _read(folder: Path) -> object:
    return read_points(folder / "a.mat", 10, (2000, 2000))


SUBJECT = Subject(
    file="a.mat", read=_read, seeds=_seeds, pack=pack, words=(struct.pack("<II", 15, 8), b"\x0e\0\0\0", b"\x00\x02IM")
)
