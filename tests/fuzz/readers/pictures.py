"""Image files. A first byte of 1 means that the checksums of a PNG's chunks are repaired."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

from bbgm.data.images.pictures import decode, image_size, is_turned
from tests.fuzz.check import Subject

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def pack(data: bytes) -> bytes:
    """The file."""
    kind, content = data[:1], data[1:]
    if kind != b"\x01" or not content.startswith(SIGNATURE):
        return content
    packed, at = bytearray(content[:8]), 8
    while at + 12 <= len(content):
        size = struct.unpack_from(">I", content, at)[0]
        if at + 12 + size > len(content):
            break
        chunk = content[at + 4 : at + 8 + size]
        packed += content[at : at + 4] + chunk + struct.pack(">I", zlib.crc32(chunk))
        at += 12 + size
    return bytes(packed + content[at:])


def _seeds() -> list[bytes]:
    pixels = np.random.default_rng(0).integers(0, 255, (12, 9, 4), np.uint8)
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 1, "a hare"
    whole = Image.fromarray(pixels)
    plain = whole.convert("RGB")
    palette = plain.convert("P")
    files = []
    for image, kind, options in (
        (whole, "PNG", {}),
        (plain, "PNG", {"exif": exif}),
        (palette, "PNG", {"transparency": b"\0" * 9}),
        (plain, "JPEG", {"exif": exif}),
        (plain, "JPEG", {"progressive": True, "quality": 90}),
        (palette, "GIF", {}),
        (plain, "BMP", {}),
        (plain, "WEBP", {"lossless": True, "exif": exif}),
        (plain, "TIFF", {"compression": "tiff_lzw"}),
        (plain, "TIFF", {}),
    ):
        buffer = io.BytesIO()
        image.save(buffer, kind, **options)
        files.append(buffer.getvalue())
    return [b"\0" + file for file in files] + [b"\x01" + file for file in files[:3]]


def _read(folder: Path) -> object:
    path = folder / "a.jpg"
    size = image_size(path)
    return is_turned(path), decode(path), decode(path, (0, 0, size[0] / 2, size[1]))


SUBJECT = Subject(
    file="a.jpg",
    read=_read,
    seeds=_seeds,
    pack=pack,
    words=(
        b"IHDR",
        b"PLTE",
        b"tRNS",
        b"IDAT",
        b"iCCP",
        b"zTXt",
        b"eXIf",
        b"IEND",
        b"Exif\0\0II*\0",
        b"acTL",
        b"fdAT",
        b"\xff\xd8\xff",
    ),
)
