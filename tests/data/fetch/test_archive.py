"""Unpacking: good archives give their files; broken and hostile ones give an error and touch nothing outside."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from bbgm.data.fetch.archive import ArchiveError, read_through, unpack

Mode = Literal["w:", "w:gz", "w:bz2", "w:xz"]

LIMIT = 1_000_000
FILES = {"thing/Car/a.png": b"a" * 5000, "thing/Car/b:c.png": b"b" * 70_000, "thing/empty": b"", "README": b"other"}
EXPECTED = {name.removeprefix("thing/"): data for name, data in FILES.items() if name.startswith("thing/")}


def tar(
    path: Path,
    mode: Mode = "w:",
    files: dict[str, bytes] = FILES,
    *further: tarfile.TarInfo,
) -> Path:
    """A tar archive of some files, with further members in front of the last one."""
    with tarfile.open(path, mode) as archive:
        for name, data in list(files.items())[:-1]:
            archive.addfile(member(name, size=len(data)), io.BytesIO(data))
        for info in further:
            archive.addfile(info)
        name, data = list(files.items())[-1]
        archive.addfile(member(name, size=len(data)), io.BytesIO(data))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, size
    return info


def zipped(path: Path, files: dict[str, bytes] = FILES, mode: int = 0, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """A zip archive of some files, all of the same Unix mode."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, compression
            archive.writestr(info, data)
    return path


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "make",
    [
        lambda path: tar(path),
        lambda path: tar(path, "w:gz"),
        lambda path: tar(path, "w:xz"),
        lambda path: tar(path, files={f"./{name}": data for name, data in FILES.items()}),
        lambda path: zipped(path),
        lambda path: zipped(path, mode=0o100644),
    ],
    ids=["tar", "tgz", "txz", "dots", "zip", "unix zip"],
)
def test_good_archives_are_unpacked_as_listed(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    archive = make(tmp_path / "archive")
    manifest = unpack(archive, tmp_path / "out", "thing", LIMIT)
    assert manifest == read_through(archive, "thing", LIMIT)
    assert {name: (tmp_path / "out" / name).read_bytes() for name in manifest} == EXPECTED
    for name, data in EXPECTED.items():
        assert manifest[name] == (len(data), hashlib.sha256(data).hexdigest())
    assert everything(tmp_path / "out") == {"Car", *EXPECTED}
    assert set(unpack(archive, tmp_path / "all", "", LIMIT)) == set(FILES)


def test_links_that_stay_inside_are_left_out(tmp_path: Path) -> None:
    links = [member("thing/link", tarfile.SYMTYPE, "Car/../Car/a.png"), member("thing/hard", tarfile.LNKTYPE, "README")]
    assert set(unpack(tar(tmp_path / "archive", "w:", FILES, *links), tmp_path / "out", "thing", LIMIT)) == set(
        EXPECTED
    )
    assert everything(tmp_path / "out") == {"Car", *EXPECTED}


HOSTILE = {
    "up": member("../escaped", size=0),
    "up in the middle": member("thing/../../escaped"),
    "absolute": member("/tmp/escaped"),
    "folder": member("thing/../../escaped", tarfile.DIRTYPE),
    "backslash": member("thing\\..\\..\\escaped"),
    "drive": member("C:escaped"),
    "symlink up": member("thing/link", tarfile.SYMTYPE, "../../escaped"),
    "symlink absolute": member("thing/link", tarfile.SYMTYPE, "/etc/passwd"),
    "hardlink up": member("thing/link", tarfile.LNKTYPE, "../escaped"),
    "hardlink absolute": member("thing/link", tarfile.LNKTYPE, "/etc/passwd"),
    "device": member("thing/null", tarfile.CHRTYPE),
    "disk": member("thing/disk", tarfile.BLKTYPE),
    "pipe": member("thing/pipe", tarfile.FIFOTYPE),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("mode", ["w:", "w:gz"])
def test_hostile_tar_archives_are_refused(tmp_path: Path, name: str, mode: Mode) -> None:
    archive = tar(tmp_path / "archive", mode, FILES, HOSTILE[name])
    with pytest.raises(ArchiveError, match="archive is unsafe"):
        read_through(archive, "thing", LIMIT)
    with pytest.raises(ArchiveError, match="archive is unsafe"):
        unpack(archive, tmp_path / "deep" / "out", "thing", LIMIT)
    assert {path.split("/")[0] for path in everything(tmp_path)} == {"archive", "deep"}
    assert {path.name for path in (tmp_path / "deep").iterdir()} == {"out"}
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))


