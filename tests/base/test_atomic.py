"""Files are whole or absent, also on a disk that is full (made so by the system's limit on the size of a file)."""

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bbgm.base.atomic import WriteError, atomic_path, atomic_write, remove_leftovers, write_error, write_json


@pytest.fixture
def small_disk() -> Iterator[int]:
    """No file may grow beyond 10,000 bytes: the system refuses the write, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        yield 10_000
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_makes_folders_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    for text in ("first\n", "zweite ä\n"):
        with atomic_write(path, "w") as file:
            file.write(text)
        assert path.read_bytes() == text.encode()
    assert list(path.parent.iterdir()) == [path]


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), atomic_write(path) as file:
        file.writelines([b"half of the n", None])
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_temporary_path_keeps_the_suffix(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "figure.png") as temporary:
        assert temporary.suffix == ".png"
        temporary.write_bytes(b"x")
        assert not (tmp_path / "figure.png").exists()
    assert (tmp_path / "figure.png").read_bytes() == b"x"


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "a") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mode", ["wb", "w"])
def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, small_disk: int, mode: str) -> None:
    path = tmp_path / "big"
    content = b"x" * (2 * small_disk) if mode == "wb" else "x" * (2 * small_disk)
    message = r"cannot write .*big: file too large; free some space"
    with pytest.raises(WriteError, match=message) as caught, atomic_write(path, mode) as file:
        file.write(content)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file/a", "file/a/b", 300 * "n"])
def test_a_path_that_cannot_be_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(WriteError, match=r"cannot write .*; part of this path is a file, or a name is too long"),
        atomic_write(tmp_path / name),
    ):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(WriteError, match="permission denied; make the folder writable"), atomic_write(folder / "a"):
        pass


def test_an_error_of_another_file_is_not_blamed_on_this_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"), atomic_write(tmp_path / "a") as file:
        file.write((tmp_path / "missing").read_bytes())
    assert list(tmp_path.iterdir()) == []


WRITER = """
import sys, time
from bbgm.base.atomic import atomic_write
with atomic_write(sys.argv[1], "w") as file:
    file.write("half")
    file.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def writer(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that is writing the file ``a.txt``."""
    command = [sys.executable, "-c", WRITER, str(tmp_path / "a.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_leftovers_of_killed_writers_are_removed(tmp_path: Path, writer: "subprocess.Popen[str]") -> None:
    (tmp_path / "kept.txt").write_text("whole")
    remove_leftovers(tmp_path)  # it is still being written
    assert len(list(tmp_path.iterdir())) == 2
    writer.kill()
    writer.wait()
    assert len(list(tmp_path.iterdir())) == 2
    remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "kept.txt"]


@pytest.mark.parametrize("killed", [True, False])
def test_writing_a_file_again_uses_what_a_killed_writer_left(
    tmp_path: Path, writer: "subprocess.Popen[str]", killed: bool
) -> None:
    if killed:
        writer.kill()
        writer.wait()
    with atomic_write(tmp_path / "a.txt", "w") as file:
        file.write("x")
    assert (tmp_path / "a.txt").read_text() == "x"
    assert len(list(tmp_path.iterdir())) == (1 if killed else 2)


def test_a_temporary_file_that_was_deleted_is_reported(tmp_path: Path) -> None:
    with (
        pytest.raises(WriteError, match=r"cannot write .*: no such file or directory; the folder was deleted"),
        atomic_write(tmp_path / "a.txt", "w"),
    ):
        next(tmp_path.iterdir()).unlink()


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOLCK, "does not lock files"),
        (errno.EROFS, "mount it writable"),
        (errno.ESTALE, "mount it again"),
        (errno.EDQUOT, "free some space"),
        (errno.EACCES, "make the folder writable"),
    ],
)
def test_each_fault_has_its_remedy(tmp_path: Path, number: int, remedy: str) -> None:
    assert remedy in str(write_error(OSError(number, os.strerror(number)), tmp_path / "a"))


def test_an_unknown_mode_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mode 'a' is not"), atomic_write(tmp_path / "a", "a"):
        pass


def test_pipes_and_folders_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(WriteError, match=f"{name}: it is not a file"), atomic_write(tmp_path / name):
            pass
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_nan_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert list(tmp_path.iterdir()) == []
