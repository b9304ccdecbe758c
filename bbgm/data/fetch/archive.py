"""Unpack an archive that may be broken or hostile.

This module creates plain files only, in a new folder that has no links: so no member can be written outside of it,
whatever the archive says. If a member seems to try it, the complete archive is refused.
"""

import bz2
import gzip
import hashlib
import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from posixpath import normpath
from stat import S_IFMT, S_IFREG, S_ISLNK
from typing import IO, Any, Literal, TypeVar, cast

from bbgm.base.reading.foreign import instead_of, is_companion
from bbgm.data.fetch.integrity import FileState, Manifest

T = TypeVar("T")
Kind = Literal["file", "folder", "symlink", "hardlink", "other"]

CHUNK = 1 << 20
MAX_FILES = 500_000
MOST_AT_ONCE = 1 << 22
"""Bytes that are read at once; what a header announces, such as a long name, would be read whole."""


class ArchiveError(ValueError):
    """The archive is broken, unsafe, or not the expected one."""


@dataclass(frozen=True)
class Member:
    """One entry. ``target`` is where a link points to; ``open`` returns the content of a file."""

    name: str
    size: int
    kind: Kind
    target: str = ""
    open: Callable[[], IO[bytes] | None] = lambda: None


MemberIterator = Generator[Member, None, None]


def unpack(path: Path, folder: Path, inside: str, limit: int) -> Manifest:
    """Unpack one folder of a .zip or .tar (plain or compressed) archive.

    Links that stay inside the archive are left out, not followed; so is what a Mac adds (``._name``, ``__MACOSX``).

    Args:
        folder: created here; must not exist yet.
        inside: the folder of the archive to unpack; "" for all of it.
        limit: largest total size of the members, bytes.

    Returns:
        Size and sha256 of each file, by its name below ``folder``.

    Raises:
        ArchiveError: broken, too large, without that folder, or unsafe: a path or a link that leads outside, a device.
        OSError: the files cannot be written.
    """
    folder.mkdir(parents=True)
    return _read_all(path, inside, limit, folder)


def read_through(path: Path, inside: str, limit: int) -> Manifest:
    """Check that an archive is complete and safe: as `unpack`, but nothing is written."""
    return _read_all(path, inside, limit, None)


def _read_all(path: Path, inside: str, limit: int, folder: Path | None) -> Manifest:
    prefix = PurePosixPath(inside or ".").parts
    manifest: Manifest = {}
    tops: set[str] = set()
    total = 0
    with closing(_members(path, limit)) as members:
        for count, member in enumerate(_reading(path, members), 1):
            parts = _safe_parts(path, member)
            total += max(member.size, 0)
            if total > limit or count > MAX_FILES:
                raise ArchiveError(
                    f"{path.name} would unpack to more than {limit / 1e6:.0f} MB or {MAX_FILES} files: not the data set"
                )
            tops.add(parts[0] if parts else ".")
            if member.kind != "file" or is_companion(PurePosixPath(*parts)):
                continue
            wanted = parts[: len(prefix)] == prefix and len(parts) > len(prefix)
            below = parts[len(prefix) :]
            target = folder.joinpath(*below) if wanted and folder is not None else None
            state = _copy(path, member, target)  # unwanted members are read too: is the archive complete?
            if wanted:
                manifest["/".join(below)] = state
    if not manifest:
        raise ArchiveError(f"{path.name} has no files in a folder {inside or '.'!r}, only {sorted(tops)[:5]}")
    return manifest


def _safe_parts(path: Path, member: Member) -> tuple[str, ...]:
    """The parts of a member's name; refuses paths that lead outside, and what is neither file, folder nor link."""
    name = member.name
    if name.startswith("/") or ".." in name.split("/") or re.search(r"\\|\0|^[A-Za-z]:", name):
        raise ArchiveError(f"{path.name} is unsafe: it holds a path that leads outside, {name!r}")
    if member.kind == "other":
        raise ArchiveError(f"{path.name} is unsafe: {name!r} is neither a file nor a folder (a device or the like)")
    if member.kind in ("symlink", "hardlink"):
        base = PurePosixPath(name).parent if member.kind == "symlink" else PurePosixPath()
        goal = normpath(str(base / member.target))  # an absolute target replaces the base
        if goal.startswith("/") or goal.split("/")[0] == "..":
            raise ArchiveError(f"{path.name} is unsafe: the link {name!r} leads outside, to {member.target!r}")
    return PurePosixPath(name).parts