def test_a_file_behind_a_link_is_written_without_the_link(tmp_path: Path) -> None:
    """A link that leads to a folder inside, and a file below its name: the file is written, the link never was."""
    link = member("thing/Car", tarfile.SYMTYPE, "elsewhere")
    archive = tmp_path / "archive"
    with tarfile.open(archive, "w") as file:
        file.addfile(link)
        file.addfile(member("thing/Car/a", size=1), io.BytesIO(b"a"))
    unpack(archive, tmp_path / "out", "thing", LIMIT)
    assert everything(tmp_path / "out") == {"Car", "Car/a"}
    assert not (tmp_path / "out" / "Car").is_symlink()


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "thing/../../escaped", "thing\\..\\x", "C:/escaped"])
def test_zip_names_that_lead_outside_are_refused(tmp_path: Path, name: str) -> None:
    archive = zipped(tmp_path / "archive", {**FILES, name: b"x"})
    with pytest.raises(ArchiveError, match="holds a path that leads outside"):
        unpack(archive, tmp_path / "deep" / "out", "thing", LIMIT)
    assert {path.name for path in (tmp_path / "deep").iterdir()} == {"out"}


@pytest.mark.parametrize(("target", "unsafe"), [(b"../../../x", True), (b"/etc/passwd", True), (b"a.png", False)])
def test_zip_links_that_lead_outside_are_refused(tmp_path: Path, target: bytes, unsafe: bool) -> None:
    with zipfile.ZipFile(zipped(tmp_path / "archive"), "a") as archive:
        info = zipfile.ZipInfo("thing/Car/link")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, target)
    if unsafe:
        with pytest.raises(ArchiveError, match="the link 'thing/Car/link' leads outside"):
            unpack(tmp_path / "archive", tmp_path / "out", "thing", LIMIT)
    else:
        assert set(unpack(tmp_path / "archive", tmp_path / "out", "thing", LIMIT)) == set(EXPECTED)


def test_a_device_in_a_zip_archive(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="neither a file nor a folder"):
        unpack(zipped(tmp_path / "archive", mode=0o020666), tmp_path / "out", "thing", LIMIT)


@pytest.mark.parametrize("make", [tar, zipped])
def test_too_large_by_what_is_declared(tmp_path: Path, make: Callable[..., Path]) -> None:
    """A compressed megabyte of zeros is a kilobyte; it is refused before it is written."""
    path = make(tmp_path / "archive", files={"thing/a": bytes(900_000), "thing/b": bytes(200_000)})
    with pytest.raises(ArchiveError, match="would unpack to more than 1 MB"):
        unpack(path, tmp_path / "out", "thing", LIMIT)
    assert not (tmp_path / "out" / "b").exists()


def test_a_header_that_declares_too_much(tmp_path: Path) -> None:
    """A tar member of 8 GB whose content never comes."""
    path = tmp_path / "archive"
    path.write_bytes(member("thing/a", size=8 * 10**9).tobuf(tarfile.GNU_FORMAT) + b"x" * 2048)
    with pytest.raises(ArchiveError, match="would unpack to more than 1 MB"):
        unpack(path, tmp_path / "out", "thing", LIMIT)


def test_an_endless_archive_is_refused(tmp_path: Path) -> None:
    """A good tar file, compressed, with zeros behind it that would take hours to read."""
    path = tar(tmp_path / "plain")
    with gzip.open(tmp_path / "archive", "wb") as file:
        file.write(path.read_bytes() + bytes(3 * LIMIT))
    with pytest.raises(ArchiveError, match="too many bytes follow"):
        read_through(tmp_path / "archive", "thing", LIMIT)


