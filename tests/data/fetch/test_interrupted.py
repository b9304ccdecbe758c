"""Downloads that are killed, that meet each other, or for which there is no place on the disk."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bbgm.data.fetch.download import DownloadError
from bbgm.data.fetch.transfer import CHUNK

PROGRAM = """
import json, sys, resource
import bbgm.data.fetch.sources as registry
from bbgm.cli import main
item = registry.Item(**json.loads(sys.argv[1]))
registry.registry = lambda: {item.name: item}
if len(sys.argv) > 3:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
sys.exit(main(["data", "download", item.name, "--to", sys.argv[2]]))
"""


def start(item: dict[str, Any], folder: Path, *limit: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, json.dumps(item), str(folder), *limit]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def held(server: Any, item: dict[str, Any], zipped: bytes, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A download in a process of its own that has got a part and waits for more, until ``server.over``."""
    wait = server.file(zipped, stop_after=4 * CHUNK, then=lambda: server.over.wait(60))
    item["mirrors"] = [server.serve("/a", wait, server.file(zipped))]
    process = start(item, tmp_path)
    part = tmp_path / ".download" / "thing" / "thing.zip.part"
    deadline = time.monotonic() + 60
    while not part.is_file() or part.stat().st_size < 4 * CHUNK:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    yield process
    process.kill()
    process.communicate()


def test_a_killed_download_goes_on_where_it_stopped(
    server: Any, held: subprocess.Popen[str], item: dict[str, Any], assert_right: Callable[[Path], None], tmp_path: Path
) -> None:
    held.send_signal(signal.SIGKILL)
    held.wait()
    came = (tmp_path / ".download" / "thing" / "thing.zip.part").stat().st_size
    assert not (tmp_path / "Thing").exists()
    again = start(item, tmp_path)
    output, errors = again.communicate(timeout=60)
    assert (again.returncode, output) == (0, f"{tmp_path / 'Thing'}\n")
    assert "\r" not in errors  # no bar, because it is no terminal
    assert server.log == [("/a", None), ("/a", f"bytes={came}-")]
    assert_right(tmp_path / "Thing")


def test_a_second_download_at_once_is_refused(
    server: Any, held: subprocess.Popen[str], item: dict[str, Any], assert_right: Callable[[Path], None], tmp_path: Path
) -> None:
    second = start(item, tmp_path)
    output, errors = second.communicate(timeout=60)
    assert (second.returncode, output) == (2, "")
    assert "is in use by another process" in errors
    server.over.set()
    assert held.wait(timeout=60) == 0
    assert_right(tmp_path / "Thing")


def test_half_unpacked_files_are_replaced(
    server: Any, get: Callable[..., Path], zipped: bytes, assert_right: Callable[[Path], None], tmp_path: Path
) -> None:
    """What such a process leaves: the whole archive, and half a tree."""
    work = tmp_path / ".download" / "thing"
    (work / "unpacked" / "Car").mkdir(parents=True)
    (work / "unpacked" / "Car" / "0.png").write_bytes(b"half")
    (work / "thing.zip").write_bytes(zipped)
    assert_right(get(server.url("/a")))
    assert server.log == []


def test_after_a_full_disk_the_rest_is_fetched(
    server: Any, item: dict[str, Any], zipped: bytes, assert_right: Callable[[Path], None], tmp_path: Path
) -> None:
    """The system refuses to make the part longer; with more space, the rest is fetched."""
    item["mirrors"] = [server.serve("/a", server.file(zipped))]
    failed = start(item, tmp_path, "100000")
    _, errors = failed.communicate(timeout=60)
    assert failed.returncode == 2
    assert re.search(
        r"cannot write .*thing\.zip\.part: file too large; free some space there, or choose .*--to", errors
    )
    again = start(item, tmp_path)
    again.communicate(timeout=60)
    assert again.returncode == 0
    assert server.log[1][1] is not None
    assert_right(tmp_path / "Thing")


def test_a_disk_that_fills_in_unpacking(item: dict[str, Any], zipped: bytes, tmp_path: Path) -> None:
    """A file of the archive is larger than the system allows: nothing appears, and the archive stays."""
    item["mirrors"] = ["http://127.0.0.1:1/unused"]
    (tmp_path / "thing.zip").write_bytes(zipped)
    failed = start(item, tmp_path, "20000")
    _, errors = failed.communicate(timeout=60)
    assert failed.returncode == 2
    assert re.search(r"cannot put .*thing\.zip in place: .*File too large; free some space", errors)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".download", "thing.zip"]
    assert list((tmp_path / ".download" / "thing").iterdir()) == []


def test_more_than_the_disk_holds_is_refused(
    server: Any, get: Callable[..., Path], zipped: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr("bbgm.data.fetch.transfer.shutil.disk_usage", lambda _: usage)
    with pytest.raises(OSError, match=r"0 MB are needed, 0 MB are free; free some space"):
        get(server.serve("/a", server.file(zipped)))


def test_a_folder_that_cannot_be_written(get: Callable[..., Path], tmp_path: Path, server: Any) -> None:
    (tmp_path / ".download").write_text("in the way")
    with pytest.raises(DownloadError, match=r"cannot write to .*choose another folder with --to, or set BBGM_DATA"):
        get(server.url("/a"))