def _copy(path: Path, member: Member, target: Path | None) -> FileState:
    """Write one member, or only read it if there is no target."""
    digest = hashlib.sha256()
    size = 0
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
    sink = target.open("wb") if target is not None else None
    try:
        for chunk in _reading(path, _chunks(member)):
            size += len(chunk)
            digest.update(chunk)
            if sink is not None:
                sink.write(chunk)
    finally:
        if sink is not None:
            sink.close()
    if size != member.size:
        raise ArchiveError(f"{path.name} is broken: {member.name!r} has {size} of {member.size} bytes")
    return FileState(size, digest.hexdigest())


def _chunks(member: Member) -> Iterator[bytes]:
    source = member.open()
    assert source is not None
    with source:
        yield from iter(lambda: source.read(CHUNK), b"")


def _reading(path: Path, items: Iterator[T]) -> Iterator[T]:
    """The items; every error in reading them becomes an `ArchiveError`, errors of the caller do not."""
    while True:
        try:
            item = next(items)
        except StopIteration:
            return
        except ArchiveError:
            raise
        except Exception as error:  # zip, tar and the four kinds of compression raise about ten types
            fault = f"is not a complete archive: {error or type(error).__name__}"
            raise ArchiveError(f"{path.name} {instead_of(path) or fault}") from error
        yield item


def _members(path: Path, limit: int) -> MemberIterator:
    with path.open("rb") as file:
        is_zip = file.read(4) in (b"PK\3\4", b"PK\5\6")
    return _zip_members(path) if is_zip else _tar_members(path, limit)


def _tar_members(path: Path, limit: int) -> MemberIterator:
    with (
        _decompressed(path) as plain,
        tarfile.open(fileobj=cast(IO[bytes], _Measured(plain, limit)), mode="r:") as archive,
    ):
        for info in archive:
            kind: Kind = "other"
            if info.issym() or info.islnk():
                kind = "symlink" if info.issym() else "hardlink"
            elif info.isreg() or info.isdir():
                kind = "file" if info.isreg() else "folder"
            size = info.size if kind == "file" else 0
            yield Member(info.name, size, kind, info.linkname, partial(archive.extractfile, info))
        # tarfile mistakes a broken header for the end, and does not read on to the checksum of a compressed file.
        stream = archive.fileobj
        assert stream is not None
        stream.seek(archive.offset)
        if any(stream.read(tarfile.BLOCKSIZE)):
            raise tarfile.ReadError("a header is broken")
        end = stream.tell() + limit
        while stream.read(CHUNK):
            if stream.tell() > end:
                raise tarfile.ReadError("too many bytes follow its last file")


def _decompressed(path: Path) -> IO[bytes]:
    """The content of a file that is compressed, or not."""
    with path.open("rb") as file:
        start = file.read(6)
    openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
    opener = next((opener for magic, opener in openers.items() if start.startswith(magic)), None)
    return cast(IO[bytes], opener(path, "rb") if opener else path.open("rb"))


class _Measured:
    """A stream that tarfile may read in small parts only, and not without end."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream, self._end = stream, 2 * limit + MAX_FILES * 4 * tarfile.BLOCKSIZE

    def read(self, size: int) -> bytes:
        if size > MOST_AT_ONCE:
            raise tarfile.ReadError(f"a header announces {size} bytes")
        return self._stream.read(size)

    def seek(self, position: int) -> int:
        if position > self._end:
            raise tarfile.ReadError(f"it has more than {self._end} bytes")
        return self._stream.seek(position)

    def tell(self) -> int:
        return self._stream.tell()


def _zip_members(path: Path) -> MemberIterator:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16  # 0 if the archive was made on a system other than Unix
            if S_ISLNK(mode):
                target = archive.read(info).decode(errors="replace") if info.file_size < 4096 else "/"
                yield Member(info.filename, 0, "symlink", target)
            elif info.is_dir():
                yield Member(info.filename, 0, "folder")
            else:
                kind: Kind = "file" if S_IFMT(mode) in (0, S_IFREG) else "other"
                yield Member(info.filename, info.file_size, kind, open=partial(archive.open, info))
