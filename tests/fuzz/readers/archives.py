"""Archives of data sets (tar and zip), and the manifest of a download."""

import io
import shutil
import tarfile
import zipfile
from pathlib import Path

from bbgm.data.fetch.archive import unpack
from bbgm.data.fetch.integrity import read_manifest
from tests.fuzz.check import Subject

FILES = {"thing/Car/a.png": b"a" * 700, "thing/Car/b:c.png": b"b" * 70, "thing/empty": b"", "README": b"other"}


def _tar(mode: str, kind: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, format=kind) as archive:  # type: ignore[call-overload]
        for name, data in FILES.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1.5
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("thing/Car/" + "l" * 120)
        link.type, link.linkname = tarfile.SYMTYPE, "a.png"
        archive.addfile(link)
    return buffer.getvalue()


def pack(data: bytes) -> bytes:
    """A first byte of 1: checksums of the tar's headers are repaired; of 2 to 4: it is compressed as well."""
    import bz2
    import gzip
    import lzma

    kind, content = data[:1], bytearray(data[1:])
    if kind not in (b"\x01", b"\x02", b"\x03", b"\x04"):
        return bytes(content)
    at = 0
    while at + 512 <= len(content):
        block = content[at : at + 512]
        if block[257:262] == b"ustar":
            block[148:156] = b" " * 8
            content[at + 148 : at + 156] = b"%06o\0 " % sum(block)
        at += 512
    return {
        1: bytes,
        2: lambda x: gzip.compress(x, 1),
        3: lambda x: bz2.compress(x, 1),
        4: lambda x: lzma.compress(x, preset=0),
    }[kind[0]](bytes(content))


def _zip(method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in FILES.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return buffer.getvalue()


def _read(folder: Path) -> None:
    out = folder / "out" / "x"
    shutil.rmtree(folder / "out", ignore_errors=True)
    try:
        manifest = unpack(folder / "archive", out, "thing", 1_000_000)
        assert set(manifest) == {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    finally:
        assert {path.name for path in folder.iterdir()} <= {"archive", "out"}, "a file outside of the folder"
        assert {path.name for path in (folder / "out").iterdir()} <= {"x"}, "a file outside of the folder"


SUBJECT = Subject(
    file="archive",
    read=_read,
    seeds=lambda: [
        *(b"\1" + _tar("w:", kind) for kind in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)),
        *(bytes([k]) + _tar("w:", tarfile.PAX_FORMAT) for k in (2, 4)),
        *(b"\0" + _tar(mode, tarfile.PAX_FORMAT) for mode in ("w:gz", "w:bz2", "w:xz")),
        *(b"\0" + _zip(method) for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)),
    ],
    pack=pack,
    words=(
        b"../x",
        b"/tmp/x",
        b"\0",
        b"77777777777",
        b"\x80\0\0\0\xff\xff\xff\xff",
        b"PK\3\4",
        b"PK\1\2",
        b"20 size=99999999999\n",
        b"25 GNU.sparse.major=1\n",
    ),
)
MANIFEST = Subject(
    file="a.manifest.csv",
    read=lambda folder: read_manifest(folder / "a.manifest.csv"),
    seeds=lambda: [b'file,bytes,sha256\nCar/a.png,12,ab\n"b,c",3,cd\n'],
    words=(b'"', b",", b"\n", b"\r", b"\0", b'"' + b"x" * 140_000),
    text=True,
)