def test_a_zip_archive_that_declares_too_little(tmp_path: Path) -> None:
    """The size in its directory is a lie: no more than that is written, and the archive is refused."""
    path = zipped(tmp_path / "archive", {"thing/a": bytes(5000), "thing/b": b"b"})
    data = path.read_bytes()
    path.write_bytes(data.replace((5000).to_bytes(4, "little"), (50).to_bytes(4, "little")))
    with pytest.raises(ArchiveError, match="not a complete archive"):
        unpack(path, tmp_path / "out", "thing", LIMIT)
    assert (tmp_path / "out" / "a").stat().st_size <= 50


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbgm.data.fetch.archive.MAX_FILES", 3)
    with pytest.raises(ArchiveError, match="or 3 files"):
        unpack(tar(tmp_path / "archive"), tmp_path / "out", "thing", LIMIT)


@pytest.mark.parametrize("kind", ["w:", "w:gz", "zip", "stored"])
def test_broken_archives_are_refused_or_harmless(tmp_path: Path, kind: Any) -> None:
    """Truncated anywhere, or with flipped bytes: an error or, where a tar's padding was hit, the right files."""
    whole = tmp_path / "whole"
    if kind in ("zip", "stored"):
        zipped(whole, compression=zipfile.ZIP_DEFLATED if kind == "zip" else zipfile.ZIP_STORED)
    else:
        tar(whole, kind)
    data = whole.read_bytes()
    refused = 0
    cuts = [data[: len(data) * k // 8] for k in range(8)]
    flips = [data[:k] + bytes([data[k] ^ 0xFF]) + data[k + 1 :] for k in range(0, len(data), len(data) // 20 + 1)]
    for number, broken in enumerate([b"", b"PK", b"PK\3\4", b"<html>", *cuts, *flips]):
        path = tmp_path / f"broken{number}"
        path.write_bytes(broken)
        try:
            manifest = read_through(path, "thing", LIMIT)
        except ArchiveError:
            refused += 1
        else:  # a plain tar has a checksum of its headers only, and ends where it ends
            assert kind == "w:" or {name: state.sha256 for name, state in manifest.items()} == {
                name: hashlib.sha256(part).hexdigest() for name, part in EXPECTED.items()
            }
    assert refused >= 9


def test_an_encrypted_zip_archive_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped(tmp_path / "archive").read_bytes())
    directory = data.index(b"PK\1\2")
    data[6] |= 1  # the flag, in the header of the first file and in the directory
    data[directory + 8] |= 1
    (tmp_path / "archive").write_bytes(data)
    with pytest.raises(ArchiveError, match="encrypted"):
        read_through(tmp_path / "archive", "thing", LIMIT)


def test_a_full_disk_is_not_the_archives_fault(tmp_path: Path) -> None:
    """An error in writing keeps its type."""
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(OSError, match="exists"):
        unpack(tar(tmp_path / "archive"), tmp_path / "out", "thing", LIMIT)
    assert not issubclass(ArchiveError, OSError)


def test_an_archive_without_the_folder_is_refused(tmp_path: Path) -> None:
    for path in (tar(tmp_path / "tar"), zipped(tmp_path / "zip")):
        with pytest.raises(ArchiveError, match=rf"{path.name} has no files in a folder 'Thing', only \['README'"):
            read_through(path, "Thing", LIMIT)


def test_companions_of_a_mac_are_left_out(tmp_path: Path) -> None:
    names = ("t/a.png", "t/._a.png", "t/.DS_Store", "t/Car/._b.mat", "__MACOSX/t/a.png", "__MACOSX/t/._a.png")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, name)
    assert list(unpack(tmp_path / "a.zip", tmp_path / "out", "t", 1000)) == ["a.png"]
    assert [path.name for path in (tmp_path / "out").rglob("*")] == ["a.png"]


def test_a_web_page_is_no_archive(tmp_path: Path) -> None:
    for name in ("a.zip", "a.tgz"):
        (tmp_path / name).write_text("<!DOCTYPE html>\n<title>Sign in</title>" + 9000 * " ")
        with pytest.raises(ArchiveError, match=rf"^{name} is a web page \(HTML\) .*: download the file again"):
            unpack(tmp_path / name, tmp_path / name[2:], "t", 1000)
