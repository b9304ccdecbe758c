"""What other programs leave, and what servers send."""

from pathlib import Path, PurePosixPath

import pytest

from bbgm.base.reading.foreign import SHOWN, describe, is_companion, joined, without_companions


@pytest.mark.parametrize("name", ["._a.png", "Car/._Cars_000a.mat", ".DS_Store", "Car/.DS_Store", "__MACOSX/Car/a.png"])
def test_companions_of_a_mac(name: str) -> None:
    assert is_companion(PurePosixPath(name))


@pytest.mark.parametrize("name", ["a.png", "Car/_.png", ".hidden/a.png", "DS_Store", "a._b"])
def test_other_files_are_none(name: str) -> None:
    assert not is_companion(PurePosixPath(name))
    path = PurePosixPath(name)
    assert without_companions([path.with_name(f"._{path.name}"), path]) == [path]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"<!DOCTYPE html><p>", "is a web page (HTML) that was saved under this name: download the file again"),
        (b"\xef\xbb\xbf\r\n<HTML>", "is a web page (HTML)"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS, not the file itself"),
        (b"<annotation/>", "is broken"),
        (b"", "is broken"),
    ],
)
def test_what_a_file_is_instead(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(content)
    assert describe(path, "is broken").startswith(f"{path} {what}")


def test_a_missing_file_is_described_by_its_fault(tmp_path: Path) -> None:
    assert describe(tmp_path / "gone", "is broken") == f"{tmp_path / 'gone'} is broken"


def test_all_faults_in_one_line() -> None:
    assert joined(["a", "b"]) == "a; b"
    assert joined([str(k) for k in range(SHOWN + 3)]).endswith(f"; {SHOWN - 1}; and 3 more")
